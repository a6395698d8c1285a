import { veracityTask } from '../../src/data/task.ts';
import type { Thread } from '../../src/data/thread.ts';
import { trainSelector } from '../../trainers/selector/jsdrv.ts';
import { createSelectorTraining, type HiddenLabels, type SelectorTraining } from '../../trainers/selector/setup.ts';
import { replyStances } from './data.ts';
import type { besideSystems } from './experiment.ts';
import { freshSettings, type SelectorTrial } from './settings.ts';
import { superviseTaskModels } from './supervised.ts';

export type Besides = (typeof besideSystems)[number];

/** The task models of a system, trained on the same claims with the same seed, for as many epochs as the selector where it has epochs. */
export async function trainedBeside(
  trial: SelectorTrial,
  { name, selector }: { name: Besides; selector: SelectorTraining },
): Promise<SelectorTraining> {
  const settings = await freshSettings({ ...trial, context: trial.hooks });
  const { config } = settings;
  const everything = {
    ...config,
    retain: { claims: 'all', posts: 'all' },
    stopAfterFullRewards: null,
    // Nothing learns from rewards here, so take those that ask the task models the fewest questions.
    postReward: 'claim',
    references: 'shown-posts',
  } as const;
  const training = createSelectorTraining({
    ...settings,
    ...(name === 'random' && { randomOfSize: selector.retainedCounts }),
    ...(name === 'oracle' && { oracle: hiddenLabels(trial.shared.data.train) }),
    // Pretrained only: an empty list of sizes stops the training before its first epoch.
    ...(name === 'untuned' && { randomOfSize: [] }),
    config: { ...everything, epochs: Math.max(1, selector.epoch) },
  });
  const { hooks } = trial;
  if (name === 'supervised') {
    await superviseTaskModels({ settings, threads: trial.shared.data.train, heldOut: trial.heldOut });
    return training;
  }
  await trainSelector(training, {
    onProgress: (stage, done, total) => hooks.onProgress(`${name}: ${stage}`, done, total),
    signal: hooks.signal,
  });
  return training;
}

function hiddenLabels(threads: readonly Thread[]): HiddenLabels {
  const stances = threads.map(replyStances);
  return {
    stanceOf: (claim, post) => stances[claim][post],
    veracityOf: (claim) => veracityTask.goldLabel(threads[claim]) ?? -1,
  };
}
