import type { z } from 'zod';
import { type HeldOutScores, heldOutScores } from '../../experts/detectors/local/held-out.ts';
import type { localDetectorOptionsSchema } from '../../experts/detectors/local/train-local-detector.ts';
import { assertEveryLabel, fewestInFolds } from '../../experts/detectors/local/training-labels.ts';
import { curveFolds, type LabelFold, labelFolds } from '../../src/data/label-folds.ts';
import type { Task } from '../../src/data/task.ts';
import { isFairTest, prefixOf, type Thread } from '../../src/data/thread.ts';
import { type WorkContext, within, workContext } from '../../src/work-context.ts';
import { trainedDetector } from './cached-detector.ts';
import { drawnThreads } from './drawn-threads.ts';

/** The defaults of experiments for posts per thread and folds. */
const mostPosts = 500;
const defaultFolds = 5;

/**
 * Cross-validates the local detector: a detector of the other folds judges each labelled thread except those that were
 * chosen by margin or chose them. `train` with the same seed and options gives equal folds and scores.
 * @throws InputError for a label with too few threads, or invalid options
 */
export async function crossValidate(options: {
  threads: readonly Thread[];
  task: Task;
  /** Number of labelled threads to draw, stratified by label. */
  limit?: number;
  seed: number;
  /** False skips the scores with shares of the labels. */
  curve?: boolean;
  folds?: number;
  detector: z.input<typeof localDetectorOptionsSchema>;
  context?: WorkContext;
}) {
  const { task, limit, seed, folds: count = defaultFolds, detector } = options;
  const context = workContext(options.context);
  const goldOf = (thread: Thread) => task.goldLabel(thread);
  const labelled = options.threads.filter((thread) => goldOf(thread) !== null);
  const threads = drawnThreads(labelled, { limit, seed, labelOf: goldOf });
  assertEveryLabel({
    ...{ task, labels: threads.flatMap((thread) => goldOf(thread) ?? []), threads: options.threads.length },
    fewest: fewestInFolds,
  });
  const folds = labelFolds(threads, { folds: count, seed, labelOf: (thread) => goldOf(thread) ?? 0 });
  const judgedBy = async (foldsOfLabels: readonly LabelFold[], stage: string) => {
    const said = { gold: [] as number[], 'all posts': [] as number[], 'claim only': [] as number[] };
    for (const [index, { train, test }] of foldsOfLabels.entries()) {
      const part = within(context, `${stage}fold ${index + 1} of ${foldsOfLabels.length}`);
      const judge = await trainedDetector({ threads: train, task, options: detector, seed, context: part });
      for (const thread of test.filter(isFairTest)) {
        const labelAfter = async (length: number) => {
          const { label } = await judge.judge(prefixOf(thread, length));
          return label === null ? -1 : task.labels.indexOf(label);
        };
        said.gold.push(goldOf(thread) ?? 0);
        said['claim only'].push(await labelAfter(1));
        said['all posts'].push(await labelAfter(Math.min(thread.posts.length, mostPosts)));
      }
    }
    const chosen = threads.filter((thread) => !isFairTest(thread)).length;
    return heldOutScores({ gold: said.gold, said, labels: task.labels, chosen });
  };
  const pointOf = (labels: number, { systems }: HeldOutScores) => {
    const whole = systems.find(({ name }) => name === 'all posts');
    return { labels, wholeMacroF1: whole?.macroF1 ?? 0, earliness: null };
  };
  const heldOut = await judgedBy(folds, '');
  const curve = [];
  const fewer = options.curve === false ? [] : curveFolds(folds, { labelled: threads, seed, task });
  for (const { labels, folds } of fewer) curve.push(pointOf(labels, await judgedBy(folds, `${labels} labels: `)));
  return { heldOut, curve: [...curve, pointOf(threads.length, heldOut)] };
}
