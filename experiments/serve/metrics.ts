import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Monitored } from '../stop-agent/monitor.ts';
import type { Models } from './models.ts';
import type { ThreadView } from './schemas.ts';
import type { ThreadAudits } from './thread-audits.ts';
import type { ThreadStore } from './thread-store.ts';

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
  const guarantees: Readonly<Record<string, [help: string, of: (monitoring: Monitored) => number]>> = {
    earshot_audits: ['Audited threads that count for the guarantee.', ({ now }) => now.items],
    earshot_audits_changed: [
      'Of those, threads whose prediction changed, or whose alert was withdrawn, after the stop.',
      ({ now }) => now.losses,
    ],
    earshot_guarantee_e_value: ['Evidence against the guarantee; an alarm is at 20.', ({ now }) => now.eValue],
    earshot_guarantee_alarm: ['1 once that was ever reached.', ({ alarm }) => Number(alarm !== null)],
  };
  const guaranteesNow = async () => {
    const ofModels: { model: string; monitored: Monitored }[] = [];
    for (const model of models.areReady() ? models.names : []) {
      const about = await audits.about(models.get(model)).catch(() => null);
      if (about !== null) ofModels.push({ model, monitored: about.monitoring });
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
        for (const { model, monitored } of await looking) this.set({ model }, of(monitored));
      },
    });
}
