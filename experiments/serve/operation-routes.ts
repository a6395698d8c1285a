import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { guaranteeInWords } from '../../checkpoints/policy/guarantee.ts';
import { InputError } from '../../src/errors.ts';
import { HttpProblem, unavailable, withoutFolders } from './http-problem.ts';
import type { ServerMetrics } from './metrics.ts';
import type { Models } from './models.ts';
import { modelQuery, operations, problems } from './schemas.ts';
import { alarmLevel, type ThreadAudits } from './thread-audits.ts';
import type { ThreadStore } from './thread-store.ts';

const guaranteeSchema = z.object({
  guarantee: z.string().describe('as a sentence'),
  level: z.number().describe('largest share of predictions that may change, or of early alerts that may be withdrawn'),
  threshold: z.number().describe('the policy stops where its score exceeds this'),
  audits: z
    .int()
    .describe('that count: up to the first thread that is still open, in the order in which threads opened'),
  changed: z
    .int()
    .describe('audited predictions that differ from those after all posts, or early alerts that these would withdraw'),
  low: z.number().describe('lower end of the confidence sequence of the share that changes, valid at any time'),
  high: z.number().describe('its upper end'),
  eValue: z.number().describe('evidence against the guarantee'),
  alarmAt: z.number().describe('the e-value of an alarm'),
  alarm: z.boolean().describe('whether the e-value has ever reached that'),
  waiting: z.int().describe('audits that opened after a thread which is still open'),
  missing: z.int().describe('audits without an end'),
});

export interface ServerState {
  /** True from the beginning of the shutdown: the server is not ready, and connections are closed. */
  isClosing: boolean;
}

/** Routes for operators: health, metrics, reloads, the guarantee and the OpenAPI document. */
export function operationRoutes(options: {
  models: Models;
  store: ThreadStore;
  metrics: ServerMetrics;
  audits: ThreadAudits | null;
  state: ServerState;
}): FastifyPluginAsyncZod {
  const { models, store, metrics, audits, state } = options;
  const about = operations('operation');
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
    app.get(
      '/v1/guarantee',
      {
        schema: {
          ...about('guarantee', 'Whether the guarantee holds'),
          description: 'From the audits of all servers that share a Redis.',
          querystring: modelQuery(models.names),
          response: { 200: guaranteeSchema, ...problems(404, 503) },
        },
      },
      async ({ query }) => {
        const audited = await audits?.about(models.chosen(query.model));
        if (audited === undefined || audited === null)
          throw new HttpProblem(
            404,
            audited === null
              ? 'the bundle has no guarantee about changed predictions or withdrawn alerts; `earshot calibrate` gives it one'
              : 'nothing is audited; start the server with --audit 10%',
          );
        const { guarantee, monitoring } = audited;
        const { now, waiting, missing, alarm } = monitoring;
        return {
          guarantee: `${guaranteeInWords(guarantee)}.`,
          level: guarantee.level,
          threshold: guarantee.threshold,
          audits: now.items,
          changed: now.losses,
          low: now.low,
          high: now.high,
          eValue: now.eValue,
          alarmAt: 1 / alarmLevel,
          alarm: alarm !== null && (guarantee.adapted ?? null) === null,
          waiting,
          missing,
        };
      },
    );
  };
}
