import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { z } from 'zod';
import { InputError } from '../../src/errors.ts';
import type { ThreadView } from '../stop-agent/decide.ts';
import { HttpProblem, problems, unavailable, withoutFolders } from './http-problem.ts';
import type { Models } from './models.ts';
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
  const about = (operationId: string, summary: string) => ({ tags: ['operation'], operationId, summary });
  const answer = z.strictObject({});
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
          throw new HttpProblem(
            400,
            `the bundle was not loaded, and the one before stays: ${withoutFolders(error.message)}`,
            {
              field: 'model',
            },
          );
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
  };
}

/** Metrics for Prometheus. Labels have few values: routes instead of addresses, models instead of threads. */
export function serverMetrics(store: ThreadStore) {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const requests = new Histogram({
    name: 'earshot_http_request_duration_seconds',
    help: 'Time from a request to its answer.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60],
    registers,
  });
  const answers = new Counter({
    name: 'earshot_thread_answers_total',
    help: 'Answers about threads, by what they say.',
    labelNames: ['model', 'decision', 'prediction'],
    registers,
  });
  const reloads = new Counter({
    name: 'earshot_reloads_total',
    help: 'Bundles reloaded.',
    labelNames: ['model', 'outcome'],
    registers,
  });
  new Gauge({
    name: 'earshot_open_threads',
    help: 'Threads that are kept, in all servers that share a store.',
    registers,
    async collect() {
      // Where the store does not answer, the metric is missing, and the others are not.
      this.reset();
      const count = await store.count().catch(() => null);
      if (count !== null) this.set(count);
      else this.remove();
    },
  });
  return {
    registry,
    countRequest: (seconds: number, labels: { method: string; route: string; status: number }) =>
      requests.observe(labels, seconds),
    countPosts({ model, decision, prediction, predictionMissing }: ThreadView) {
      const outcome = prediction !== null ? 'given' : predictionMissing !== null ? 'missing' : 'none';
      answers.inc({ model, decision, prediction: outcome });
    },
    countReload: (labels: { model: string; outcome: 'loaded' | 'failed' }) => reloads.inc(labels),
  };
}

export type ServerMetrics = ReturnType<typeof serverMetrics>;
