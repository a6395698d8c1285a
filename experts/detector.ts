import { z } from 'zod';
import { sha256 } from '../src/content-hash.ts';
import type { Prefix } from '../src/data/thread.ts';
import { recordOf } from '../src/record-of.ts';
import type { WorkContext } from '../src/work-context.ts';

const count = z.int().nonnegative();

export const usageSchema = z.object({
  requests: count,
  inputTokens: count,
  outputTokens: count,
  /** Money at the time, in the currency of the prices; absent without a known price. */
  cost: z.number().nonnegative().optional(),
});
/** The cost of answers: requests sent, and tokens as the endpoints count them. */
export type Usage = Readonly<z.infer<typeof usageSchema>>;

const sourceSchema = z.object({ title: z.string(), url: z.string(), date: z.string().nullable() });
const transcriptEntrySchema = z.object({
  role: z.string(),
  text: z.string(),
  /** The part of the debate, such as `Round 2`. */
  round: z.string().optional(),
  /** The answer that this step votes for or decides for. */
  vote: z.string().optional(),
  /** Sources of evidence. */
  sources: z.array(sourceSchema).readonly().optional(),
  /** The model that was queried. */
  model: z.string().optional(),
  /** The usage of the step's answers. */
  usage: usageSchema.optional(),
});
/** A step on the way to a judgement: a statement or evidence. */
export type TranscriptEntry = Readonly<z.infer<typeof transcriptEntrySchema>>;

export const judgementSchema = z.object({
  /**
   * One of the detector's labels. Null if it abstains and may; otherwise null means that its answer could not be read,
   * which is a failure. Detectors on language models throw a MalformedAnswerError instead.
   */
  label: z.string().nullable(),
  /** A probability for each label, summing to 1; null if the detector gives none. */
  probabilities: recordOf(z.number().min(0).max(1)).nullable(),
  explanation: z.string(),
  /** The statements behind the judgement, in order; empty for detectors without language models. */
  transcript: z.array(transcriptEntrySchema).readonly(),
  usage: usageSchema,
  /** The usage of shared parts, which are annotations and count it, too. */
  partsUsage: usageSchema.optional(),
  /** The number of unreadable answers, or probabilities, that the judgement did without; absent for none. */
  unreadableParts: count.optional(),
});
/** A detector's judgement of one prefix. */
export type Judgement = Readonly<z.infer<typeof judgementSchema>>;

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
