import type { SelectorName } from '../../experts/selectors/names.ts';
import type { Seed, WeakLabel } from '../../experts/selectors/selector.ts';
import { selectors } from '../../experts/selectors/selectors.ts';
import { takeShare } from '../../experts/selectors/take-share.ts';
import { textFeatures } from '../../experts/selectors/text-features.ts';
import type { TaskPrediction } from '../../experts/task-models/task-model.ts';
import { likeliest } from '../../src/likeliest.ts';
import { Random } from '../../src/tensor/random.ts';
import { pretrainTaskModels } from '../../trainers/selector/jsdrv.ts';
import { type EpochRetention, type Level, type SelectorSettings, stanceItem } from '../../trainers/selector/setup.ts';

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
