import type { AnnotateResult } from '../../experts/annotate.ts';
import { AnnotationStore } from '../../experts/annotations/annotation-store.ts';
import { type EndpointUsage, usageSummary } from '../../experts/llm/cost/usage.ts';
import type { Thread } from '../../src/data/thread.ts';
import { entryOf } from '../../src/entry-of.ts';
import { InputError, ProviderError } from '../../src/errors.ts';
import type { Interval } from '../../src/metrics/bootstrap.ts';
import { type CalibrationBin, calibration } from '../../src/metrics/calibration.ts';
import { confusionMatrix } from '../../src/metrics/classification.ts';
import { type WorkContext, workContext } from '../../src/work-context.ts';
import { drawnThreads, fairTests, labelledThreads } from '../judging/drawn-threads.ts';
import { type Judge, openJudge } from '../judging/judge.ts';
import type { JudgeOptions } from '../judging/judge-options.ts';
import { intervalsOf, scoresOf } from '../run/scoring.ts';
import { type DetectorDecision, earlyDetectionReplies, type Replies } from './decisions.ts';
import { judgeItems } from './judge-items.ts';
import {
  byReplies,
  columnsOf,
  confidentAnswers,
  type DetectionScores,
  detectionScores,
  detectorScoring,
  type ScoredLabels,
} from './scores.ts';

/** What a detector scores after a number of replies. */
export interface DetectorScores extends DetectionScores, BesideLabels {
  readonly replies: Replies;
  /** 95%, by a bootstrap over items. */
  readonly macroF1Interval: Interval;
  /** Every metric by its name, with what a judgement took, no matter when it was made; null where it is not known. */
  readonly values: Readonly<Record<string, number | null>>;
}

export interface DetectorEvaluation {
  readonly detector: string;
  readonly task: string;
  readonly at: readonly DetectorScores[];
  readonly decisions: readonly DetectorDecision[];
  readonly asked: number;
  readonly cached: number;
  readonly failed: number;
  /** Those of them that were answered with something that is no judgement. */
  readonly unreadable: number;
  readonly failures: AnnotateResult['failures'];
  /** What was sent now. */
  readonly usage: readonly EndpointUsage[];
}

export interface DetectOptions
  extends Pick<JudgeOptions, 'budget' | 'concurrency' | 'retryUnreadable' | 'maxUnreadable' | 'context'> {
  threads: readonly Thread[];
  /** So many of the labelled threads, drawn with each label in proportion: the first of a file are often of one class. */
  limit?: number;
  /** Draws them. */
  seed?: number;
  /** Detector files and saved detectors. */
  detectors: readonly string[];
  /** Keeps the judgements; without one they are forgotten. */
  store?: string;
  replies?: readonly Replies[];
}

/** Judges labelled threads with each detector at each number of replies and scores the answers, without a run. */
export async function detect(options: DetectOptions): Promise<DetectorEvaluation[]> {
  const { detectors, context = workContext() } = options;
  const judges = await Promise.all(detectors.map(openJudge));
  const [{ task }] = judges;
  const other = judges.findIndex((judge) => judge.task.labels.join('\n') !== task.labels.join('\n'));
  if (other >= 0)
    throw new InputError(
      `${detectors[0]} decides ${task.name} and ${detectors[other]} decides ${judges[other].task.name}; compare detectors of one task`,
    );
  const known = fairTests(labelledThreads(options.threads, { task, context }), context);
  const labelled = drawnThreads(known, { ...options, labelOf: task.goldLabel });
  const store = AnnotationStore.open(options.store ?? ':memory:');
  try {
    const evaluations: DetectorEvaluation[] = [];
    // One at a time, so that each has the endpoints to itself.
    for (const judge of judges)
      evaluations.push(await evaluateDetector(judge, { ...options, threads: labelled, context, store }));
    return evaluations;
  } finally {
    store.close();
  }
}

async function evaluateDetector(
  judge: Judge,
  options: Omit<DetectOptions, 'store'> & { store: AnnotationStore; context: WorkContext },
): Promise<DetectorEvaluation> {
  const { replies = earlyDetectionReplies, store } = options;
  const { name, task } = judge;
  const { decisions, result, usage } = await judgeItems(judge, {
    ...options,
    replies,
    stage: `${name} judges prefixes`,
  });
  const { asked, cached, failed, unreadable, failures, stopped, remaining } = result;
  // Scores of the few prefixes that were judged would say nothing about the detector.
  if (stopped !== null)
    throw new ProviderError(
      `${stopped.message} (${name}: ${remaining} prefixes remain, nothing was scored; ` +
        `${store.path === ':memory:' ? 'without --store no answer is kept' : 'what was answered is kept'})\n${usageSummary(usage)}`,
      { cause: stopped },
    );
  const scoring = detectorScoring(task);
  const at = Array.from(byReplies(decisions), ([seen, own]) => {
    const [{ low, high }] = intervalsOf(scoring, [{ first: own }], { only: ['macroF1'] });
    return {
      replies: seen,
      ...detectionScores(columnsOf(task, own)),
      macroF1Interval: { low, high },
      values: scoresOf(scoring, own),
      ...besideLabels(task, { decisions: own, threads: options.threads }),
    };
  });
  return { detector: name, task: task.name, at, decisions, asked, cached, failed, unreadable, failures, usage };
}

/** How judgements stand beside the true labels. */
interface BesideLabels {
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
function besideLabels(
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
            confidence: entryOf(probabilities ?? {}, prediction) ?? null,
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
