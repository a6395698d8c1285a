import type { AnswerWords } from '../../detectors/strict-answer.ts';

/** What a language model is asked of one item, and in which words it answers. */
export interface ChatTask<Item> {
  /** For messages: "stance". */
  readonly name: string;
  /** In annotation keys: `jsdrv/stance`. */
  readonly asker: string;
  /** Raised whenever the same question could be answered, or the same answer read, differently. */
  readonly version: string;
  readonly promptVersion: number;
  readonly classes: readonly string[];
  /** What an answer begins with, before a colon and the class: "Stance". */
  readonly field: string;
  /** For each class the words that mean it; the first is what is asked for and shown. */
  readonly words: AnswerWords;
  readonly instruction: string;
  /** What of the options decides how an item is put, as plain JSON. */
  readonly limits: Readonly<Record<string, number>>;
  /** The item as it is asked about, and as it is learned by fine-tuning. */
  question(item: Item): string;
  /** The item as it is shown, solved, before another one. */
  shownQuestion(item: Item): string;
  /** What has but one right answer; two items that share it, from whatever threads, echo one another. */
  subject(item: Item): string;
  /** Texts that the question holds, for people who look at annotations. */
  length(item: Item): number;
}
