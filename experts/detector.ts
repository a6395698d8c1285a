import { sha256 } from '../src/content-hash.ts';
import type { Prefix } from '../src/data/thread.ts';
import type { WorkContext } from '../src/work-context.ts';

/** A detector's judgement of one prefix. */
export interface Judgement {
  /**
   * One of the detector's labels. Null if it abstains and may; otherwise null means that its answer could not be read,
   * which is a failure. Detectors on language models throw a MalformedAnswerError instead.
   */
  readonly label: string | null;
  /** A probability for each label, summing to 1; null if the detector gives none. */
  readonly probabilities: Readonly<Record<string, number>> | null;
  readonly explanation: string;
  /** The statements behind the judgement, in order; empty for detectors without language models. */
  readonly transcript: readonly TranscriptEntry[];
  readonly usage: Usage;
  /** The usage of shared parts, which are annotations and count it, too. */
  readonly partsUsage?: Usage;
  /** The number of unreadable answers, or probabilities, that the judgement did without; absent for none. */
  readonly unreadableParts?: number;
}

/** A step on the way to a judgement: a statement or evidence. */
export interface TranscriptEntry {
  readonly role: string;
  readonly text: string;
  /** The part of the debate, such as `Round 2`. */
  readonly round?: string;
  /** The answer that this step votes for or decides for. */
  readonly vote?: string;
  /** Sources of evidence. */
  readonly sources?: readonly { readonly title: string; readonly url: string; readonly date: string | null }[];
  /** The model that was queried. */
  readonly model?: string;
  /** The usage of the step's answers. */
  readonly usage?: Usage;
}

/** The cost of answers: requests sent, and tokens as the endpoints count them. */
export interface Usage {
  readonly requests: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Money at the time, in the currency of the prices; absent without a known price. */
  readonly cost?: number;
}

/** A detector judges a prefix. It sees nothing of the thread beyond the prefix. */
export interface Detector {
  readonly name: string;
  /** Raised when the request for a prefix could change. */
  readonly version: string;
  /** Everything else that can change a judgement, as plain JSON: model, prompt, hash of the training data, … */
  readonly options: Readonly<Record<string, unknown>>;
  readonly labels: readonly string[];
  /** Whether a judgement without a label is valid because the detector may find the evidence insufficient. */
  readonly mayAbstain?: boolean;
  /** @param context.signal aborts the judgement if the detector waits for a service */
  judge(prefix: Prefix, context?: Pick<WorkContext, 'signal'>): Promise<Judgement>;
  /** The part of a prefix that the detector reads, for annotation keys; the texts of the posts if absent. */
  inputOf?(prefix: Prefix): unknown;
  /** Writes a trained detector to a file; absent for other detectors. */
  save?(path: string): void;
}

/**
 * Identifies a detector by all that can change its judgements: SHA-256 of name, version and options, in hexadecimal.
 */
export function detectorIdentity({ name, version, options }: Pick<Detector, 'name' | 'version' | 'options'>): string {
  return sha256({ name, version, options });
}
