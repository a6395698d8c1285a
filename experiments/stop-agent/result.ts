import { z } from 'zod';
import type { RunDirectory } from '../../checkpoints/run-directory.ts';
import { heldOutSchema } from '../../experts/detectors/local/held-out.ts';
import { prefixScheduleSchema } from '../../experts/prefix-schedule.ts';
import { groupBy } from '../../src/data/group-by.ts';
import { InputError } from '../../src/errors.ts';
import type { EvaluationSplit } from '../run/decisions-file.ts';
import { resultFile } from '../run/run-file.ts';
import { readJudged, readStops } from './decided-files.ts';
import { agentName, decideByRules, isShown, type SystemDecisions } from './decisions.ts';
import { type Experiment, experimentSchema, taskOf } from './experiment.ts';
import { type SystemScores, scoreSystem, scoresJson } from './metrics.ts';
import { thresholdOf } from './operating-point.ts';
import { type Aim, aimOf } from './recommendation.ts';
import { deployedRun } from './shipped-run.ts';

/** `result.json`: what the decisions of a run do not tell. */
export const resultOfRun = resultFile(4, {
  seed: z.int(),
  threads: z.record(z.string(), z.int()).describe('threads in each part'),
  demonstrations: z.record(z.string(), z.int()).describe('trajectories of each expert'),
  stopsAtFirstPost: z.record(z.string(), z.number()).describe('share of them that stop at the first post'),
  systems: z
    .array(
      z.strictObject({
        name: z.string(),
        queries: z
          .enum(['one', 'schedule', 'every', 'oracle'])
          .describe(
            'when the detector is called: once at the stop, at some or all posts up to it, or by a rule that sees the labels',
          ),
      }),
    )
    .describe('in the order of the tables; rules are decided when they are shown'),
  part: z.enum(['test', 'development']).describe('the part of the split that was decided'),
  schedule: prefixScheduleSchema.unwrap().nullable().describe('on which the agent asks the detector'),
  detector: heldOutSchema
    .nullable()
    .default(null)
    .describe('what the local detector is worth on threads that it has not seen; null for a detector file'),
  learningCurve: z
    .array(
      z.strictObject({
        labels: z.int().describe('labelled threads'),
        wholeMacroF1: z.number().describe('of the detector after all posts'),
        macroF1: z.number().describe('of the agent at its stops'),
        earliness: z.number().describe('mean share of the posts that the agent reads'),
      }),
    )
    .nullable()
    .describe('the same cross-validation with fewer labels, and with all; null where it was not run'),
  unlikeTraining: z
    .number()
    .describe(
      'share of the decided threads whose claim is out of distribution for the training threads; 0.05 of similar threads are',
    ),
});
export type StoredResult = ReturnType<typeof resultOfRun.read>;

/** The result of a finished run, with its scores. */
export interface TrialResult extends Omit<StoredResult, 'systems'> {
  /** Of the run. */
  readonly directory: string;
  readonly experiment: Experiment;
  /** The policy stops at a score above this. */
  readonly threshold: number;
  readonly systems: readonly SystemScores[];
  /** The decisions behind the scores of `systems`, in the same order. */
  readonly decisions: readonly SystemDecisions[];
  /** The basis of the recommendation: decisions on the development part, or without one on the decided part. */
  readonly ranking: Aim & {
    readonly part: EvaluationSplit;
    readonly decisions: readonly SystemDecisions[];
    readonly agent: SystemScores;
  };
}

/** Whether every labelled thread was tested, by a fold that has not seen it. */
export function isCrossFitted({ experiment }: Pick<TrialResult, 'experiment'>): boolean {
  return experiment.crossFitting !== null;
}

/**
 * Decisions of every system of a finished run: those that were trained, and every rule.
 * @param part of the threads; the one that the run is evaluated on unless given
 * @throws InputError when a file of the run is missing or damaged
 */
export function systemsOfRun(
  run: RunDirectory,
  part?: EvaluationSplit,
  { systems }: Pick<StoredResult, 'systems'> = resultOfRun.read(run),
): SystemDecisions[] {
  const experiment: Experiment = run.readConfig(experimentSchema);
  const decidedPart = part ?? experiment.evaluation.part;
  const { labels } = taskOf(experiment);
  const decisions = groupBy(readStops(run.path, { labels, part: decidedPart }), ({ system }) => system);
  const stored = systems.map(({ name, queries }): SystemDecisions => {
    const systemDecisions = decisions.get(name);
    if (systemDecisions === undefined)
      throw new InputError(`the decisions of ${run.path} lack the system ${name}; train the run again`);
    return { name, queries, decisions: systemDecisions };
  });
  const rules = decideByRules(experiment, readJudged(run.path, decidedPart));
  // Bounds stand at the end.
  const isBound = ({ queries }: SystemDecisions) => queries === 'oracle';
  return [...stored.filter((system) => !isBound(system)), ...rules, ...stored.filter(isBound)];
}

/**
 * @param options.withIntervals computes intervals over threads, which takes a while: of the systems that tables show, or of the agent alone
 * @param options.part which decisions are scored; those that the run is evaluated on unless given
 * @param result what is about to be written, where the decisions are there already
 */
export function readTrialResult(
  run: RunDirectory,
  options: { withIntervals: boolean | 'agent'; part?: EvaluationSplit },
  result: StoredResult = resultOfRun.read(run),
): TrialResult {
  const { systems: _, ...stored } = result;
  const experiment: Experiment = run.readConfig(experimentSchema);
  const { seed, part: decidedPart } = stored;
  const { part = decidedPart, withIntervals } = options;
  const decisions = systemsOfRun(run, part, result);
  const rankedPart = experiment.split.development > 0 ? 'development' : decidedPart;
  const ranked = rankedPart === part ? decisions : systemsOfRun(run, rankedPart, result);
  const aim = aimOf(experiment);
  const hasInterval = ({ name }: SystemDecisions) =>
    withIntervals === 'agent' ? name === agentName : withIntervals && isShown(name);
  const resample = { seed, resamples: experiment.evaluation.resamples };
  return {
    ...stored,
    directory: run.path,
    experiment,
    threshold: thresholdOf({ path: deployedRun(run.path) }),
    decisions,
    ranking: {
      ...aim,
      part: rankedPart,
      decisions: ranked,
      agent: scoreSystem(ranked.find(({ name }) => name === agentName)!, aim),
    },
    systems: decisions.map((system) =>
      scoreSystem(system, { ...aim, resample: hasInterval(system) ? resample : undefined }),
    ),
  };
}

export function trialJson({ systems, directory: _, decisions: __, ranking: ___, ...read }: TrialResult): unknown {
  const { experiment, threshold, ...result } = read;
  const { algorithm } = experiment.agent;
  return { ...result, algorithm, threshold, systems: systems.map(scoresJson) };
}
