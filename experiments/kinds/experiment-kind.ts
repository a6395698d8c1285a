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
import type { RequestedBackend } from '../run/processes.ts';
import type { Trial } from '../run/trial.ts';
import type { StartTrials } from '../run/trials-here.ts';
import type { EvaluateRunSettings } from '../stop-agent/evaluate-run.ts';

/** A checked experiment of any kind, with the facts that runners need. */
export interface ResolvedExperiment extends ExperimentHead {
  /** With every default filled in. */
  readonly config: PlainObject;
  /** Files of threads that it reads. */
  readonly threadFiles: readonly string[];
  /**
   * Whether the threads of its file will do for a seed; null where nothing is known before the training.
   * @throws InputError, as the training would
   */
  readonly checkThreads: ((threads: readonly ThreadFacts[], seed: number) => Promise<unknown>) | null;
  /** Every file whose bytes its results depend on. What a detector file holds is looked at by its runs. */
  readonly files: readonly string[];
  /** Why it cannot be swept; null if it can. */
  readonly sweepProblem: string | null;
  /** Whether it sends paid requests to language models. Their limits of rates hold for one process. */
  readonly asksModels: boolean;
  /** Experiments with the same one train the same detector for the same seed; null where none is trained. */
  readonly detectorKey: string | null;
  /** The tensor backend that it asks for; null where none is chosen for it. */
  readonly backend: RequestedBackend | null;
}

/** Defaults of an experiment without threads to check, a detector or a backend. */
export function simpleExperiment<Experiment extends ExperimentHead & PlainObject>(experiment: Experiment) {
  const { name, description, seeds } = experiment;
  return { name, description, seeds, config: { ...experiment }, checkThreads: null, detectorKey: null, backend: null };
}

/** Why an experiment with such a split cannot be swept; null if it can. */
export function splitProblem({ development }: { development: number }): string | null {
  return development > 0
    ? null
    : 'settings are chosen on a development part, and split.development is 0; give it threads, such as 100';
}

/** The scores of one system on one part. */
export interface ScoredSystem {
  readonly name: string;
  /** learnt: what is swept; oracle: it sees the labels and is out of reach. */
  readonly role: 'learnt' | 'baseline' | 'oracle';
  readonly values: Readonly<Record<string, number | null>>;
}

/** A kind of experiment: its file, its training, its decisions and what they come to. All else is shared. */
export interface ExperimentKind {
  readonly name: string;
  /** Of its file. */
  readonly schema: z.ZodType;
  /** @throws InputError naming each problem: place, value, reason, and the nearest key for an unknown one */
  resolve(raw: PlainObject, source: string): ResolvedExperiment | Promise<ResolvedExperiment>;
  /** The variant's name in a file without variants. */
  readonly soleVariant: string;
  /** The override that `--data` stands for. */
  dataOverride(path: string): PlainObject;
  readonly start: StartTrials;
  /** Metrics that a sweep can maximise. */
  readonly metrics: readonly MetricFacts[];
  /** The metric that a sweep maximises by default. */
  readonly objective: string;
  /** Scores of a run's systems on one part, the learnt one first. */
  score(run: string, part: EvaluationSplit): ScoredSystem[];
  /** The system that its runs are about. */
  readonly learnt: string;
  /** Two systems at every place where both decided. @throws as `compareSystems` does */
  compare(compared: ComparedPair, options: { seed: number }): ComparedPlace[];
  /** Imported on demand, because pages and charts are large. */
  report(): Promise<KindReport>;
  /** The systems of a run on other data: scores for `--json`, and a table. @throws InputError where that cannot be */
  evaluate(of: EvaluateRunSettings): Promise<{ readonly scores: object; readonly text: string }>;
  /**
   * Writes what a finished experiment recommends as a policy in `out`, in the place of an earlier one.
   * @returns false where the run has none any more
   */
  ship?(of: { recommended: object; out: string }): Promise<boolean>;
}

/** Runs that differ in their seed alone: a variant of a file, or a setting of a sweep. */
export interface Member {
  /** Of its folder, which holds a run for each seed. */
  readonly name: string;
  readonly resolved: ResolvedExperiment;
  readonly trials: readonly Trial[];
}

/** An experiment of any kind, ready to run: a list of trials. */
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

/** @param options.label names it for people */
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
