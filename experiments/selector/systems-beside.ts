import { veracityTask } from '../../src/data/task.ts';
import type { Thread } from '../../src/data/thread.ts';
import { createSelector, pretrainTaskModels } from '../../trainers/selector/jsdrv.ts';
import type { HiddenLabels, SelectorTraining } from '../../trainers/selector/setup.ts';
import { trainToEnd } from '../../trainers/trainer.ts';
import { replyStances } from './data.ts';
import type { besideSystems } from './experiment.ts';
import { freshSettings, type SelectorTrial } from './settings.ts';
import { superviseTaskModels } from './supervised.ts';
import type { TextBaseline } from './text-baselines.ts';

export type Besides = Exclude<(typeof besideSystems)[number], TextBaseline>;

/** The task models of a system, trained on the same claims with the same seed, for as many epochs as the selector where it has epochs. */
export async function trainedBeside(
  trial: SelectorTrial,
  { name, selector }: { name: Besides; selector: SelectorTraining },
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
    await trainToEnd(trainer, {
      ...context,
      onProgress: (stage, done, total) => context.onProgress(`${name}: ${stage}`, done, total),
    });
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
