import { FineTunedClassifier } from '../../experts/task-models/local/fine-tuned-classifier.ts';
import type { Thread } from '../../src/data/thread.ts';
import { likeliest } from '../../src/likeliest.ts';
import { SparseMatrixBuilder } from '../../src/regression/sparse-matrix.ts';
import { softmaxInPlace } from '../../src/softmax.ts';
import { fitTfIdf } from '../../src/text/tf-idf.ts';
import { jaccardIndex, wordSet } from '../../src/text/word-set.ts';
import type { SelectorClaim } from '../../trainers/selector/setup.ts';
import { replyStances } from './data.ts';
import { type SelectorDecision, type SelectorTask, taskClasses, testItems } from './decisions.ts';
import type { TestSet } from './protocol.ts';

/*
 * What plain text classifiers make of the same claims: the most common class, the class of the most similar text, and a
 * regularised logistic regression. For veracity they know the labels that the selector knows. For stance they read the human
 * labels of training replies, which the selector never sees.
 */

export const textBaselines = ['majority', 'nearest-neighbour', 'tf-idf'] as const;
export type TextBaseline = (typeof textBaselines)[number];

interface Labelled {
  /** The nearest neighbour compares claims by this text, and replies by theirs. */
  readonly text: string;
  /** TF-IDF reads this one: of a claim, with its replies. */
  readonly whole: string;
  readonly label: number;
}
type Classifier = (texts: Omit<Labelled, 'label'>) => Float64Array;

/** A decision for every labelled item of a test; none for a task that has no training labels. */
export async function decideByText(options: {
  system: TextBaseline;
  test: TestSet;
  part: SelectorDecision['part'];
  /** In the order of the claims. */
  train: readonly Thread[];
  claims: readonly SelectorClaim[];
}): Promise<SelectorDecision[]> {
  const { system, test, part, train, claims } = options;
  const fitted = async (task: SelectorTask, examples: readonly Labelled[]) =>
    examples.length === 0 ? null : fits[system](examples, taskClasses[task].length);
  const veracity = await fitted(
    'veracity',
    train.flatMap((thread, index) => {
      const { label } = claims[index];
      return label === null ? [] : [{ ...claimTexts(thread), label }];
    }),
  );
  const stance = await fitted(
    'stance',
    train.flatMap((thread) =>
      replyStances(thread).flatMap((label, place) => (label < 0 ? [] : [{ ...replyTexts(thread, place), label }])),
    ),
  );
  return test.threads.flatMap((thread) =>
    testItems(thread).flatMap(({ place, ...item }): SelectorDecision[] => {
      const distribution = place === null ? veracity?.(claimTexts(thread)) : stance?.(replyTexts(thread, place));
      if (distribution === undefined) return [];
      const predicted = likeliest(distribution);
      const probabilities = [...distribution];
      return [{ system, test: test.name, part, ...item, predicted, probabilities, retained: true }];
    }),
  );
}

function claimTexts({ posts }: Thread) {
  return { text: posts[0].text, whole: posts.map(({ text }) => text).join('\n') };
}

function replyTexts({ posts }: Thread, place: number) {
  const { text } = posts[place + 1];
  return { text, whole: text };
}

const fits: Record<TextBaseline, (examples: readonly Labelled[], classes: number) => Classifier | Promise<Classifier>> =
  {
    majority: fitMajority,
    'nearest-neighbour': fitNearestNeighbour,
    'tf-idf': fitLogisticRegression,
  };

function fitMajority(examples: readonly Labelled[], classes: number): Classifier {
  const shares = new Float64Array(classes);
  for (const { label } of examples) shares[label] += 1 / examples.length;
  return () => shares;
}

/** The class of the text with the largest Jaccard index of words, the first of equal ones; the most common class where none shares a word. */
function fitNearestNeighbour(examples: readonly Labelled[], classes: number): Classifier {
  const majority = fitMajority(examples, classes);
  const known = examples.map(({ text, label }) => ({ words: wordSet(text), label }));
  return (texts) => {
    const words = wordSet(texts.text);
    let nearest = { similarity: 0, label: -1 };
    for (const { words: others, label } of known) {
      const similarity = jaccardIndex(words, others);
      if (similarity > nearest.similarity) nearest = { similarity, label };
    }
    if (nearest.label < 0) return majority(texts);
    return Float64Array.from({ length: classes }, (_, label) => Number(label === nearest.label));
  };
}

/** L2-regularised with C = 1 and balanced class weights, the usual settings of the baseline. */
async function fitLogisticRegression(examples: readonly Labelled[], classes: number): Promise<Classifier> {
  const tfIdf = fitTfIdf(examples.map(({ whole }) => whole));
  const constant = tfIdf.columns;
  const builder = new SparseMatrixBuilder({ columns: constant + 1 });
  for (const { whole } of examples) {
    builder.addRow({ row: tfIdf.rowOf(whole), offset: 0, scale: 1 });
    builder.add(constant, 1);
    builder.endRow();
  }
  const classifier = new FineTunedClassifier({
    prior: new Float64Array((constant + 1) * classes),
    classCount: classes,
    options: {
      l2: 1,
      pretrainL2: 1,
      tuneFrom: 'pretrained',
      classWeights: 'balanced',
      folds: 1,
    },
  });
  await classifier.tune({
    features: builder.build(),
    labels: examples.map(({ label }) => label),
    threadIds: examples.map((_, index) => String(index)),
  });
  const [weights] = classifier.weights;
  return ({ whole }) => {
    const logits = weights.slice(constant * classes);
    const { indices, values } = tfIdf.rowOf(whole);
    for (const [entry, column] of indices.entries())
      for (let label = 0; label < classes; label++) logits[label] += values[entry] * weights[column * classes + label];
    softmaxInPlace(logits);
    return logits;
  };
}
