import type { SelectorName } from '../../experts/selectors/names.ts';
import type { Seed, WeakLabel } from '../../experts/selectors/selector.ts';
import { selectors } from '../../experts/selectors/selectors.ts';
import { takeShare } from '../../experts/selectors/take-share.ts';
import { textFeatures } from '../../experts/selectors/text-features.ts';
import type { TaskPrediction } from '../../experts/task-models/task-model.ts';
import { veracityTask } from '../../src/data/task.ts';
import type { Thread } from '../../src/data/thread.ts';
import { likeliest } from '../../src/likeliest.ts';
import { Random } from '../../src/tensor/random.ts';
import { within } from '../../src/work-context.ts';
import { createSelector, pretrainTaskModels } from '../../trainers/selector/jsdrv.ts';
import {
  type EpochRetention,
  type HiddenLabels,
  type Level,
  type SelectorSettings,
  type SelectorTraining,
  stanceItem,
  wholeVeracityItems,
} from '../../trainers/selector/setup.ts';
import { trainToEnd } from '../../trainers/trainer.ts';
import { replyExamples, replyStances, selectorClaim } from './data.ts';
import { type baselines, familyBaselines } from './experiment.ts';
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
  } else if (isFamily(name)) {
    await tuneOnSelection(settings, { name, retention: selector.retention.at(-1) });
  } else if (name === 'untuned') {
    await pretrainTaskModels(settings);
  } else {
    await trainToEnd(trainer, within(context, name));
  }
  return trainer.training;
}

function isFamily(name: TrainedBaseline): name is FamilyBaseline {
  return familyBaselines.some((baseline) => baseline === name);
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

/** Selectors that stand beside JSDRV; random ones there match JSDRV's selection. */
export type FamilyBaseline = Exclude<SelectorName, 'random'>;

/**
 * Tunes pretrained task models once on a selector's choice, with JSDRV's last retained share of every class. Gold
 * stances are those of the pretraining; gold veracities are those of the labelled claims, which are all trained on. A
 * selector that lacks gold labels takes everything.
 */
export async function tuneOnSelection(
  settings: SelectorSettings,
  { name, retention }: { name: FamilyBaseline; retention: EpochRetention | undefined },
): Promise<void> {
  const { claims, stancePretraining, stanceModel, veracityModel, seed } = settings;
  await pretrainTaskModels(settings);
  const take = async (
    level: Level,
    of: { items: readonly Labelled[]; gold: readonly Labelled[]; classCount: number },
  ) => {
    const { items, gold, classCount } = of;
    const rows = [...items, ...gold].map((item, row): WeakLabel & Seed => ({ ...item, row }));
    const seeds = rows.slice(items.length);
    if (items.length === 0 || (selectors[name].needs === 'seeds' && new Set(seeds.map(({ label }) => label)).size < 2))
      return [...items.keys()];
    const scored = await selectors[name].score({
      features: textFeatures([...items, ...gold].map(({ text }) => text)),
      classCount,
      items: rows.slice(0, items.length),
      seeds,
      random: Random.seeded({ seed, purpose: `${name} beside the selector, ${level}` }),
    });
    return takeShare({ items, scores: scored.map(({ score }) => score), share: shareOf(retention?.[level] ?? []) });
  };

  const replies = claims.flatMap((claim, place) => claim.posts.map((text, post) => ({ claim: place, post, text })));
  const said = await stanceModel.predict(replies.map(({ claim, post }) => stanceItem(claims[claim], post)));
  const taken = await take('posts', {
    items: replies.map(({ text }, place) => ({ text, ...machine(said[place]) })),
    gold: stancePretraining.map(({ item, label }) => ({ text: item.post, label, confidence: 1 })),
    classCount: stanceModel.classes.length,
  });
  await stanceModel.tune(
    taken.map((place) => {
      const { claim, post } = replies[place];
      return {
        item: stanceItem(claims[claim], post),
        label: machine(said[place]).label,
        explanation: said[place].explanation,
      };
    }),
  );

  const read = claims.map(() => [] as { text: string; stance: Float64Array }[]);
  for (const place of taken)
    read[replies[place].claim].push({ text: replies[place].text, stance: said[place].distribution });
  const items = claims.map(({ threadId, claim }, place) => ({ threadId, claim, posts: read[place] }));
  const verdicts = await veracityModel.predict(items);
  const texts = claims.map(({ claim, posts }) => [claim, ...posts].join('\n'));
  const unlabelled = [...claims.keys()].filter((place) => claims[place].label === null);
  const labelled = claims.flatMap(({ label }, place) => (label === null ? [] : [{ place, label }]));
  const takenClaims = await take('claims', {
    items: unlabelled.map((place) => ({ text: texts[place], ...machine(verdicts[place]) })),
    gold: labelled.map(({ place, label }) => ({ text: texts[place], label, confidence: 1 })),
    classCount: veracityModel.classes.length,
  });
  await veracityModel.tune([
    ...labelled.map(({ place, label }) => ({ item: items[place], label, explanation: '' })),
    ...takenClaims.map((index) => {
      const place = unlabelled[index];
      const { label } = machine(verdicts[place]);
      return { item: items[place], label, explanation: verdicts[place].explanation };
    }),
  ]);
}

interface Labelled {
  readonly text: string;
  readonly label: number;
  readonly confidence: number;
}

function machine({ distribution }: TaskPrediction): { label: number; confidence: number } {
  const label = likeliest(distribution);
  return { label, confidence: distribution[label] };
}

/** The retained share; 1 if nothing was shown or retained, because a share of 0 would be no selection. */
function shareOf(strata: EpochRetention[Level]): number {
  const shown = strata.reduce((sum, stratum) => sum + stratum.shown, 0);
  const retained = strata.reduce((sum, stratum) => sum + stratum.retained, 0);
  return retained === 0 ? 1 : retained / shown;
}
