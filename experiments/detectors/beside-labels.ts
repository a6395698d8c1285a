import type { Thread } from '../../src/data/thread.ts';
import { type CalibrationBin, calibration } from '../../src/metrics/calibration.ts';
import { confusionMatrix } from '../../src/metrics/classification.ts';
import type { DetectorDecision } from './decisions.ts';
import { columnsOf, confidentAnswers, type ScoredLabels } from './scores.ts';

/** How judgements stand beside the true labels. */
export interface BesideLabels {
  /** How often each true label was predicted as each label; only labels that occur. */
  readonly confusion: readonly {
    readonly label: string;
    readonly predicted: Readonly<Record<string, number>>;
    /** Abstentions, and judgements that could not be had. */
    readonly unanswered: number;
  }[];
  /** Null where no judgement has probabilities. */
  readonly calibration: { readonly bins: readonly CalibrationBin[]; readonly expectedError: number } | null;
  /** Wrong predictions, the surest first. */
  readonly worst: readonly WrongPrediction[];
}

interface WrongPrediction {
  readonly thread: string;
  readonly label: string;
  readonly predicted: string;
  /** Probability of the prediction; null where there is none. */
  readonly confidence: number | null;
  /** Of the claim. */
  readonly text: string;
  readonly explanation: string;
  /** Of the annotation; null for a detector that costs nothing. */
  readonly key: string | null;
}

const errorsListed = 10;

/** @param options.decisions after one number of replies */
export function besideLabels(
  task: ScoredLabels,
  { decisions, threads }: { decisions: readonly DetectorDecision[]; threads: readonly Thread[] },
): BesideLabels {
  const columns = columnsOf(task, decisions);
  const { labels } = task;
  const { counts } = confusionMatrix({ ...columns, classes: labels.length });
  const at = (gold: number, predicted: number) => counts[gold * (labels.length + 1) + predicted];
  const places = labels.map((_, place) => place);
  const occurs = (place: number) => places.some((other) => at(place, other) + at(other, place) > 0);
  const shown = places.filter((place) => occurs(place) || at(place, labels.length) > 0);
  const texts = new Map(threads.map(({ id, posts }) => [id, posts[0].text]));
  const wrong = decisions.flatMap(({ item, gold, prediction, probabilities, texts: { explanation, key } }) =>
    prediction === null || prediction === gold
      ? []
      : [
          {
            thread: item,
            label: gold,
            predicted: prediction,
            confidence: probabilities?.[prediction] ?? null,
            text: texts.get(item) ?? '',
            explanation,
            key,
          },
        ],
  );
  return {
    confusion: shown.map((gold) => ({
      label: labels[gold],
      predicted: Object.fromEntries(shown.map((predicted) => [labels[predicted], at(gold, predicted)])),
      unanswered: at(gold, labels.length),
    })),
    calibration: calibration(confidentAnswers(columns)),
    worst: wrong.toSorted((a, b) => (b.confidence ?? 0) - (a.confidence ?? 0)).slice(0, errorsListed),
  };
}
