import { performance } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { prefixOf } from '../../src/data/thread.ts';
import { InputError, ProviderError } from '../../src/errors.ts';
import type { Detector, Judgement } from '../detector.ts';
import { endsAllCalls, MalformedAnswerError } from '../llm/failures.ts';
import type { AnnotationTally } from './annotation-tally.ts';
import type { CommitQueue } from './commit-queue.ts';
import type { HeldClaims } from './held-claims.ts';
import type { KeptCalls } from './kept-calls.ts';
import { type Known, lastText, type Question, quotedStart } from './question.ts';
import type { UnreadableRow, UnreadableTable } from './unreadable-table.ts';

interface AskingOptions {
  readonly detector: Detector;
  /** Where judgements go. */
  readonly commits: CommitQueue;
  /** Null where no other process could ask the same. */
  readonly claims: HeldClaims | null;
  /** Where answers are kept that could not be read. */
  readonly unreadable: Pick<UnreadableTable, 'put'> | undefined;
  /** Keeps the calls of judgements that are not finished, where the detector sends its calls through it. */
  readonly calls: Pick<KeptCalls, 'ofJudgement'> | undefined;
  readonly tally: AnnotationTally;
  /** Ends the judgements under way when nothing can be stored any more. */
  readonly stopping: AbortController;
  /** The user's. */
  readonly signal: AbortSignal | undefined;
}

/** Asks a detector, stores what it says, and knows what in this run was asked already or is being asked. */
export class Asking {
  private readonly options: AskingOptions;
  private readonly underWay = new Map<string, Promise<Judgement | null>>();
  /** What could not be read in this run, by key. */
  private readonly problems = new Map<string, string>();

  constructor(options: AskingOptions) {
    this.options = options;
  }

  /** What is answered in this run to another thread with the same texts; waited for where it is being asked. */
  async forAnotherThread(key: string): Promise<Known | null> {
    for (;;) {
      const problem = this.problems.get(key);
      if (problem !== undefined) return { problem };
      const asking = this.underWay.get(key);
      if (asking === undefined) return null;
      const judgement = await asking.catch(() => null);
      if (judgement !== null) return { judgement };
      // It failed. Of all who waited for it, one asks again.
      await nextTurn();
    }
  }

  /**
   * @returns null where the detector failed in a way that leaves hope for the other prefixes
   * @throws what ends the run: the user's signal, an unusable endpoint, a defect
   */
  async ask(question: Question): Promise<Judgement | null> {
    const judgement = this.judge(question);
    this.underWay.set(question.key, judgement);
    try {
      return await judgement;
    } finally {
      this.underWay.delete(question.key);
    }
  }

  private async judge(question: Question): Promise<Judgement | null> {
    const { detector, commits, claims, calls, tally, stopping } = this.options;
    const { thread, length, request, key } = question;
    const started = performance.now();
    const judge = () => detector.judge(prefixOf(thread, length), { signal: stopping.signal });
    try {
      const judgement = await (calls ? calls.ofJudgement(key, judge) : judge());
      if (judgement.label === null && !detector.mayAbstain) throw withoutLabel(judgement);
      tally.countAsked(judgement);
      claims?.isAnswered(key);
      commits.add({
        request,
        judgement,
        rawResponse: lastText(judgement) ?? null,
        latencyMs: performance.now() - started,
        threadId: thread.id,
        prefixLength: length,
      });
      return judgement;
    } catch (error) {
      this.noteFailure(question, error);
      return null;
    }
  }

  /** @throws the error where it is not one of this question alone */
  private noteFailure({ thread, length, request, key }: Question, error: unknown): void {
    const { claims, tally, stopping, signal } = this.options;
    // The user has something to solve, such as a full disk: what is asked from now on would be lost.
    if (error instanceof InputError) stopping.abort(error);
    stopping.signal.throwIfAborted();
    // A service that failed this once leaves a gap. Anything else is for the user to solve, or a defect.
    if (!(error instanceof ProviderError) || endsAllCalls(error) || signal?.aborted) throw error;
    const place = { threadId: thread.id, prefixLength: length };
    if (error instanceof MalformedAnswerError) {
      const { message: problem, answers } = error;
      this.keepUnreadable({ key, detector: request.detector, ...place, problem, answers });
      this.problems.set(key, problem);
      tally.countUnreadableAnswer({ ...place, message: problem });
    } else tally.countFailure({ ...place, message: error.message });
    claims?.release(key);
  }

  private keepUnreadable(row: UnreadableRow): void {
    try {
      this.options.unreadable?.put(row);
    } catch (error) {
      this.options.stopping.abort(error);
      throw error;
    }
  }
}

function withoutLabel(judgement: Judgement): MalformedAnswerError {
  return new MalformedAnswerError(`the detector read no label in ${quotedStart(lastText(judgement))}`, {
    answers: judgement.transcript.slice(-1).map(({ text }) => ({ text, finishReason: 'unknown' })),
  });
}
