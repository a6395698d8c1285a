import type { ThreadFacts } from '../../src/data/thread-source.ts';
import type { ExperimentHead } from '../config/experiment-file.ts';
import type { PlainObject } from '../config/overrides.ts';
import type { EvaluationSplit } from '../run/decisions-file.ts';
import type { KindName } from '../run/kind-name.ts';
import type { RequestedBackend } from '../run/programs.ts';
import type { Trial } from '../run/trial.ts';
import type { StartTrials } from '../run/trials-here.ts';

/** An experiment of any kind: what those must know of it that run it. */
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
  /** Every file that it reads. */
  readonly files: readonly string[];
  /** Why it cannot be swept; null if it can. */
  readonly sweepProblem: string | null;
  /** Whether it sends paid requests to language models. Their limits of rates hold for one process. */
  readonly asksModels: boolean;
  /** Experiments with the same one train the same detector for the same seed; null where none is trained. */
  readonly detectorKey: string | null;
  /** The tensor backend that it asks for; null where trials cannot be trained together. */
  readonly backend: RequestedBackend | null;
  /** Whether populations on onnx are faster for its trials, and leave them the bytes of trials alone. */
  readonly gainsOnOnnx: boolean;
  /** Trials with the same one may be trained in one program, as a population; null where a trial must be alone. */
  readonly shape: string | null;
  /** Iterations of the whole training; null where it cannot be paused. */
  readonly iterations: number | null;
}

/** What is so of most experiments: each trial is trained alone, and from its beginning to its end. */
export function trainedAlone<Experiment extends ExperimentHead & PlainObject>(experiment: Experiment) {
  const { name, description, seeds } = experiment;
  const alone = {
    checkThreads: null,
    detectorKey: null,
    backend: null,
    gainsOnOnnx: false,
    shape: null,
    iterations: null,
  };
  return { name, description, seeds, config: { ...experiment }, ...alone };
}

/** Why an experiment with such a split cannot be swept; null if it can. */
export function splitProblem({ development }: { development: number }): string | null {
  return development > 0
    ? null
    : 'settings are chosen on a development part, and split.development is 0; give it threads, such as 100';
}

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

/** What differs between kinds of experiment, up to the scores of a run. All else is shared. */
export interface ExperimentKind {
  readonly name: KindName;
  /** @throws InputError naming each problem: place, value, reason, and the nearest key for an unknown one */
  resolve(raw: PlainObject, source: string): ResolvedExperiment;
  /** What the only variant of a file without variants is called. */
  readonly soleVariant: string;
  /** What `--data` means. */
  dataOverride(path: string): PlainObject;
  readonly start: StartTrials;
  /** What a sweep may choose by. */
  readonly metrics: readonly SweepMetric[];
  /** What a sweep maximises unless its file says otherwise. */
  readonly objective: string;
  /** What the systems of a run score on one part, the learnt one first. */
  score(run: string, part: EvaluationSplit): ScoredSystem[];
}

/** A training of an experiment with one of its seeds. */
export function trialOf(
  kind: ExperimentKind,
  { config, detectorKey, shape }: ResolvedExperiment,
  of: Pick<Trial, 'seed' | 'label'>,
): Omit<Trial, 'directory' | 'runs' | 'pauseAt'> {
  const key = detectorKey === null ? null : JSON.stringify([detectorKey, of.seed]);
  return { ...of, kind: kind.name, config, detectorKey: key, backend: null, shape };
}
