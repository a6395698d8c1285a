import type { Prefix } from '../src/data/thread.ts';

/** What a detector said of one prefix. */
export interface Judgement {
  /** One of the detector's labels, or null when its answer could not be parsed as any. */
  readonly label: string | null;
  /** A probability for each label, summing to 1; null when the detector gives none. */
  readonly probabilities: Readonly<Record<string, number>> | null;
  readonly explanation: string;
  /** Who said what, in order; empty for detectors that do not talk. */
  readonly transcript: readonly { readonly role: string; readonly text: string }[];
  readonly usage: Usage;
  /** What the parts took that it shares with other judgements and that annotations of their own count. */
  readonly partsUsage?: Usage | undefined;
}

export interface Usage {
  readonly requests: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** Anything that judges a prefix. It sees nothing of a thread but the prefix. */
export interface Detector {
  readonly name: string;
  /** Raised whenever the same prefix could be judged differently. */
  readonly version: string;
  /** Everything else that can change a judgement, as plain JSON (model, prompt, training data hash, …). */
  readonly options: Readonly<Record<string, unknown>>;
  readonly labels: readonly string[];
  judge(prefix: Prefix): Promise<Judgement>;
  /** Writes the detector to a file, where all of it can be kept in one: a trained classifier, not a language model. */
  save?(path: string): void;
}
