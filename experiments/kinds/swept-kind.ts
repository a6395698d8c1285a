import { holdingRuns } from '../../checkpoints/run-lock.ts';
import { InputError } from '../../src/errors.ts';
import { type WorkContext, workContext } from '../../src/work-context.ts';
import type { ExperimentHead } from '../config/experiment-file.ts';
import type { PlainObject } from '../config/overrides.ts';
import type { DecidedPart } from '../run/decisions-file.ts';
import type { RequestedBackend } from '../run/programs.ts';
import { resolveSelectorExperiment, selectorExperimentSchema } from '../selector/experiment.ts';
import { experimentSchema, resolveExperiment } from '../stop-agent/experiment.ts';
import type { ExperimentKind } from './experiment-kind.ts';
import {
  type ScoredSystem,
  type SweepMetric,
  scoreSelectorRun,
  scoreStopAgentRun,
  selectorSweepMetrics,
  stopSweepMetrics,
} from './scores.ts';
import { selectorKind } from './selector-kind.ts';
import { stopAgentKind } from './stop-agent-kind.ts';

/** A trial as the process that trains it is told. */
export interface TrialTask {
  readonly kind: SweptKindName;
  readonly config: PlainObject;
  readonly seed: number;
  /** For people. */
  readonly label: string;
  readonly directory: string;
  /** Folder of the shared cache. */
  readonly runs: string;
  readonly pauseAt: number | null;
}

/** Runs trials of one shape together to their end, their pause or the signal. */
export type RunTrials = (tasks: readonly TrialTask[], context: Partial<WorkContext>) => Promise<void>;

export interface ResolvedTrial {
  readonly config: PlainObject;
  readonly seeds: readonly number[];
  /** Files that the experiment reads. */
  readonly files: readonly string[];
  /** Why it cannot be swept; null if it can. */
  readonly problem: string | null;
  /** Whether it sends paid requests to language models. */
  readonly asksModels: boolean;
  /** Trials with the same key train the same detector. */
  readonly detectorKey: string | null;
  /** The tensor backend that it asks for; null where trials cannot be trained together. */
  readonly backend: RequestedBackend | null;
  /** Trials with the same key may be trained in one program; null where a trial must be alone. */
  readonly shape: string | null;
  /** Iterations of the whole training; null where it cannot be paused. */
  readonly iterations: number | null;
}

export type SweptKindName = 'stop-agent' | 'selector';

/** What a sweep must know of a kind of experiment. */
export interface SweptKind {
  readonly name: SweptKindName;
  readonly metrics: readonly SweepMetric[];
  /** What is maximised unless the file says otherwise. */
  readonly objective: string;
  resolve(raw: PlainObject, source: string): ResolvedTrial;
  /** What `--data` means. */
  dataOverride(path: string): PlainObject;
  /** What the systems of a run score on one part, the learnt one first. */
  score(run: string, part: DecidedPart): ScoredSystem[];
  /** Prepares what the trials of a process share. */
  start(task: TrialTask): Promise<RunTrials>;
}

/** @throws InputError for a kind that is not known */
export function sweptKindOf(name: unknown, source: string): SweptKind {
  if (name === undefined || name === 'stop-agent') return stopAgent;
  if (name === 'selector') return selector;
  throw new InputError(`${source}: kind is ${JSON.stringify(name)}; it must be stop-agent (the default) or selector`);
}

const stopAgent: SweptKind = {
  name: 'stop-agent',
  metrics: stopSweepMetrics,
  objective: 'macroF1',
  dataOverride: stopAgentKind.dataOverride,
  score: scoreStopAgentRun,
  resolve(raw, source) {
    const { kind: _, ...settings } = raw;
    const experiment = resolveExperiment(settings, source);
    const { data, split, detector, task, seeds, agent } = experiment;
    const isModel = 'file' in detector;
    return {
      config: { ...experiment },
      seeds,
      files: [data.threads, isModel ? detector.file : null].filter((file) => file !== null),
      problem:
        split.development > 0
          ? null
          : 'settings are chosen on a development part, and split.development is 0; give it threads, such as 100',
      asksModels: isModel,
      detectorKey: isModel
        ? null
        : JSON.stringify([data, split.detector, split.events, split.seed, detector, task, seeds]),
      backend: stopAgentKind.backendOf(experiment),
      shape: stopAgentKind.shapeOf(experiment),
      iterations: agent.iterations,
    };
  },
  start: (task) => started(stopAgentKind, task, (config) => experimentSchema.parse(config)),
};

const selector: SweptKind = {
  name: 'selector',
  metrics: selectorSweepMetrics,
  objective: 'veracity.macroF1',
  dataOverride: selectorKind.dataOverride,
  score: scoreSelectorRun,
  resolve(raw, source) {
    const experiment = resolveSelectorExperiment(raw, source);
    const { data, evaluation, seeds } = experiment;
    return {
      config: { ...experiment },
      seeds,
      files: [data.train, data.stancePretraining, ...Object.values(data.tests)].filter((file) => file !== null),
      problem:
        evaluation.heldOutShare > 0
          ? null
          : 'settings are chosen on the threads held out from the tests, and evaluation.heldOutShare is 0; give a share, such as 0.2',
      asksModels: selectorKind.asksModels(experiment),
      detectorKey: null,
      backend: selectorKind.backendOf(experiment),
      shape: selectorKind.shapeOf(experiment),
      iterations: null,
    };
  },
  start: (task) => started(selectorKind, task, (config) => selectorExperimentSchema.parse(config)),
};

async function started<Experiment extends ExperimentHead, Result>(
  kind: ExperimentKind<Experiment, Result>,
  first: TrialTask,
  parse: (config: PlainObject) => Experiment,
): Promise<RunTrials> {
  const run = await kind.start({ experiments: [parse(first.config)], runs: first.runs, onBackend: () => {} });
  return async (tasks, context) => {
    const trials = tasks.map(({ config, seed, directory, pauseAt }) => ({
      variant: '',
      experiment: parse(config),
      seed,
      directory,
      pauseAt: pauseAt ?? undefined,
    }));
    await holdingRuns(
      tasks.map(({ directory }) => directory),
      () => run(trials, workContext(context)),
    );
  };
}
