import { setImmediate as nextTurn } from 'node:timers/promises';
import PQueue from 'p-queue';
import { prefixOf, type Thread } from '../src/data/thread.ts';
import { InputError, ProviderError } from '../src/errors.ts';
import { annotationRequest } from './annotations/annotation-row.ts';
import { type AnnotateProgress, type AnnotationFailure, AnnotationTally } from './asking/annotation-tally.ts';
import { type AskOnceOptions, askOnceIn } from './asking/ask-once.ts';
import { judged } from './asking/checked-judgement.ts';
import type { Detector, Judgement } from './detector.ts';
import type { JudgementSequence } from './judgement-sequence.ts';
import { endsAllCalls, MalformedAnswerError } from './llm/failures.ts';
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

export interface AnnotateOptions extends PrefixOptions, AskOnceOptions {
  detector: Detector;
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
  const { detector, onProgress, signal, waits, concurrency = 1, maxUnreadable = 0.5 } = options;
  if (!(maxUnreadable >= 0 && maxUnreadable <= 1))
    throw new InputError(`annotate: maxUnreadable is ${maxUnreadable}; it must be a share from 0 to 1`);
  if (!Number.isInteger(concurrency) || concurrency < 1)
    throw new InputError(`annotate: concurrency is ${concurrency}; it must be a whole number of at least 1`);
  const prefixes = scheduledPrefixes(options);
  const total = prefixes.reduce((sum, { lengths }) => sum + lengths.length, 0);
  const tally = new AnnotationTally({ total, maxUnreadable, onProgress, waits });
  const queue = judgementQueue(options, { concurrency, tally });
  const sequences: Promise<JudgementSequence | null>[] = [];
  // While every judgement waits, nothing else would report the cause of waiting.
  const showing = setInterval(() => waits?.inWords() && tally.show(), SHOWN_EVERY_MS);
  try {
    for (const each of prefixes) {
      const { thread, lengths } = each;
      const answers: Promise<Judgement | null | undefined>[] = [];
      for (let start = 0; start < lengths.length && !queue.ended.aborted; start += AT_ONCE) {
        for (const length of lengths.slice(start, start + AT_ONCE)) answers.push(queue.judgement(thread, length));
        await queue.vacancy();
      }
      sequences.push(
        Promise.all(answers).then((judgements) => sequenceOf(each, { judgements, labels: detector.labels })),
      );
    }
    const whole = (await Promise.all(sequences)).flatMap((sequence) => sequence ?? []);
    signal?.throwIfAborted();
    if (queue.defects.length > 0) throw queue.defects[0];
    const [stopped = null] = queue.stops;
    return { sequences: new Map(whole.map((each) => [each.threadId, each])), ...tally.result(stopped) };
  } finally {
    clearInterval(showing);
  }
}

/**
 * Runs judgements in parallel and counts their outcomes. The first failure that affects other questions ends the queue:
 * nothing new starts, and judgements in progress are awaited, because they are paid for.
 */
function judgementQueue(
  options: AnnotateOptions,
  { concurrency, tally }: { concurrency: number; tally: AnnotationTally },
) {
  const { detector, signal } = options;
  const failed = new AbortController();
  /** Aborts the judgements in progress, too, when nothing can be stored any more. */
  const lost = new AbortController();
  const ended = AbortSignal.any([failed.signal, ...(signal ? [signal] : [])]);
  const askOnce = askOnceIn({ ...options, signal: ended });
  /** Failures that end all calls, and errors that need the user or are defects. */
  const stops: ProviderError[] = [];
  const defects: unknown[] = [];
  // Everything in progress is paid for, so only a few judgements start before it is known whether answers are readable.
  const most = () => Math.min(concurrency, tally.answersBeforeShare || concurrency);
  /** A task for each judgement in progress. */
  const slots = new PQueue({ concurrency: most() });

  /** Waits for a slot. The returned function leaves it. */
  function slot(): Promise<() => void> {
    return new Promise((begin) => void slots.add(() => new Promise<void>((leave) => begin(leave))));
  }

  /** Returns when another question could start. */
  async function vacancy(): Promise<void> {
    // By the next turn each question has a slot, waits for one, or waits for another process.
    await nextTurn();
    const leave = await slot();
    leave();
  }

  /** Null if the detector failed for this question alone, undefined if it was not queried. */
  async function judgement(thread: Thread, prefixLength: number): Promise<Judgement | null | undefined> {
    const prefix = prefixOf(thread, prefixLength);
    const place = { threadId: thread.id, prefixLength };
    // Only a running query has a slot: not one that waits for another process or another thread's same question.
    const query: { leave?: () => void } = {};
    try {
      const judgement = await askOnce({ ...annotationRequest({ detector, prefix }), ...place }, async () => {
        query.leave = await slot();
        ended.throwIfAborted();
        return judged(detector, prefix, lost.signal);
      });
      if (query.leave === undefined) tally.countCached();
      else tally.countAsked(judgement);
      return judgement;
    } catch (error) {
      // The question was not started, so it remains.
      if (ended.aborted && error === ended.reason) return undefined;
      try {
        countFailure(error, { place, isAnsweredNow: query.leave !== undefined });
        return null;
      } catch (last) {
        if (last instanceof ProviderError && endsAllCalls(last)) stops.push(last);
        else defects.push(last);
        failed.abort(last);
        return undefined;
      }
    } finally {
      // The next question starts only after a failure had the chance to end the queue.
      slots.concurrency = most();
      query.leave?.();
    }
  }

  /** @throws the error, unless it concerns this question alone */
  function countFailure(
    error: unknown,
    { place, isAnsweredNow }: { place: { threadId: string; prefixLength: number }; isAnsweredNow: boolean },
  ): void {
    // The user has to act, for example on a full disk: later answers would be lost.
    if (error instanceof InputError) lost.abort(error);
    lost.signal.throwIfAborted();
    // A service's failure leaves a gap. Any other error needs the user, or is a defect.
    if (!(error instanceof ProviderError) || endsAllCalls(error) || signal?.aborted) throw error;
    const failure = { ...place, message: error.message };
    if (error instanceof MalformedAnswerError) tally.countUnreadable(failure, { isAnsweredNow });
    else tally.countFailure(failure);
  }

  return { judgement, vacancy, ended, stops, defects };
}
