import { join } from 'node:path';
import type { z } from 'zod';
import type { ThreadFacts } from '../../src/data/thread-source.ts';
import type { ExperimentHead } from '../config/experiment-file.ts';
import type { PlainObject } from '../config/overrides.ts';
import type { KindReport } from '../report/kind-report.ts';
import type { ComparedPlace } from '../report/page/comparison-page.ts';
import type { ComparedPair } from '../run/compare-systems.ts';
import type { EvaluationSplit } from '../run/decisions-file.ts';
import type { MetricFacts } from '../run/metric.ts';
import type { Trial } from '../run/trial.ts';
import type { RequestedBackend } from '../run/trial-pool.ts';
import type { StartTrials } from '../run/trials-here.ts';

/** A checked experiment of any kind, with the facts that runners need. */
export interface ResolvedExperiment extends ExperimentHead {
  /** With every default filled in. */
  readonly config: PlainObject;
  readonly threadFiles: readonly string[];
  /**
   * Checks the threads of its file for a seed; null if nothing is known before the training.
   * @throws the InputError of the training
   */
  readonly checkThreads: ((threads: readonly ThreadFacts[], seed: number) => Promise<unknown>) | null;
  readonly files: readonly string[];
  /** The reason why it cannot be swept; null if it can. */
  readonly sweepProblem: string | null;
  /** True if it sends paid requests, whose rate limits hold for one process. */
  readonly asksModels: boolean;
  /** Experiments with equal keys train equal detectors for a seed; null without such training. */
  readonly detectorKey: string | null;
  /** The requested tensor backend; null if the experiment leaves it open. */
  readonly backend: RequestedBackend | null;
}

/** Defaults of an experiment without threads to check, a detector or a backend. */
export function simpleExperiment<Experiment extends ExperimentHead & PlainObject>(experiment: Experiment) {
  const { name, description, seeds } = experiment;
  return { name, description, seeds, config: { ...experiment }, checkThreads: null, detectorKey: null, backend: null };
}

/** The reason why an experiment with this split cannot be swept; null if it can. */
export function splitProblem({ development }: { development: number }): string | null {
  return development > 0
    ? null
    : 'settings are chosen on a development part, and split.development is 0; give it threads, such as 100';
}

export interface ScoredSystem {
  readonly name: string;
  /** learnt: the swept system; oracle: it sees the labels and is out of reach. */
  readonly role: 'learnt' | 'baseline' | 'oracle';
  readonly values: Readonly<Record<string, number | null>>;
}

/** A kind of experiment: its file, training, decisions and scores. Runners and reports share everything else. */
export interface ExperimentKind {
  readonly name: string;
  readonly schema: z.ZodType;
  /** @throws InputError naming each problem: place, value, reason, and the nearest key for an unknown one */
  resolve(raw: PlainObject, source: string): ResolvedExperiment | Promise<ResolvedExperiment>;
  /** The variant's name in a file without variants. */
  readonly soleVariant: string;
  dataOverride(path: string): PlainObject;
  readonly start: StartTrials;
  /** Metrics that a sweep can maximise. */
  readonly metrics: readonly MetricFacts[];
  /** The metric that a sweep maximises by default. */
  readonly objective: string;
  /** Scores of a run's systems on one part, the learnt one first. */
  score(run: string, part: EvaluationSplit): ScoredSystem[];
  readonly learnt: string;
  /** Compares two systems at every place that both decided. @throws like `compareSystems` */
  compare(compared: ComparedPair, options: { seed: number }): ComparedPlace[];
  /** Imported on demand, because pages and charts are large. */
  report(): Promise<KindReport>;
  /**
   * Writes the recommended policy of a finished experiment into `out` and replaces an earlier one.
   * @returns false if the run no longer has one
   */
  ship?(of: { recommended: object; out: string }): Promise<boolean>;
}

export interface Member {
  /** Name of the folder, which holds a run per seed. */
  readonly name: string;
  readonly resolved: ResolvedExperiment;
  readonly trials: readonly Trial[];
}

export interface OpenedExperiment {
  readonly name: string;
  readonly description: string;
  readonly kind: ExperimentKind;
  /** Folder for runs, and for the work they share. */
  readonly runs: string;
  readonly members: readonly Member[];
}

export function trialsOf({ members }: Pick<OpenedExperiment, 'members'>): Trial[] {
  return members.flatMap(({ trials }) => trials);
}

/** @param options.label the name in messages */
export function memberOf(
  { kind, name: experiment, runs }: Pick<OpenedExperiment, 'kind' | 'name' | 'runs'>,
  { name, label = name, resolved }: { name: string; label?: string; resolved: ResolvedExperiment },
): Member {
  const { config, detectorKey, seeds } = resolved;
  const trials = seeds.map((seed) => ({
    kind: kind.name,
    config,
    seed,
    label: `${label}, seed ${seed}`,
    directory: join(runs, experiment, name, `seed-${seed}`),
    runs,
    detectorKey: detectorKey === null ? null : JSON.stringify([detectorKey, seed]),
    backend: null,
  }));
  return { name, resolved, trials };
}
