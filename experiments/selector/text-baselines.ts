import { fitRowClassifier } from '../../experts/selectors/row-classifier.ts';
import { textFeatures } from '../../experts/selectors/text-features.ts';
import type { Thread } from '../../src/data/thread.ts';
import { jaccardIndex, wordSet } from '../../src/text/word-set.ts';
import type { SelectorClaim } from '../../trainers/selector/setup.ts';
import { replyStances } from './data.ts';
import {
  type SelectorDecision,
  type SelectorSystem,
  selectorDecision,
  selectorTasks,
  taskClasses,
  testItems,
} from './decisions.ts';
import type { TestSet } from './protocol.ts';

/*
 * What plain text classifiers make of the same claims: the most common class, the class of the most similar text, and a
 * regularised logistic regression. For veracity they know the labels that the selector knows. For stance they read the human
 * labels of training replies, which the selector never sees.
 */

export const textBaselines = ['majority', 'nearest-neighbour', 'tf-idf'] as const;
export type TextBaseline = (typeof textBaselines)[number];

export function isTextBaseline(system: SelectorSystem): system is TextBaseline {
  return textBaselines.some((name) => name === system);
}

interface Texts {
  /** The text of the claim or the reply, for the nearest neighbour. */
  readonly text: string;
  /** The claim with its replies, or the reply, for TF-IDF. */
  readonly whole: string;
}
type Example = Texts & { readonly label: number };
interface Question {
  readonly examples: readonly Example[];
  readonly classes: number;
  readonly texts: readonly Texts[];
}

/** Decides every labelled item of a test, except for tasks without training labels. */
export async function decideByText(options: {
  system: TextBaseline;
  test: TestSet;
  part: SelectorDecision['part'];
  train: readonly Thread[];
  claims: readonly SelectorClaim[];
}): Promise<SelectorDecision[]> {
  const { system, test, part, train, claims } = options;
  const examplesOf = {
    stance: train.flatMap((thread) =>
      replyStances(thread).flatMap((label, place) => (label < 0 ? [] : [{ ...textsOf(thread, place), label }])),
    ),
    veracity: train.flatMap((thread, index) => {
      const { label } = claims[index];
      return label === null ? [] : [{ ...textsOf(thread, null), label }];
    }),
  };
  const items = test.threads.flatMap((thread) =>
    testItems(thread).map((item) => ({ item, texts: textsOf(thread, item.reply) })),
  );
  const decisions: SelectorDecision[] = [];
  for (const task of selectorTasks) {
    const examples = examplesOf[task];
    if (examples.length === 0) continue;
    const ofTask = items.filter(({ item }) => item.task === task);
    const texts = ofTask.map((tested) => tested.texts);
    const distributions = await classifiers[system]({ examples, classes: taskClasses[task].length, texts });
    const decided = { system, part, test: test.name, isRetained: true };
    for (const [index, { item }] of ofTask.entries())
      decisions.push(selectorDecision(item, { ...decided, distribution: distributions[index] }));
  }
  return decisions;
}

/** @param place index of the reply; null for the claim */
function textsOf({ posts }: Thread, place: number | null): Texts {
  if (place === null) return { text: posts[0].text, whole: posts.map(({ text }) => text).join('\n') };
  const { text } = posts[place + 1];
  return { text, whole: text };
}

function classShares(examples: readonly Example[], classes: number): Float64Array {
  const shares = new Float64Array(classes);
  for (const { label } of examples) shares[label] += 1 / examples.length;
  return shares;
}

const classifiers = {
  majority: ({ examples, classes, texts }: Question) => texts.map(() => classShares(examples, classes)),
  /** The class of the text with the largest Jaccard index of words, the first among equals; else the class shares. */
  'nearest-neighbour'({ examples, classes, texts }: Question) {
    const neighbours = examples.map(({ text, label }) => ({ words: wordSet(text), label }));
    return texts.map(({ text }) => {
      const words = wordSet(text);
      const similarities = neighbours.map((neighbour) => jaccardIndex(words, neighbour.words));
      const nearest = similarities.indexOf(similarities.reduce((most, value) => Math.max(most, value), 0));
      if (!(similarities[nearest] > 0)) return classShares(examples, classes);
      return Float64Array.from({ length: classes }, (_, label) => Number(label === neighbours[nearest].label));
    });
  },
  /** The row classifier of the selectors, on words of the examples. */
  async 'tf-idf'({ examples, classes, texts }: Question) {
    const trainingTexts = examples.map(({ whole }) => whole);
    const classify = await fitRowClassifier({
      features: textFeatures([...trainingTexts, ...texts.map(({ whole }) => whole)], trainingTexts),
      classCount: classes,
      examples: examples.map(({ label }, row) => ({ row, label })),
    });
    return texts.map((_, index) => classify(examples.length + index));
  },
};
