import type { AnswerWords } from '../../llm/answers/answer-words.ts';

/**
 * A labelling task as a language model is given it: what is asked about one item, and in which words it is answered.
 */
export interface ChatTask<Item> {
  /** For messages: "stance". */
  readonly name: string;
  /** In annotation keys: `jsdrv/stance`. */
  readonly asker: string;
  /** To be raised whenever the same question could be asked differently; readers of answers have versions of their own. */
  readonly version: string;
  readonly promptVersion: number;
  readonly classes: readonly string[];
  /** The words that stand for each class; the first is the one asked for and shown. */
  readonly words: AnswerWords;
  /** It ends with the form of an answer. */
  readonly instruction: string;
  /** The options that decide how an item is presented, as plain JSON. */
  readonly limits: Readonly<Record<string, number>>;
  /** The item as a question, also for fine-tuning. */
  question(item: Item): string;
  /** The item as a solved example in front of another question. */
  shownQuestion(item: Item): string;
  /**
   * What the right answer depends on. Two items with the same subject, even in different threads, give each other's
   * answer away.
   */
  subject(item: Item): string;
  /** How many texts the question contains, for people who look at annotations. */
  length(item: Item): number;
}
