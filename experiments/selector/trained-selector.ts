import { z } from 'zod';
import type { RunDirectory } from '../../checkpoints/run-directory.ts';
import type { BudgetLimits } from '../../experts/llm/cost/budget.ts';
import { PredictionTally } from '../../experts/task-models/chat/prediction-tally.ts';
import { sha256 } from '../../src/content-hash.ts';
import type { Thread } from '../../src/data/thread.ts';
import { InputError } from '../../src/errors.ts';
import type { WorkContext } from '../../src/work-context.ts';
import { createSelector } from '../../trainers/selector/jsdrv.ts';
import { type GreedySelection, selectGreedily } from '../../trainers/selector/select-greedily.ts';
import type { SelectorClaim, SelectorTraining } from '../../trainers/selector/setup.ts';
import { loadTrainer } from '../../trainers/trainer-checkpoint.ts';
import { readDecisions } from '../run/decisions-file.ts';
import { openRunOf } from '../run/open-run-of.ts';
import { missingThreads, readParts, withoutTrained } from '../run/parts-file.ts';
import { runFile } from '../run/run-file.ts';
import type { EvaluateRunSettings } from '../stop-agent/evaluate-run.ts';
import { loadSelectorData, loadSelectorThreads } from './data.ts';
import {
  allPostsName,
  decideTest,
  type SelectorDecision,
  type SelectorTask,
  selectorDecisionSchema,
  selectorName,
} from './decisions.ts';
import { type SelectorExperiment, selectorExperimentSchema } from './experiment.ts';
import { keptModels, keptUntuned } from './kept-models.ts';
import { type SelectorResources, selectorIdentity, selectorResources, settingsFor } from './selector-resources.ts';

/**
 * Opens a run with its trained selector, without its data.
 * @throws InputError if the folder holds no selector run, or no checkpoint
 */
export async function openSelectorRun(options: {
  run: string;
  resources: SelectorResources;
  /** Limits that replace the experiment's. */
  budget: Partial<BudgetLimits>;
  context: WorkContext;
}) {
  const { resources, context, budget } = options;
  const run = openRunOf(options.run, 'selector');
  const saved = run.readConfig(selectorExperimentSchema);
  if (saved.data.heldOutEvents === 'each')
    throw new InputError(
      `${run.path} holds a selector for each held-out event, in folders without-…; give one of those, or train without data.heldOutEvents`,
    );
  const latest = run.trainedCheckpoint();
  const experiment = { ...saved, budget: { ...saved.budget, ...budget } };
  const { seed } = run.readRecord();
  const tools = await resources.toolsFor(experiment, context);
  const trained = readParts(run).train.map(({ identity }) => identity);
  const claims = readClaims(run);
  const tally = new PredictionTally();
  const trainer = createSelector(await settingsFor({ experiment, seed, tools, claims, tally, context }));
  const { training } = trainer;
  const identity = selectorIdentity(training, tools.embeddings);
  trainer.restore(loadTrainer(latest.path, { algorithm: trainer.algorithm, identity }));
  if (!run.isFinished())
    context.onNote(`${run.path} is not finished; its selector after ${training.epoch} epochs is used`);
  const decisions = run.isFinished() ? readDecisions(run.path, selectorDecisionSchema) : [];
  const models = keptModels(decisions, selectorName);
  for (const task of keptUntuned(models))
    context.onNote(
      `${run.path} keeps the untuned models for ${task}: on ${models[task]?.items} held-out items their macro-F1 is ${models[task]?.untuned.toFixed(3)}, that of the tuned ones ${models[task]?.tuned.toFixed(3)}`,
    );
  return {
    ...{ run, experiment, tools, tally, training },
    /** Identities of the training threads. */
    trained: new Set(trained),
    /** The models in use per task; null for both until the run is finished. */
    models,
  };
}

export type OpenedSelectorRun = Awaited<ReturnType<typeof openSelectorRun>>;

/** Selections by the models that the run keeps for each task. If those are the untuned ones, the training is untuned afterwards. */
export async function selectWithKept(
  { training, models, tools, tally }: OpenedSelectorRun,
  options: { claims: readonly SelectorClaim[]; context: WorkContext },
): Promise<GreedySelection[]> {
  const { settings, policies } = training;
  const { claims, context } = options;
  const select = () =>
    selectGreedily({
      settings,
      policies,
      claims,
      onProgress: (done, total) => context.onProgress('selecting', done, total),
      signal: context.signal,
    });
  const tuned = await select();
  const untunedTasks = keptUntuned(models);
  if (untunedTasks.length > 0) await untune(training);
  const untuned = untunedTasks.length > 0 ? await select() : tuned;
  for (const line of tally.lines(tools.annotations.path)) context.onNote(line);
  const of = (task: SelectorTask, claim: number) => (untunedTasks.includes(task) ? untuned : tuned)[claim];
  return tuned.map((_, claim) => ({ posts: of('stance', claim).posts, claim: of('veracity', claim).claim }));
}

