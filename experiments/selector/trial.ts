import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { RunDirectory } from '../../checkpoints/run-directory.ts';
import { usageSummary } from '../../experts/llm/cost/usage.ts';
import { QuotaSpentError } from '../../experts/llm/failures.ts';
import { PredictionTally } from '../../experts/task-models/chat/prediction-tally.ts';
import { writeFileAtomically } from '../../src/atomic-file.ts';
import { readJsonFile } from '../../src/json-file.ts';
import { createSelector, type SelectorTrainer } from '../../trainers/selector/jsdrv.ts';
import type { SelectorTraining } from '../../trainers/selector/setup.ts';
import { hasDecisions, readDecisions, writeDecisions } from '../run/decisions-file.ts';
import { writeParts } from '../run/parts-file.ts';
import { trainInDirectory } from '../run/train-in-directory.ts';
import { trainBaseline } from './baselines.ts';
import { selectorDataHash } from './data.ts';
import {
  allPostsName,
  decideTest,
  type SelectorDecision,
  type SelectorSystem,
  selectorDecisionSchema,
  selectorName,
} from './decisions.ts';
import { epochMetrics, writeLastSelection } from './epoch-record.ts';
import { runConfig } from './experiment.ts';
import { testedAndHeldOut } from './protocol.ts';
import { selectorResult } from './result.ts';
import { measureRoom, roomLines, type SelectionRoom, selectionRoomSchema } from './room.ts';
import { freshSettings, type SelectorTrial, selectorIdentity } from './selector-resources.ts';
import { decideByText, isTextBaseline } from './text-baselines.ts';

/**
 * Trains and tests the selector, then every system beside it with the same claims, seed and epochs. A finished run
 * stays, and an interrupted one resumes. False after the signal.
 * @throws InputError if the directory holds a run of another config, seed or data
 */
export async function runSelectorTrial(settings: TrialSettings): Promise<boolean> {
  try {
    return await trainAndTest(settings);
  } catch (error) {
    const { shared, context } = settings;
    if (error instanceof QuotaSpentError) context.onNote(usageSummary(shared.service.usage()));
    throw error;
  }
}

type TrialSettings = Pick<SelectorTrial, 'experiment' | 'seed' | 'directory' | 'shared' | 'context'>;

async function trainAndTest(settings: TrialSettings): Promise<boolean> {
  const { experiment, seed, directory, shared, context } = settings;
  const { data } = shared;
  const hashes = { data: selectorDataHash(data), embeddings: shared.embeddings.identityHash };
  const run = selectorResult.unfinished(directory, { config: runConfig(experiment), facts: { seed, hashes } });
  if (run === null) return true;
  const tests = data.tests.map(({ name, threads }) => [`test ${name}`, threads] as const);
  writeParts(run, { train: data.train, ...Object.fromEntries(tests) });

  const tally = new PredictionTally();
  const trial = { experiment, seed, directory, shared, tally, context, ...testedAndHeldOut(experiment, data.tests) };
  const trainer = createSelector(await freshSettings(trial));
  const { training } = trainer;
  const room = await roomOnce(trial);
  const lastEpoch = await trainLogged(trial, { run, trainer });
  if (lastEpoch === null) return false;
  const systems = systemsOf(trial);
  // Saved after each system, so that a resumed run does not train that one again.
  let decisions = hasDecisions(directory) ? readDecisions(directory, selectorDecisionSchema) : [];
  const decided = new Set<string>(decisions.map(({ system }) => system));
  for (const system of systems) {
    if (decided.has(system)) continue;
    decisions = [...decisions, ...(await decisionsOf(system, { trial, selector: training }))];
    writeDecisions(directory, decisions);
  }
  const { claims } = training.settings;
  for (const line of tally.lines(shared.annotations.path)) context.onNote(line);
  selectorResult.write(run, {
    seed,
    claims: {
      labelled: claims.filter(({ label }) => label !== null).length,
      unlabelled: claims.filter(({ label }) => label === null).length,
      posts: claims.reduce((sum, { posts }) => sum + posts.length, 0),
      leftOut: data.leftOut,
    },
    room,
    epochs: training.epoch,
    isTerminated: training.isTerminated,
    lastEpoch,
    tests: data.tests.map(({ name }) => name),
    systems,
    folds: [],
  });
  return true;
}

/** Without a test there is nothing to compare, so the other systems are not trained. */
function systemsOf({ experiment, heldOut, shared }: SelectorTrial): SelectorSystem[] {
  if (shared.data.tests.length === 0) return [selectorName];
  // By the untuned models it is decided which are kept.
  const untuned = heldOut.some(({ threads }) => threads.length > 0) ? (['untuned'] as const) : [];
  return [...new Set<SelectorSystem>([selectorName, allPostsName, ...untuned, ...experiment.evaluation.beside])];
}

/** Measures the room before the training and stores it. */
async function roomOnce(trial: SelectorTrial): Promise<SelectionRoom | null> {
  if (!trial.experiment.evaluation.room) return null;
  const path = join(trial.directory, 'room.json');
  if (!existsSync(path)) writeFileAtomically(path, `${JSON.stringify(await measureRoom(trial))}\n`);
  const room = readJsonFile(path, selectionRoomSchema.nullable());
  for (const line of roomLines(room)) trial.context.onNote(line);
  return room;
}

/** Trains from the last checkpoint. Returns the metrics of the last epoch; null after the signal. */
async function trainLogged(
  { shared, context, directory }: SelectorTrial,
  { run, trainer }: { run: RunDirectory; trainer: SelectorTrainer },
): Promise<Record<string, number> | null> {
  const { training } = trainer;
  const { claims } = training.settings;
  const threads = shared.data.train;
  const lastPath = join(directory, 'last-epoch.json');
  const isFinished = await trainInDirectory(trainer, {
    run,
    identity: selectorIdentity(training, shared.embeddings),
    checkpointEvery: 1,
    context,
    async afterIteration(trained) {
      const { selection } = trainer;
      if (selection === null) return trained;
      const metrics = epochMetrics({ selection, claims, threads });
      writeFileAtomically(lastPath, `${JSON.stringify(metrics)}\n`);
      if (trainer.iteration >= trainer.iterations) writeLastSelection(directory, { selection, claims, threads });
      return metrics;
    },
  });
  return isFinished ? readJsonFile(lastPath, z.record(z.string(), z.number())) : null;
}

/** Trains a system, unless it is the selector itself, and decides every test set. */
async function decisionsOf(
  system: SelectorSystem,
  { trial, selector }: { trial: SelectorTrial; selector: SelectorTraining },
): Promise<SelectorDecision[]> {
  const parts = [
    ...trial.tested.map((test) => ({ part: 'test', test }) as const),
    ...trial.heldOut.map((test) => ({ part: 'development', test }) as const),
  ];
  const decided: SelectorDecision[][] = [];
  if (isTextBaseline(system)) {
    const { train } = trial.shared.data;
    const { claims } = selector.settings;
    for (const part of parts) decided.push(await decideByText({ system, ...part, train, claims }));
    return decided.flat();
  }
  const { settings, policies } =
    system === selectorName || system === allPostsName
      ? selector
      : await trainBaseline(trial, { name: system, selector });
  for (const { part, test } of parts)
    decided.push(
      await decideTest({
        test,
        settings,
        policies: system === selectorName ? policies : null,
        system,
        part,
        stage: `testing ${system} on ${test.name}`,
        context: trial.context,
      }),
    );
  return decided.flat();
}
