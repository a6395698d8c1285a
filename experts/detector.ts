import { sha256 } from '../src/content-hash.ts';
import type { Prefix } from '../src/data/thread.ts';
import type { WorkContext } from '../src/work-context.ts';

/** What a detector said of one prefix. */
export interface Judgement {
  /**
   * One of the detector's labels. Null where it abstains, if it may; otherwise null means that its answer could not be
   * read, which is a failure. Detectors that ask language models throw a MalformedAnswerError instead.
   */
  readonly label: string | null;
  /** A probability for each label, summing to 1; null when the detector gives none. */
  readonly probabilities: Readonly<Record<string, number>> | null;
  readonly explanation: string;
  /** Who said what, in order; empty for detectors that do not talk. */
  readonly transcript: readonly TranscriptEntry[];
  readonly usage: Usage;
  /** What its shared parts took. They are annotations of their own, which count it, too. */
  readonly partsUsage?: Usage;
  /** Answers, and probabilities of answers, that could not be read and that it did without, such as a vote; absent where there are none. */
  readonly unreadableParts?: number;
}

/** A step on the way to a judgement: what somebody said, or what was found. */
export interface TranscriptEntry {
  readonly role: string;
  readonly text: string;
  /** The part of the debate that it belongs to, such as `Round 2`. */
  readonly round?: string;
  /** The answer that it votes for or decides for. */
  readonly vote?: string;
  /** Where evidence was found. */
  readonly sources?: readonly { readonly title: string; readonly url: string; readonly date: string | null }[];
  /** The model that was queried. */
  readonly model?: string;
  /** What its answers took. */
  readonly usage?: Usage;
}

/** What answers took: requests sent, and tokens as the endpoints count them. */
export interface Usage {
  readonly requests: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Money, in the currency of the prices, when it was spent; absent where a price is not known. */
  readonly cost?: number;
}

/** Anything that judges a prefix. It sees nothing of the thread beyond the prefix. */
export interface Detector {
  readonly name: string;
  /** Raised whenever the same prefix could be asked about differently; readers of answers have versions of their own. */
  readonly version: string;
  /** Everything else that can change a judgement, as plain JSON: model, prompt, hash of the training data, … */
  readonly options: Readonly<Record<string, unknown>>;
  readonly labels: readonly string[];
  /** Whether a judgement without a label is one, too: the detector may find that the evidence does not suffice. */
  readonly mayAbstain?: boolean;
  /** @param context.signal ends the judgement when it is aborted, where the detector waits for anybody */
  judge(prefix: Prefix, context?: Pick<WorkContext, 'signal'>): Promise<Judgement>;
  /** What it reads of a prefix, for annotation keys; absent where that is the texts of the posts and nothing else. */
  inputOf?(prefix: Prefix): unknown;
  /** Present where the detector was trained here: writes all that is needed to load it again. */
  save?(path: string): void;
}

/** Names a detector by all that can change its judgements: SHA-256, in hexadecimal, of name, version and options. */
export function detectorIdentity({ name, version, options }: Pick<Detector, 'name' | 'version' | 'options'>): string {
  return sha256({ name, version, options });
}
