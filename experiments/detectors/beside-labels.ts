import { entryOf } from '../../src/entry-of.ts';
import { confusionMatrix } from '../../src/metrics/classification.ts';
import type { DetectorDecision } from './decisions.ts';
import { columnsOf, type ScoredLabels } from './scores.ts';

/** How often each true label was predicted as each label; only labels that occur. */
export interface ConfusionRow {
  readonly label: string;
  readonly predicted: Readonly<Record<string, number>>;
  /** Abstentions, and judgements that could not be had. */
  readonly unanswered: number;
}

/** @param decisions after one number of replies */
export function confusionOf(task: ScoredLabels, decisions: readonly DetectorDecision[]): ConfusionRow[] {
  const { labels } = task;
  const { counts } = confusionMatrix({ ...columnsOf(task, decisions), classes: labels.length });
  const at = (gold: number, predicted: number) => counts[gold * (labels.length + 1) + predicted];
  const places = labels.map((_, place) => place);
  const occurs = (place: number) => places.some((other) => at(place, other) + at(other, place) > 0);
  const shown = places.filter((place) => occurs(place) || at(place, labels.length) > 0);
  return shown.map((gold) => ({
    label: labels[gold],
    predicted: Object.fromEntries(shown.map((predicted) => [labels[predicted], at(gold, predicted)])),
    unanswered: at(gold, labels.length),
  }));
}

const errorsListed = 10;

/** Wrong predictions, the surest first. */
export function surestErrors(decisions: readonly DetectorDecision[]) {
  return decisions
    .flatMap(({ item, gold, prediction: predicted, probabilities, texts: { explanation, key } }) => {
      if (predicted === null || predicted === gold) return [];
      const confidence = entryOf(probabilities ?? {}, predicted) ?? null;
      return [{ item, label: gold, predicted, confidence, explanation, key }];
    })
    .sort((a, b) => (b.confidence ?? 0) - (a.confidence ?? 0))
    .slice(0, errorsListed);
}
