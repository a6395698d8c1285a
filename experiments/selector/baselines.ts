import { veracityTask } from '../../src/data/task.ts';
import type { Thread } from '../../src/data/thread.ts';
import { within } from '../../src/work-context.ts';
import { createSelector, pretrainTaskModels } from '../../trainers/selector/jsdrv.ts';
import {
  type HiddenLabels,
  type SelectorSettings,
  type SelectorTraining,
  wholeVeracityItems,
} from '../../trainers/selector/setup.ts';
import { trainToEnd } from '../../trainers/trainer.ts';
import { replyExamples, replyStances, selectorClaim } from './data.ts';
import type { baselines } from './experiment.ts';
import type { TestSet } from './protocol.ts';
import { freshSettings, type SelectorTrial } from './selector-resources.ts';
import type { TextBaseline } from './text-baselines.ts';

type TrainedBaseline = Exclude<(typeof baselines)[number], TextBaseline>;

/** Trains the task models of a baseline on the selector's claims and seed, for the selector's number of epochs. */
export async function trainBaseline(
  trial: SelectorTrial,
  { name, selector }: { name: TrainedBaseline; selector: SelectorTraining },
): Promise<SelectorTraining> {
  const settings = await freshSettings(trial);
  const { config } = settings;
  const everything = {
    ...config,
    retain: { claims: 'all', posts: 'all' },
    stopAfterFullRewards: null,
    // Nothing learns from rewards here, so take those that ask the task models the fewest questions.
    postReward: 'claim',
    references: 'shown-posts',
  } as const;
  const trainer = createSelector({
    ...settings,
    ...(name === 'random' && { matchedRandomControl: { epochs: selector.retention, alikeIn: 'size' } }),
    ...(name === 'random-by-class' && { matchedRandomControl: { epochs: selector.retention, alikeIn: 'class' } }),
    ...(name === 'right-labels' && { oracleControl: hiddenLabels(trial.shared.data.train) }),
    config: { ...everything, epochs: Math.max(1, selector.epoch) },
  });
  const { context } = trial;
  if (name === 'supervised') {
    // Held-out events have labels of their own in training, and theirs would be those of development events.
    const heldOut = trial.experiment.data.heldOutEvents.length > 0 ? [] : trial.heldOut;
    await superviseTaskModels({ settings, threads: trial.shared.data.train, heldOut });
  } else if (name === 'untuned') {
    await pretrainTaskModels(settings);
  } else {
    await trainToEnd(trainer, within(context, name));
  }
  return trainer.training;
}

function hiddenLabels(threads: readonly Thread[]): HiddenLabels {
  const stances = threads.map(replyStances);
  return {
    stanceOf: (claim, post) => stances[claim][post],
    veracityOf: (claim) => veracityTask.goldLabel(threads[claim]) ?? -1,
  };
}

/**
 * Tunes task models on human labels alone, after the selector's pretraining. This is no upper bound, because the models
 * limit it, too. The veracity model gets the labels of all training claims. The stance model gets those of the training
 * threads and of the held-out test threads (the paper's "Val"), and then labels the posts that the veracity model
 * reads.
 */
async function superviseTaskModels(options: {
  settings: SelectorSettings;
  threads: readonly Thread[];
  heldOut: readonly TestSet[];
}): Promise<void> {
  const { settings, threads, heldOut } = options;
  const { stanceModel, veracityModel, stancePretraining, config } = settings;
  if (config.pretrain.stance && stancePretraining.length > 0) await stanceModel.pretrain(stancePretraining);
  const withStances = new Map(
    [...threads, ...heldOut.flatMap((test) => test.threads)].map((thread) => [thread.id, thread]),
  );
  await stanceModel.tune([...withStances.values()].flatMap(replyExamples));

  const claims = threads.flatMap((thread) => {
    const label = veracityTask.goldLabel(thread);
    return label === null ? [] : [{ ...selectorClaim(thread), label }];
  });
  const items = await wholeVeracityItems(stanceModel, claims);
  await veracityModel.tune(items.map((item, place) => ({ item, label: claims[place].label, explanation: '' })));
}
