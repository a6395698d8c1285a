import { RunDirectory } from '../../checkpoints/run-directory.ts';
import type { WorkContext } from '../../src/work-context.ts';
import { createSelector } from '../../trainers/selector/jsdrv.ts';
import type { SelectorTraining } from '../../trainers/selector/setup.ts';
import { hasDecisions, readDecisions, writeDecisions } from '../run/decisions-file.ts';
import { writeParts } from '../run/parts-file.ts';
import { writeClaims } from './claims-file.ts';
import { selectorDataHash, splitTests } from './data.ts';
import {
  allPostsName,
  decideTest,
  type SelectorDecision,
  type SelectorSystem,
  selectorDecisionSchema,
  selectorName,
} from './decisions.ts';
import { runConfig, type SelectorExperiment } from './experiment.ts';
import { readStoredSelectorResult, storedSelectorResult } from './result.ts';
import { freshSettings, type SelectorShared, type SelectorTrial } from './settings.ts';
import { trainedBeside } from './systems-beside.ts';
import { trainLogged } from './train-logged.ts';

/**
 * One run: trains the selector, tests it, then every system beside it with the same claims, seed and number of epochs. A
 * finished run is left as it is, and one that was cut off goes on from the last epoch. False when the signal stopped it.
 * @throws InputError when the directory holds a run of another config, seed or data
 */
export async function runSelectorTrial(settings: {
  experiment: SelectorExperiment;
  seed: number;
  directory: string;
  shared: SelectorShared;
  context: WorkContext;
}): Promise<boolean> {
  const { experiment, seed, directory, shared, context } = settings;
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
  if (run.isFinished()) {
    readStoredSelectorResult(run);
    return true;
  }
  const tests = data.tests.map(({ name, threads }) => [`test ${name}`, threads] as const);
  writeParts(run, { train: data.train, ...Object.fromEntries(tests) });

  const { tested, heldOut } = splitTests(data.tests, { share: experiment.evaluation.heldOutShare });
  const trial: SelectorTrial = { experiment, seed, directory, shared, context, tested, heldOut };
  const trainer = createSelector(await freshSettings(trial));
  writeClaims(run, trainer.training.settings.claims);
  const { training } = trainer;
  const lastEpoch = await trainLogged(trial, { run, trainer });
  if (lastEpoch === null) return false;
  // Without a test there is nothing to compare, so the other systems are not trained.
  const systems: SelectorSystem[] = [selectorName];
  if (data.tests.length > 0) systems.push(allPostsName, ...experiment.evaluation.beside);
  // Saved after each system, so that a resumed run does not train that one again.
  const decisions = hasDecisions(directory) ? readDecisions(directory, selectorDecisionSchema) : [];
  const known = new Set(decisions.map(({ system }) => system));
  for (const system of systems) {
    if (known.has(system)) continue;
    decisions.push(...(await decisionsOf(system, { trial, selector: training })));
    writeDecisions(directory, decisions);
  }
  const { claims } = training.settings;
  run.writeResult(
    storedSelectorResult({
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
      tests: data.tests.map(({ name }) => name),
      systems,
    }),
  );
  return true;
}

/** Trains a system, unless it is the selector itself, and lets it decide every test set. */
async function decisionsOf(
  system: SelectorSystem,
  { trial, selector }: { trial: SelectorTrial; selector: SelectorTraining },
): Promise<SelectorDecision[]> {
  const { settings, policies } =
    system === selectorName || system === allPostsName
      ? selector
      : await trainedBeside(trial, { name: system, selector });
  const decisions: SelectorDecision[] = [];
  for (const [part, tests] of [
    ['test', trial.tested],
    ['held-out', trial.heldOut],
  ] as const)
    for (const test of tests)
      decisions.push(
        ...(await decideTest({
          test,
          settings,
          policies: system === selectorName ? policies : null,
          system,
          part,
          stage: `testing ${system} on ${test.name}`,
          context: trial.context,
        })),
      );
  return decisions;
}