async function untune({ settings }: SelectorTraining): Promise<void> {
  await settings.stanceModel.tune([]);
  await settings.veracityModel.tune([]);
}

/** The training threads of a run. @throws InputError with the missing or changed ones */
export async function trainingThreads(options: {
  run: RunDirectory;
  experiment: SelectorExperiment;
  context: WorkContext;
}): Promise<readonly Thread[]> {
  const { run, experiment, context } = options;
  const { data } = experiment;
  const noted = readParts(run).train;
  // Known by their hashes, so the files of the tests are not needed.
  const onlyTrain = { ...data, tests: {}, heldOutEvents: [], stancePretraining: null };
  const { train } = await loadSelectorData({ ...experiment, data: onlyTrain }, context.onNote);
  const missing = missingThreads(noted, train);
  if (missing !== null)
    throw new InputError(
      `the data of ${run.path} is no longer what it was trained on (${data.train ?? 'planted threads'}): ${missing.count} threads are missing or changed (${missing.ids}); restore the file, or give other threads`,
    );
  const hashes = new Set(noted.map(({ sha256: hash }) => hash));
  return train.filter((thread) => hashes.has(sha256(thread)));
}

/**
 * Evaluates a run's selector and task models on other data: with the policies, with all posts, and by the untuned
 * models if the run keeps those.
 * @throws InputError if the data has neither label
 */
export async function evaluateSelectorRun(
  settings: EvaluateRunSettings,
): Promise<{ systems: { name: string; decisions: SelectorDecision[] }[]; threads: number; seed: number }> {
  const { run, data, runs, skipInvalid, includeTrained, context } = settings;
  const resources = selectorResources({ runs });
  try {
    const { experiment, tools, tally, trained, training, models } = await openSelectorRun({
      run,
      resources,
      budget: {},
      context,
    });
    const loaded = await loadSelectorThreads(data, {
      data: { ...experiment.data, skipInvalid },
      onNote: context.onNote,
    });
    const threads = withoutTrained(loaded, { trained, includeTrained, name: data, onNote: context.onNote });
    const { settings: taskSettings, policies } = training;
    const tested = async (system: typeof selectorName | typeof allPostsName | 'untuned', name: string) => {
      const decisions = await decideTest({
        test: { name: data, threads },
        settings: taskSettings,
        policies: system === selectorName ? policies : null,
        system,
        part: 'test',
        stage: name,
        context,
      });
      return { name, decisions };
    };
    const systems = [
      await tested(selectorName, 'selector'),
      await tested(allPostsName, 'its task models, reading all posts'),
    ];
    if (keptUntuned(models).length > 0) {
      await untune(training);
      systems.push(await tested('untuned', `task models untuned, kept for ${keptUntuned(models).join(' and ')}`));
    }
    for (const line of tally.lines(tools.annotations.path)) context.onNote(line);
    if (systems[0].decisions.length === 0)
      throw new InputError(
        `none of the ${threads.length} threads of ${data} has a veracity or a reply with a stance; give labelled threads`,
      );
    return { systems, threads: threads.length, seed: taskSettings.seed };
  } finally {
    resources.close();
  }
}

/*
 * `claims.json`: the claims that a selector was trained on, and which of them it knew the veracity of. Whoever uses the run
 * later needs no more of its data. Texts stay in the data.
 */

const claimsFile = runFile(
  'claims.json',
  z.strictObject({
    formatVersion: z.literal(1),
    claims: z.array(z.strictObject({ threadId: z.string(), label: z.int().nonnegative().nullable() })),
  }),
);

export function writeClaims(run: RunDirectory, claims: readonly SelectorClaim[]): void {
  const labels = claims.map(({ threadId, label }) => ({ threadId, label }));
  claimsFile.write(run, { formatVersion: 1, claims: labels });
}

function readClaims(run: RunDirectory): SelectorClaim[] {
  return claimsFile.read(run).claims.map((claim) => ({ ...claim, claim: '', posts: [] }));
}
