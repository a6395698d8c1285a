import type { FastifyRequest } from 'fastify';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import packageJson from '../../package.json' with { type: 'json' };
import { InputError } from '../../src/errors.ts';
import { HttpProblem } from './http-problem.ts';
import { binaryAnswer, infer, tensorsOf, versionOf } from './infer.ts';
import { inferenceRequest, inferenceResponse, modelMetadata, serverMetadata } from './inference-schemas.ts';
import type { ServerMetrics } from './metrics.ts';
import type { Models, ServedBundle } from './models.ts';
import { packingOf, unpackedBody } from './request-bodies.ts';
import { operations, problems } from './schemas.ts';
import { inferenceBody, jsonLengthHeader } from './tensors.ts';

const named = z.strictObject({ model: z.string().max(64).describe('as it is served') });
const versioned = named.extend({ version: z.string().max(64).describe('as the metadata of the model give it') });
const nothing = z.strictObject({});
const inferenceContent = {
  'application/json': { schema: inferenceResponse },
  'application/octet-stream': { schema: z.custom<Buffer>(Buffer.isBuffer).meta({ type: 'string', format: 'binary' }) },
};

type App = Parameters<FastifyPluginAsyncZod>[0];

interface Inference {
  readonly models: Models;
  readonly metrics: ServerMetrics;
}

const about = operations('inference');

/** The Open Inference Protocol, version 2, with Triton's binary tensors, and a route that loads a bundle anew. */
export function inferenceRoutes(options: Inference): FastifyPluginAsyncZod {
  return async (app) => {
    // A body is read by the header that says how much of it is JSON, and not by its type: clients of Triton send none.
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('*', { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) => {
      const length = request.headers[jsonLengthHeader];
      const unpacked = await unpackedBody(body, packingOf(request));
      return inferenceBody(unpacked, typeof length === 'string' ? length : undefined);
    });
    const schema = {
      ...about('serverMetadata', 'What this server is'),
      response: { 200: serverMetadata, ...problems() },
    };
    const { version } = packageJson;
    app.get('/v2', { schema }, async () => ({ name: 'earshot', version, extensions: ['binary_tensor_data'] }));
    addModelRoutes(app, options, { path: '/v2/models/:model', params: named, suffix: '' });
    addModelRoutes(app, options, {
      path: '/v2/models/:model/versions/:version',
      params: versioned,
      suffix: 'Version',
    });
    addLoadRoute(app, options);
  };
}

/** The bundle of a route, in the version that it names, if it names one. */
function bundleOf(models: Models, { model, version }: { model: string; version?: string | undefined }): ServedBundle {
  const bundle = models.get(model);
  if (version === undefined || version === versionOf(bundle)) return bundle;
  throw new HttpProblem(404, `the model ${model} is served in version ${versionOf(bundle)} only`, { field: 'version' });
}

function addModelRoutes(
  app: App,
  { models, metrics }: Inference,
  { path, params, suffix }: { path: string; params: typeof named | typeof versioned; suffix: string },
): void {
  const metadata = {
    ...about(`modelMetadata${suffix}`, 'Inputs and outputs of a model'),
    params,
    response: { 200: modelMetadata, ...problems(404, 503) },
  };
  app.get(path, { schema: metadata }, async ({ params: chosen }) => {
    const bundle = bundleOf(models, chosen);
    return { name: bundle.name, versions: [versionOf(bundle)], platform: 'earshot_policy', ...tensorsOf(bundle) };
  });
  const ready = {
    ...about(`modelReady${suffix}`, 'Whether a model has passed its self-test'),
    params,
    response: { 200: nothing, ...problems(404, 503) },
  };
  app.get(`${path}/ready`, { schema: ready }, async ({ params: chosen }) => {
    bundleOf(models, chosen);
    return {};
  });
  const inference = {
    ...about(`infer${suffix}`, 'Decide states that were made elsewhere'),
    description: `π(stop) and the action in each state, as the ONNX file of the bundle gives them. With the header ${jsonLengthHeader}, tensors come and go as bytes after the JSON (binary tensor data extension).`,
    params,
    body: inferenceRequest,
    response: { 200: { description: 'The outputs.', content: inferenceContent }, ...problems(404, 413, 415, 503) },
  };
  app.post(`${path}/infer`, { schema: inference }, async ({ params: chosen, body }, reply) => {
    const bundle = bundleOf(models, chosen);
    const inferred = infer(bundle, body);
    metrics.countRows({ model: bundle.name, rows: inferred.rows });
    if (inferred.bytes.length === 0) return inferred.json;
    const { headers, body: answer } = binaryAnswer(inferred);
    return reply.headers(headers).send(answer);
  });
}

function addLoadRoute(app: App, { models, metrics }: Inference): void {
  const schema = {
    ...about('loadModel', 'Reload a bundle from its folder'),
    description:
      'The files are checked by their hashes and the golden threads decided before the bundle takes the place of the one before. Where that fails, the one before stays. Threads under way are read anew by the new bundle; decisions stay.',
    params: named,
    response: { 200: nothing, ...problems(404, 503) },
  };
  app.post('/v2/repository/models/:model/load', { schema }, async ({ params: { model } }) => {
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
  });
}
