import { InputError, ProviderError } from '../src/errors.ts';
import { type AnnotateProgress, type AnnotationFailure, AnnotationTally } from './asking/annotation-tally.ts';
import { JudgementQueue, type JudgementQueueOptions } from './asking/judgement-queue.ts';
import type { Judgement } from './detector.ts';
import type { JudgementSequence } from './judgement-sequence.ts';
import { endsAllCalls } from './llm/failures.ts';
import { type PrefixOptions, scheduledPrefixes, sequenceOf } from './scheduled-prefixes.ts';

/** Prefixes of a thread that are looked up and leased in one turn; few, so that other processes find work. */
const AT_ONCE = 20;

const SHOWN_EVERY_MS = 1000;

/** The result of judging the prefixes of some threads. */
export interface AnnotateResult extends Omit<AnnotateProgress, 'done' | 'total' | 'waiting'> {
  /** The sequence of each thread whose prefixes were all queried. */
  readonly sequences: Map<string, JudgementSequence>;
  readonly failures: readonly AnnotationFailure[];
  /** The reason for stopping early: budget, an unusable endpoint or too many unreadable answers; null at the end. */
  readonly stopped: ProviderError | null;
  /** Prefixes that were not queried. */
  readonly remaining: number;
}

export interface AnnotateOptions
  extends PrefixOptions,
    Pick<JudgementQueueOptions, 'detector' | 'store' | 'calls' | 'retryUnreadable' | 'waits'> {
  /** The largest share of unreadable answers in this run, checked from 20 answers on. */
  maxUnreadable?: number;
  /** Judgements in progress at the same time. */
  concurrency?: number;
  onProgress?: ((progress: AnnotateProgress) => void) | undefined;
  /** Aborting starts no more queries; judgements in progress are stored, then `annotate` throws the signal's reason. */
  signal?: AbortSignal;
}

/**
 * Judges the prefixes of every thread and stores the judgements. Only prefixes without a stored judgement cost a query.
 * @throws InputError if two threads share an id or an option is out of range
 */
export async function annotate(options: AnnotateOptions): Promise<AnnotateResult> {
  const { detector, onProgress, waits, concurrency = 1, maxUnreadable = 0.5 } = options;
  if (!(maxUnreadable >= 0 && maxUnreadable <= 1))
    throw new InputError(`annotate: maxUnreadable is ${maxUnreadable}; it must be a share from 0 to 1`);
  if (!Number.isInteger(concurrency) || concurrency < 1)
    throw new InputError(`annotate: concurrency is ${concurrency}; it must be a whole number of at least 1`);
  const prefixes = scheduledPrefixes(options);
  const total = prefixes.reduce((sum, { lengths }) => sum + lengths.length, 0);
  const tally = new AnnotationTally({ total, maxUnreadable, onProgress, waits });
  const queue = new JudgementQueue({ ...options, concurrency, tally });
  const sequences: Promise<JudgementSequence | null>[] = [];
  let stopped: ProviderError | null = null;
  // While every judgement waits, nothing else would report the cause of waiting.
  const showing = setInterval(() => waits?.inWords() && tally.show(), SHOWN_EVERY_MS);
  try {
    for (const each of prefixes) {
      const { thread, lengths } = each;
      const answers: Promise<Judgement | null | undefined>[] = [];
      for (let start = 0; start < lengths.length && !queue.isEnding; start += AT_ONCE) {
        for (const length of lengths.slice(start, start + AT_ONCE)) answers.push(queue.judgement(thread, length));
        await queue.vacancy();
      }
      sequences.push(
        Promise.all(answers).then((judgements) => sequenceOf(each, { judgements, labels: detector.labels })),
      );
    }
    await Promise.all(sequences);
    queue.throwIfEnded();
  } catch (error) {
    if (!(error instanceof ProviderError && endsAllCalls(error))) throw error;
    stopped = error;
  } finally {
    clearInterval(showing);
  }
  const whole = (await Promise.all(sequences)).flatMap((sequence) => sequence ?? []);
  return { sequences: new Map(whole.map((each) => [each.threadId, each])), ...tally.result(stopped) };
}
