import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { RunDirectory } from '../../checkpoints/run-directory.ts';
import { writeFileAtomically } from '../../src/atomic-file.ts';
import { diskError } from '../../src/errors.ts';
import { createSelector } from '../../trainers/selector/jsdrv.ts';
import type { SelectorTraining } from '../../trainers/selector/setup.ts';
import type { TrialHooks } from '../run/experiment-kind.ts';
import { selectorDataHash, type TestSet } from './data.ts';
import { evaluateSelector, type TestScores, testScoresSchema } from './evaluate-selector.ts';
import { besideSystems, type SelectorExperiment } from './experiment.ts';
import { runConfig } from './run-config.ts';
import { freshSettings, type SelectorShared, type SelectorTrial } from './settings.ts';
import { type Besides, trainedBeside } from './systems-beside.ts';
import { splitTests } from './test-parts.ts';
import { trainLogged } from './train-logged.ts';

export const selectorName = 'selector';
/** The same task models, reading every post at a test: what the policy is worth in training alone. */
export const allPostsName = 'selector-all-posts';

const systemSchema = z.strictObject({
  name: z.enum([selectorName, allPostsName, ...besideSystems]),
  tests: z.record(z.string(), testScoresSchema),
  /** On the threads held out from the tests: what settings may be chosen by. */
  heldOut: z.record(z.string(), testScoresSchema),
});

export const selectorResultSchema = z.strictObject({
  seed: z.int(),
  claims: z.strictObject({ labelled: z.int(), unlabelled: z.int(), posts: z.int(), sharedWithTests: z.int() }),
  epochs: z.int(),
  isTerminated: z.boolean().describe('whether the run of full rewards ended the training'),
  lastEpoch: z.record(z.string(), z.number()).describe('the metrics of the last epoch'),
  systems: z.array(systemSchema),
});
export type SelectorResult = z.output<typeof selectorResultSchema>;

/**
 * One run: trains the selector, tests it, then every system beside it with the same claims, seed and number of epochs. What
 * is finished is read, what was cut off goes on from the last epoch. Null when the signal stopped it.
 */
export async function runSelectorTrial(settings: {
  experiment: SelectorExperiment;
  seed: number;
  directory: string;
  shared: SelectorShared;
  hooks: TrialHooks;
}): Promise<SelectorResult | null> {
  const { experiment, seed, directory, shared } = settings;
  const { data } = shared;
  const run = RunDirectory.create(directory, {
    config: runConfig(experiment),
    facts: {
      seed,
      backend: 'none',
      device: 'processor',
      hashes: {
        data: selectorDataHash(data),
        embeddings: shared.embeddings.identityHash,
      },
    },
  });
  if (run.isFinished()) return run.readResult(selectorResultSchema);

  const { tested, heldOut } = splitTests(data.tests, { share: experiment.evaluation.heldOutShare });
  const trial: SelectorTrial = { ...settings, tested, heldOut };
  const trainer = createSelector(await freshSettings(trial));
  const { training } = trainer;
  const lastEpoch = await trainLogged(trial, { run, trainer });
  if (lastEpoch === null) return null;
  const systems: SelectorResult['systems'] = [];
  systems.push(await scored(trial, selectorName, () => Promise.resolve(training)));
  // Without a test there is nothing to compare, and training costs.
  const isTested = data.tests.length > 0;
  if (isTested) systems.push(await scored(trial, allPostsName, () => Promise.resolve(training)));
  for (const name of isTested ? experiment.evaluation.beside : [])
    systems.push(await scored(trial, name, () => trainedBeside(trial, { name, selector: training })));
  const { claims } = training.settings;
  const result: SelectorResult = {
    seed,
    claims: {
      labelled: claims.filter(({ label }) => label !== null).length,
      unlabelled: claims.filter(({ label }) => label === null).length,
      posts: claims.reduce((sum, { posts }) => sum + posts.length, 0),
      sharedWithTests: data.sharedWithTests,
    },
    epochs: training.epoch,
    isTerminated: training.isTerminated,
    lastEpoch,
    systems,
  };
  run.writeResult(result);
  return result;
}

/** Scores of a system on every test set, kept beside the run so that a resumed one does not train it again. */
async function scored(
  trial: SelectorTrial,
  name: typeof selectorName | typeof allPostsName | Besides,
  train: () => Promise<SelectorTraining>,
): Promise<SelectorResult['systems'][number]> {
  const { directory, tested, heldOut, hooks } = trial;
  const folder = join(directory, 'systems');
  const path = join(folder, `${name}.json`);
  if (existsSync(path)) return systemSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
  const { settings, policies } = await train();
  const scoresOn = async (sets: readonly TestSet[]) => {
    const scores: Record<string, TestScores> = {};
    for (const test of sets)
      scores[test.name] = await evaluateSelector({
        test,
        settings,
        policies: name === selectorName ? policies : null,
        onProgress: (done, total) => hooks.onStage?.(`testing ${name} on ${test.name}`, done, total),
        signal: hooks.signal,
      });
    return scores;
  };
  const system = { name, tests: await scoresOn(tested), heldOut: await scoresOn(heldOut) };
  try {
    mkdirSync(folder, { recursive: true });
  } catch (error) {
    throw diskError(error, { what: `make ${folder}` });
  }
  writeFileAtomically(path, `${JSON.stringify(system, null, 2)}\n`);
  return system;
}
