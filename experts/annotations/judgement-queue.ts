import { setImmediate as nextTurn } from 'node:timers/promises';
import { prefixOf } from '../../src/data/thread.ts';
import { InputError, ProviderError } from '../../src/errors.ts';
import type { Detector, Judgement } from '../detector.ts';
import { endsAllCalls, MalformedAnswerError } from '../llm/failures.ts';
import type { Waits } from '../llm/waits.ts';
import type { AnnotationRow } from './annotation-row.ts';
import type { AnnotationTally } from './annotation-tally.ts';
import type { CallJournal } from './call-journal.ts';
import { checkedJudgement } from './checked-judgement.ts';
import { commitQueue } from './commit-queue.ts';
import { FirstAnswers } from './first-answers.ts';
import type { PrefixQuestion } from './question-group.ts';
import { type JudgementStore, lastText, sharedJudgements } from './shared-judgements.ts';
import { Slots } from './slots.ts';

export interface JudgementQueueOptions {
  readonly detector: Detector;
  readonly store: JudgementStore & { putMany(rows: readonly AnnotationRow[]): number };
  /** False where asking costs less than leases. */
  readonly leases?: boolean | undefined;
  /** Keeps the calls of judgements that are not finished, where the detector sends its calls through it. */
  readonly calls?: Pick<CallJournal, 'ofJudgement'> | undefined;
  /** Ask again where an earlier answer could not be read. */
  readonly retryUnreadable?: boolean | undefined;
  /** Judgements under way at the same time. */
  readonly concurrency: number;
  readonly tally: AnnotationTally;
  /** Gets each judgement that comes, null where the detector failed in a way that leaves hope for other questions. */
  readonly onSettled: (question: PrefixQuestion, judgement: Judgement | null) => void;
  /** What the detector's calls wait for; other processes that are waited for come to it. */
  readonly waits?: Waits | undefined;
  /** Aborting begins nothing new. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Gets judgements, so many at a time, and counts what becomes of them. The first failure that leaves no hope ends the
 * queue: nothing new is begun, and what is under way is awaited, since it is paid for. What other processes are asking is
 * waited for beside all that.
 */
export function judgementQueue(options: JudgementQueueOptions) {
  const {
    detector,
    store,
    leases = true,
    calls,
    retryUnreadable,
    concurrency,
    tally,
    onSettled,
    signal,
    waits,
  } = options;
  const settling = new Set<Promise<unknown>>();
  const failures: unknown[] = [];
  /** Aborted by the first failure. */
  const failed = new AbortController();
  /** Aborted by that, or by the user. */
  const ended = signal ? AbortSignal.any([signal, failed.signal]) : failed.signal;
  /** Ends the judgements under way as well, where nothing can be stored any more. */
  const lost = new AbortController();
  const slots = new Slots(concurrency);
  const firstAnswers = new FirstAnswers(leases ? tally.answersForShare : 0);
  ended.addEventListener('abort', () => firstAnswers.open());
  const commits = commitQueue({ store, onFailure: end });
  const judgements = sharedJudgements({
    store,
    keep: (key, row) => {
      commits.add(key, row);
      return row.judgement;
    },
    uncommitted: (key) => commits.find(key),
    calls,
    leases,
    retryUnreadable,
    waits,
    signal: ended,
  });

  /** Takes questions in. Returns when more of them would find something to do. */
  async function add(questions: readonly PrefixQuestion[]): Promise<void> {
    // Leased as they are needed, so that other processes find something to do.
    const atOnce = leases && store.leases ? concurrency : Math.max(1, questions.length);
    for (let first = 0; first < questions.length && !ended.aborted; first += atOnce) {
      for (const question of questions.slice(first, first + atOnce)) {
        // Others begin only after a failure that ends the queue has ended it.
        const one = settle(question).then(
          (isAnswered) => isAnswered !== null && firstAnswers.settle({ isAnswered }),
          fail,
        );
        settling.add(one);
        void one.then(() => settling.delete(one));
      }
      // By then each of them has a slot, waits for one, or waits for another process.
      await nextTurn();
      await slots.vacancy();
    }
  }

  /**
   * Returns when all that was taken in is settled.
   * @throws what ended the queue: the user's signal, an unusable endpoint, a defect
   */
  async function settled(): Promise<void> {
    while (settling.size > 0) await Promise.all(settling);
    signal?.throwIfAborted();
    if (failures.length > 0) throw failures.find((error) => !endsAllCalls(error)) ?? failures[0];
  }

  /** Begins nothing new because of this. */
  function fail(error: unknown): void {
    failures.push(error);
    failed.abort(error);
  }

  /** Stores what is left, and gives up what could not be stored. */
  function close(): void {
    try {
      commits.flush();
    } finally {
      store.leases?.release(commits.keys());
    }
  }

  /** Whether it was answered; null where it was not asked. */
  async function settle(question: PrefixQuestion): Promise<boolean | null> {
    // Only who asks has a slot: not who waits for another process, or for the same question of another thread.
    const slot: { giveBack?: () => void } = {};
    const ask = async () => {
      slot.giveBack = await slots.take();
      ended.throwIfAborted();
      await firstAnswers.begin();
      ended.throwIfAborted();
      return judge(question);
    };
    try {
      const judgement = await judgements.askOnce(question, ask);
      if (slot.giveBack) tally.countAsked(judgement);
      else tally.countCached();
      onSettled(question, judgement);
      await commits.commitWhenDue();
      return slot.giveBack ? true : null;
    } catch (error) {
      // It was not begun, so it remains.
      if (ended.aborted && error === ended.reason) return null;
      countFailure(question, error, { isAsked: slot.giveBack !== undefined });
      onSettled(question, null);
      return slot.giveBack ? error instanceof MalformedAnswerError : null;
    } finally {
      slot.giveBack?.();
    }
  }

  async function judge({ thread, prefixLength }: PrefixQuestion): Promise<Judgement> {
    const prefix = prefixOf(thread, prefixLength);
    const { labels } = detector;
    const told = await detector.judge(prefix, { signal: lost.signal });
    const judgement = checkedJudgement(told, { detector: `the detector ${detector.name}`, labels, prefix });
    if (judgement.label !== null || detector.mayAbstain) return judgement;
    throw new MalformedAnswerError(`the detector read no label in ${quotedStart(lastText(judgement))}`, {
      answers: judgement.transcript.slice(-1).map(({ text }) => ({ text, finishReason: 'unknown' })),
    });
  }

  /** @throws the error where it is not one of this question alone */
  function countFailure(question: PrefixQuestion, error: unknown, { isAsked }: { isAsked: boolean }): void {
    // The user has something to solve, such as a full disk: what is asked from now on would be lost.
    if (error instanceof InputError) end(error);
    lost.signal.throwIfAborted();
    // A service that failed this once leaves a gap. Anything else is for the user to solve, or a defect.
    if (!(error instanceof ProviderError) || endsAllCalls(error) || signal?.aborted) throw error;
    const { threadId, prefixLength } = question;
    const failure = { threadId, prefixLength, message: error.message };
    if (!(error instanceof MalformedAnswerError)) tally.countFailure(failure);
    else if (isAsked) tally.countUnreadableAnswer(failure);
    else tally.countUnreadable(failure);
  }

  function end(error: unknown): void {
    lost.abort(error);
    fail(error);
  }

  return {
    commits,
    isEnding: () => ended.aborted,
    /** What is known of these questions without asking. */
    find: judgements.find,
    add,
    settled,
    fail,
    close,
  };
}

export type JudgementQueue = ReturnType<typeof judgementQueue>;

/** A text as it stands in messages. */
function quotedStart(text: string | undefined): string {
  return text === undefined ? '(nothing)' : JSON.stringify(text.slice(0, 200));
}
