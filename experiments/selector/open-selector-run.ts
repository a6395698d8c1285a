import { RunDirectory } from '../../checkpoints/run-directory.ts';
import type { BudgetLimits } from '../../experts/llm/cost/budget.ts';
import { InputError } from '../../src/errors.ts';
import type { WorkContext } from '../../src/work-context.ts';
import { loadMember } from '../../trainers/member-checkpoint.ts';
import { createSelector } from '../../trainers/selector/jsdrv.ts';
import type { SelectorTraining } from '../../trainers/selector/setup.ts';
import { runKind } from '../run/experiment-kind.ts';
import { missingThreads, readParts } from '../run/parts-file.ts';
import { selectorDataHash } from './data.ts';
import { type SelectorExperiment, selectorExperimentSchema } from './experiment.ts';
import { freshSettings, type SelectorShared } from './settings.ts';
import type { SelectorWorkshop } from './shared.ts';
import { selectorIdentity } from './train-logged.ts';

export interface OpenedSelectorRun {
  readonly experiment: SelectorExperiment;
  readonly shared: SelectorShared;
  /** Policies and task models as they were after the last epoch that was saved. */
  readonly training: SelectorTraining;
}

/** @throws InputError when the folder is no selector's run, has no checkpoint yet, or its data is no longer the same. */
export async function openSelectorRun(options: {
  run: string;
  workshop: SelectorWorkshop;
  /** Limits on calls to language models, in place of the experiment's. */
  budget: Partial<BudgetLimits>;
  context: WorkContext;
}): Promise<OpenedSelectorRun> {
  const { workshop, context, budget } = options;
  const run = RunDirectory.open(options.run);
  const kind = runKind(run);
  if (kind !== 'selector')
    throw new InputError(
      `${run.path} is a run of kind ${JSON.stringify(kind)}, and one of a selector is needed; give a folder such as runs/selector-quickstart/agent/seed-1`,
    );
  const latest = run.latestCheckpoint();
  if (latest === null)
    throw new InputError(`${run.path} has no checkpoint yet; train it first, or give the folder of another run`);
  const saved = run.readConfig(selectorExperimentSchema);
  const experiment = { ...saved, budget: { ...saved.budget, ...budget } };
  const { seed, hashes } = run.readRecord();
  const shared = await workshop.sharedFor(experiment, context);
  if (selectorDataHash(shared.data) !== hashes.data) {
    const { train, tests } = shared.data;
    const noted = Object.values(readParts(run) ?? {}).flat();
    const missing = missingThreads(noted, [...train, ...tests.flatMap(({ threads }) => threads)]);
    throw new InputError(
      `the data of ${run.path} is no longer what it was trained on (${experiment.data.train ?? 'planted threads'})${
        missing === null ? '' : `: ${missing.count} threads are missing or changed (${missing.ids})`
      }, so its labelled claims are not known; restore the files of data`,
    );
  }
  const trainer = createSelector(await freshSettings({ experiment, seed, shared, context }));
  const { training } = trainer;
  const identity = selectorIdentity(training, shared.embeddings);
  trainer.restore([loadMember(latest.path, { algorithm: trainer.algorithm, identity })]);
  if (!run.isFinished())
    context.onNote(`${run.path} is not finished; its selector after ${training.epoch} epochs is used`);
  return { experiment, shared, training };
}
