import { RunDirectory } from '../../checkpoints/run-directory.ts';
import { type EvaluationSplit, readDecisions } from '../run/decisions-file.ts';
import { agentName, decisionSchema, type SystemDecisions } from '../stop-agent/decisions.ts';
import { experimentSchema, taskOf } from '../stop-agent/experiment.ts';
import { scoreSystem, stopMetrics } from '../stop-agent/metrics.ts';
import { systemsOfRun } from '../stop-agent/result.ts';

/** What one system of a run came to on one part. */
export interface ScoredSystem {
  readonly name: string;
  /** learnt: what is swept; oracle: it sees the labels and is out of reach. */
  readonly role: 'learnt' | 'baseline' | 'oracle';
  readonly values: Readonly<Record<string, number | null>>;
}

/** A metric as tables of sweeps show it. */
export interface SweepMetric {
  readonly name: string;
  readonly title: string;
  readonly decimals: number;
  /** The least and the most that it can be; no bounds when left out. */
  readonly range?: readonly [number, number] | undefined;
  /** Whether it has a column in reports; the table of trials has every metric. */
  readonly isShown: boolean;
}

export const stopSweepMetrics: readonly SweepMetric[] = stopMetrics.map(({ name, title, decimals, range }) => ({
  name,
  title: title ?? name,
  decimals,
  range,
  isShown: title !== null,
}));

/** The agent comes first. A run that is paused has decisions of the agent alone. */
export function scoreStopAgentRun(path: string, part: EvaluationSplit): ScoredSystem[] {
  const run = RunDirectory.open(path);
  const { labels } = taskOf(run.readConfig(experimentSchema));
  const systems: SystemDecisions[] =
    typeof part === 'object'
      ? [{ name: agentName, calls: 'one', decisions: readDecisions(path, decisionSchema, part) }]
      : systemsOfRun(run, part);
  return systems.map((system) => {
    const { name, calls } = system;
    const { values } = scoreSystem(system, { labels });
    return { name, role: name === agentName ? 'learnt' : calls === 'oracle' ? 'oracle' : 'baseline', values };
  });
}
