import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { apiPage } from './api-page.ts';
import { unavailable } from './http-problem.ts';
import type { ServerMetrics } from './metrics.ts';
import type { Models } from './models.ts';
import { operations, problems } from './schemas.ts';
import type { ThreadStore } from './thread-store.ts';

/** What the process around the server changes. */
export interface ServerState {
  /** Set at the beginning of the end: no longer ready, and connections are not kept. */
  isClosing: boolean;
}

/** What whoever runs the server looks at: health, metrics, and what the server can do. */
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
