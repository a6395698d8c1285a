import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { z } from 'zod';
import { guaranteeInWords } from '../../checkpoints/policy/guarantee.ts';
import { InputError } from '../../src/errors.ts';
import type { ThreadView } from '../stop-agent/decide.ts';
import { HttpProblem, problems, unavailable, withoutFolders } from './http-problem.ts';
import { type Models, modelQuery } from './models.ts';
import type { ThreadAudits } from './thread-audits.ts';
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
  alarm: z
    .boolean()
    .describe('whether the e-value has ever reached that; false where the threshold follows the audits'),
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
  const about = (operationId: string, summary: string) => ({ tags: ['operation'], operationId, summary });
  const answer = z.strictObject({});
  const text = { 200: { description: 'Prometheus text.', content: { 'text/plain': { schema: z.string() } } } };
  const page = { 200: { description: 'The page.', content: { 'text/html': { schema: z.string() } } } };
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
      '/docs',
      { schema: { ...about('docs', 'This interface as a page'), response: { ...page, ...problems() } } },
      async (_request, reply) => {
        const { apiPage } = await import('./api-page.ts');
        reply.header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'");
        return reply.type('text/html; charset=utf-8').send(apiPage(app.swagger()));
      },
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
        const bundle = models.chosen(query.model);
        if (audits === null) throw new HttpProblem(404, 'nothing is audited; start the server with --audit 10%');
        const audited = await audits.about(bundle);
        if (audited === null)
          throw new HttpProblem(
            404,
            'the bundle has no guarantee about changed predictions or withdrawn alerts; `earshot calibrate` gives it one',
          );
        const { guarantee, monitoring, isViolated } = audited;
        const { items, losses, low, high, eValue } = monitoring.now;
        return {
          guarantee: `${guaranteeInWords(guarantee)}.`,
          level: guarantee.level,
          threshold: guarantee.threshold,
          audits: items,
          changed: losses,
          ...{ low, high, eValue },
          alarmAt: audits.alarmAt,
          alarm: isViolated,
          waiting: monitoring.waiting,
          missing: monitoring.missing,
        };
      },
    );
  };
}

/** Metrics for Prometheus. Labels have few values: routes instead of addresses, models instead of threads. */
export function serverMetrics(options: { models: Models; store: ThreadStore; audits: ThreadAudits | null }) {
  const { models, store, audits } = options;
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
  if (audits !== null) addGuarantees(registry, { models, audits });
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

function addGuarantees(registry: Registry, { models, audits }: { models: Models; audits: ThreadAudits }): void {
  type Audited = NonNullable<Awaited<ReturnType<ThreadAudits['about']>>>;
  const guarantees: Readonly<Record<string, [help: string, of: (audited: Audited) => number]>> = {
    earshot_audits: ['Audited threads that count for the guarantee.', ({ monitoring }) => monitoring.now.items],
    earshot_audits_changed: [
      'Of those, threads whose prediction changed, or whose alert was withdrawn, after the stop.',
      ({ monitoring }) => monitoring.now.losses,
    ],
    earshot_guarantee_e_value: [
      `Evidence against the guarantee; an alarm is at ${audits.alarmAt}.`,
      ({ monitoring }) => monitoring.now.eValue,
    ],
    earshot_guarantee_alarm: [
      '1 once that was ever reached; 0 where the threshold follows the audits.',
      ({ isViolated }) => Number(isViolated),
    ],
  };
  const guaranteesNow = async () => {
    const ofModels: (Audited & { model: string })[] = [];
    for (const model of models.areReady() ? models.names : []) {
      const audited = await audits.about(models.get(model)).catch(() => null);
      if (audited !== null) ofModels.push({ model, ...audited });
    }
    return ofModels;
  };
  // All of these are collected at the same time, and looking through all audits takes a while.
  let looking: ReturnType<typeof guaranteesNow> | null = null;
  for (const [name, [help, of]] of Object.entries(guarantees))
    new Gauge({
      name,
      help,
      labelNames: ['model'],
      registers: [registry],
      async collect() {
        this.reset();
        looking ??= guaranteesNow().finally(() => {
          looking = null;
        });
        for (const audited of await looking) this.set({ model: audited.model }, of(audited));
      },
    });
}
