import { z } from 'zod';
import type { RunDirectory } from '../../checkpoints/run-directory.ts';
import { groupBy } from '../../src/data/group-by.ts';
import { InputError } from '../../src/errors.ts';
import { readDecisions } from '../run/decisions-file.ts';
import { decisionSchema, type SystemDecisions } from './decisions.ts';
import { type Experiment, experimentSchema, taskOf } from './experiment.ts';
import { type SystemScores, scoreSystem, scoresJson } from './metrics.ts';

const formatVersion = 2;

/** `result.json`: what the decisions of a run do not tell. */
export const storedResultSchema = z.strictObject({
  formatVersion: z.literal(formatVersion),
  seed: z.int(),
  threads: z.record(z.string(), z.int()).describe('threads in each part'),
  demonstrations: z.record(z.string(), z.int()).describe('trajectories of each expert'),
  stopsAtFirstPost: z.record(z.string(), z.number()).describe('share of them that stop at the first post'),
  systems: z
    .array(
      z.strictObject({
        name: z.string(),
        calls: z
          .enum(['one', 'every', 'oracle'])
          .describe(
            'when the detector is called: once at the stop, at every post up to it, or by a rule that sees the labels',
          ),
      }),
    )
    .describe('in the order of the tables'),
});
export type StoredResult = z.output<typeof storedResultSchema>;

export function storedResult(of: Omit<StoredResult, 'formatVersion'>): StoredResult {
  return { formatVersion, ...of };
}

/** What a finished run came to. */
export interface TrialResult extends Pick<StoredResult, 'seed' | 'threads' | 'demonstrations' | 'stopsAtFirstPost'> {
  readonly systems: readonly SystemScores[];
}

/** @throws InputError when an earlier version of Earshot finished the run */
export function readStoredResult(run: RunDirectory): StoredResult {
  const { formatVersion: found } = run.readResult(z.looseObject({ formatVersion: z.unknown().default(1) }));
  if (found !== formatVersion)
    throw new InputError(
      `${run.path}/result.json has the format of another version of Earshot (${found}, and this one reads ${formatVersion}); ` +
        'train the run again with --restart, or keep using the version that made it',
    );
  return run.readResult(storedResultSchema);
}

/** @param options.withIntervals computes the intervals over threads, too, which takes a while */
export function readTrialResult(run: RunDirectory, options: { withIntervals: boolean }): TrialResult {
  const { formatVersion: _, systems, ...stored } = readStoredResult(run);
  const experiment: Experiment = run.readConfig(experimentSchema);
  const decisions = groupBy(readDecisions(run.path, decisionSchema), ({ system }) => system);
  const { resamples } = experiment.evaluation;
  const decided = systems.map(({ name, calls }): SystemDecisions => {
    const own = decisions.get(name);
    if (own === undefined)
      throw new InputError(`${run.path}/decisions.jsonl lacks the system ${name}; train the run again`);
    return { name, calls, decisions: own };
  });
  return {
    ...stored,
    systems: decided.map((system) =>
      scoreSystem(system, {
        labels: taskOf(experiment).labels,
        resample: options.withIntervals ? { seed: stored.seed, resamples } : undefined,
      }),
    ),
  };
}

export function trialJson(run: RunDirectory): unknown {
  const { systems, ...result } = readTrialResult(run, { withIntervals: true });
  return { ...result, systems: systems.map(scoresJson) };
}
