import type { AnswerWords } from '../../llm/answers/answer-words.ts';

/** A labelling task for a language model: the question about one item and the words of the answer. */
export interface ChatTask<Item> {
  /** The name in messages, such as "stance". */
  readonly name: string;
  /** The name in annotation keys, such as `jsdrv/stance`. */
  readonly asker: string;
  /** Raised when the same question could be worded differently. */
  readonly version: string;
  readonly promptVersion: number;
  readonly classes: readonly string[];
  /** The answer words of each class. The first one is requested and shown. */
  readonly words: AnswerWords;
  /** The instruction, which ends with the form of an answer. */
  readonly instruction: string;
  /** The options that decide how an item is presented, as plain JSON. */
  readonly limits: Readonly<Record<string, number>>;
  /** The item as a question. */
  question(item: Item): string;
  /** The item as a solved example before another question. */
  shownQuestion(item: Item): string;
  /**
   * The part of the item that determines the right answer. Items with the same subject reveal each other's answers,
   * even in different threads.
   */
  subject(item: Item): string;
  /** The number of texts in the question, shown with annotations. */
  length(item: Item): number;
}
