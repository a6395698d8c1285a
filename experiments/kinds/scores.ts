import { RunDirectory } from '../../checkpoints/run-directory.ts';
import { type EvaluationSplit, readDecisions } from '../run/decisions-file.ts';
import { readSelectorResult } from '../selector/result.ts';
import { selectorName } from '../selector/system-names.ts';
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

export const selectorSweepMetrics: readonly SweepMetric[] = ['veracity', 'stance'].flatMap((task) => [
  { name: `${task}.macroF1`, title: `${task} macro-F1`, decimals: 3, range: [0, 1], isShown: true },
  { name: `${task}.microF1`, title: `${task} micro-F1`, decimals: 3, range: [0, 1], isShown: true },
]);

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

/** Means over the test sets. The development part is what was held out of them. */
export function scoreSelectorRun(path: string, part: EvaluationSplit): ScoredSystem[] {
  const { systems } = readSelectorResult(RunDirectory.open(path));
  return systems.map(({ name, tests, heldOut }) => {
    const scored = Object.values(part === 'test' ? tests : heldOut);
    const mean = (task: 'veracity' | 'stance', metric: string) => {
      const known = scored.flatMap((own) => own[task]?.values[metric] ?? []);
      return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length;
    };
    const values = Object.fromEntries(
      (['veracity', 'stance'] as const).flatMap((task) =>
        ['macroF1', 'microF1'].map((metric) => [`${task}.${metric}`, mean(task, metric)] as const),
      ),
    );
    const seesLabels = name === 'right-labels' || name === 'supervised';
    return { name, role: name === selectorName ? 'learnt' : seesLabels ? 'oracle' : 'baseline', values };
  });
}
