import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { InputError } from '../../src/errors.ts';
import { HttpProblem, unavailable } from './http-problem.ts';
import type { ServerMetrics } from './metrics.ts';
import type { Models } from './models.ts';
import { operations, problems } from './schemas.ts';
import type { ThreadStore } from './thread-store.ts';

export interface ServerState {
  /** True from the beginning of the shutdown: the server is not ready, and connections are closed. */
  isClosing: boolean;
}

/** Routes for operators: health, metrics, reloads and the OpenAPI document. */
export function operationRoutes(options: {
  models: Models;
  store: ThreadStore;
  metrics: ServerMetrics;
  state: ServerState;
}): FastifyPluginAsyncZod {
  const { models, store, metrics, state } = options;
  const about = operations('operation');
  const answer = z.strictObject({});
  const page = { 200: { description: 'The page.', content: { 'text/html': { schema: z.string() } } } };
  const text = { 200: { description: 'Prometheus text.', content: { 'text/plain': { schema: z.string() } } } };
  return async (app) => {
    app.get(
      '/v2/health/live',
      {
        config: { isOpen: true },
        schema: { ...about('live', 'Whether the process answers'), security: [], response: { 200: answer } },
      },
      async () => ({}),
    );
    app.get(
      '/v2/health/ready',
      {
        config: { isOpen: true },
        schema: {
          ...about('ready', 'Whether every bundle has passed its self-test and threads can be kept'),
          security: [],
          response: { 200: answer, ...problems(503) },
        },
      },
      async () => {
        if (state.isClosing) throw unavailable('the server is being stopped');
        if (!models.areReady()) throw unavailable('a bundle is still being loaded and tested');
        if (!store.isReady()) throw unavailable('the store of threads does not answer');
        return {};
      },
    );
    app.post(
      '/v2/repository/models/:model/load',
      {
        schema: {
          ...about('loadModel', 'Reload a bundle from its folder'),
          description:
            'The files are checked by their hashes and the golden threads decided before the bundle takes the place of the one before. Where that fails, the one before stays. Threads under way are read anew by the new bundle; decisions stay.',
          params: z.strictObject({ model: z.string().max(64).describe('as it is served') }),
          response: { 200: answer, ...problems(404, 413, 415, 503) },
        },
      },
      async ({ params: { model } }) => {
        try {
          await models.reload(model);
        } catch (error) {
          if (!(error instanceof InputError)) throw error;
          metrics.countReload({ model, outcome: 'failed' });
          throw new HttpProblem(400, `the bundle was not loaded, and the one before stays: ${error.message}`, {
            field: 'model',
          });
        }
        metrics.countReload({ model, outcome: 'loaded' });
        return {};
      },
    );
    app.get(
      '/metrics',
      { schema: { ...about('metrics', 'Prometheus metrics'), response: { ...text, ...problems() } } },
      async (_request, reply) => reply.type('text/plain; version=0.0.4').send(await metrics.registry.metrics()),
    );
    app.get(
      '/openapi.json',
      {
        schema: {
          ...about('openapi', 'This interface as an OpenAPI document'),
          response: { 200: z.looseObject({}), ...problems() },
        },
      },
      async () => ({ ...app.swagger() }),
    );
    app.get(
      '/docs',
      { schema: { ...about('docs', 'This interface as a page'), response: { ...page, ...problems() } } },
      async (_request, reply) => {
        reply.header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'");
        return reply.type('text/html; charset=utf-8').send(apiPage(app.swagger()));
      },
    );
  };
}

const documentSchema = z.looseObject({
  info: z.looseObject({ title: z.string(), version: z.string(), description: z.string().default('') }),
  paths: z.record(
    z.string(),
    z.record(
      z.string(),
      z.looseObject({
        summary: z.string().default(''),
        description: z.string().default(''),
        parameters: z
          .array(z.looseObject({ in: z.string(), name: z.string(), description: z.string().default('') }))
          .default([]),
        requestBody: z.unknown().optional(),
        responses: z.record(
          z.string(),
          z.looseObject({ description: z.string().default(''), content: z.unknown().optional() }),
        ),
      }),
    ),
  ),
});

/** An OpenAPI document as a page without scripts and external resources, so that it works behind any proxy. */
function apiPage(openapi: unknown): string {
  const { info, paths } = documentSchema.parse(openapi);
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const parameters = operation.parameters.map(
        (each) => `<li><code>${escaped(each.name)}</code> (${escaped(each.in)}) ${escaped(each.description)}</li>`,
      );
      const responses = Object.entries(operation.responses).map(
        ([status, { description, content }]) =>
          `<li><b>${escaped(status)}</b> ${escaped(description)}${status.startsWith('2') ? shown('answer', content) : ''}</li>`,
      );
      return `<section>
<h2><code>${method.toUpperCase()} ${escaped(path)}</code></h2>
<p><b>${escaped(operation.summary)}.</b> ${escaped(operation.description)}</p>
<ul>${parameters.join('')}</ul>
${shown('body', operation.requestBody)}
<ul>${responses.join('\n')}</ul>
</section>`;
    }),
  );
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escaped(info.title)} ${escaped(info.version)}</title>
<style>
body { font: 16px/1.5 sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
section { border-top: 1px solid #ccc; }
h2 { font-size: 1.1rem; }
pre { background: #f4f4f4; padding: 1rem; overflow: auto; max-height: 30rem; }
</style>
<h1>${escaped(info.title)} ${escaped(info.version)}</h1>
<p>${escaped(info.description)} The same as a document for programs: <a href="openapi.json">openapi.json</a>.</p>
${operations.join('\n')}
</html>
`;
}

function shown(what: string, value: unknown): string {
  if (value === undefined) return '';
  return `<details><summary>${what}</summary><pre>${escaped(JSON.stringify(value, null, 2))}</pre></details>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
