import { agentName, type SystemDecisions } from '../../../../experiments/stop-agent/decisions.ts';
import { experimentSchema } from '../../../../experiments/stop-agent/experiment.ts';
import type { SystemScores } from '../../../../experiments/stop-agent/metrics.ts';
import type { TrialResult } from '../../../../experiments/stop-agent/result.ts';

export interface Given extends Partial<Pick<SystemScores, 'queries' | 'mostCommonStop'>> {
  macroF1?: number;
  er?: number;
  delayHours?: number | null;
  queriesPerThread?: number;
}

export function decidedSystem(name: string, { queries = 'one', mostCommonStop, ...values }: Given = {}): SystemScores {
  const usual = {
    macroF1: 0.5,
    accuracy: 0.5,
    er: 0.5,
    delayPosts: 3,
    delayHours: 1,
    queriesPerThread: 1,
    queriesSaved: 0.9,
  };
  return {
    name,
    queries,
    threads: 10,
    values: { ...usual, ...values },
    intervals: { macroF1: [0.4, 0.6], er: [0.4, 0.6] },
    f1ByLabel: { 'non-rumor': 0.4, rumor: 0.6 },
    mostCommonStop: mostCommonStop ?? { name: 'post 4', share: 0.2 },
  };
}

/** Twenty threads with as many errors of either label as make that macro-F1. */
function decisionsOf({ name, queries, values }: SystemScores): SystemDecisions {
  const decisions = Array.from({ length: 20 }, (_, index) => ({
    system: name,
    threadId: `${index}`,
    gold: index % 2,
    predicted: Math.floor(index / 2) < Math.round(10 * (values.macroF1 ?? 0)) ? index % 2 : 1 - (index % 2),
    postsUsed: Math.round(20 * (values.er ?? 0)),
    posts: 20,
    hours: null,
    queries: values.queriesPerThread ?? 1,
  }));
  return { name, queries, decisions };
}

const experiment = experimentSchema.parse({
  name: 'x',
  data: { threads: 'my threads.jsonl' },
  agent: { algorithm: 'imitation' },
});

export function decidedTrial(
  seed: number,
  agent: Given,
  rules: SystemScores[] = [decidedSystem('all posts', { er: 1 })],
) {
  const count = { conservative: 3, earlyAction: 2, misleading: 1 };
  const systems = [decidedSystem(agentName, agent), ...rules];
  return {
    seed,
    directory: `runs/x/seed-${seed}`,
    experiment,
    threshold: 0.5,
    threads: { test: 10 },
    demonstrations: count,
    stopsAtFirstPost: { conservative: 1 / 3, earlyAction: 0, misleading: 0 },
    detector: null,
    learningCurve: null,
    unlikeTraining: 0.05,
    part: 'test',
    schedule: null,
    systems,
    decisions: systems.map(decisionsOf),
    ranking: {
      part: 'test',
      decisions: systems.map(decisionsOf),
      agent: systems[0],
      labels: Object.keys(systems[0].f1ByLabel),
      alerts: undefined,
      price: { delayCost: 0.2, queryCost: 0 },
      costs: null,
    },
  } satisfies TrialResult;
}
