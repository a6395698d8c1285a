import type { Thread } from '../../src/data/thread.ts';
import type { Judgement } from '../detector.ts';
import { type JudgementSequence, judgementSequence } from '../judgement-sequence.ts';
import type { Question } from './shared-judgements.ts';

/** A question about a prefix of a thread. */
export interface PrefixQuestion extends Question {
  readonly thread: Thread;
  readonly group: QuestionGroup;
}

/** Threads that are looked up together. Their sequences can be made when the last of their questions is settled. */
export class QuestionGroup {
  readonly questions: readonly PrefixQuestion[];
  readonly keys: readonly string[];
  private readonly byThread: ReadonlyMap<Thread, readonly PrefixQuestion[]>;
  /** By key; null where the detector failed. */
  private readonly answers = new Map<string, Judgement | null>();
  private unsettled: number;

  constructor(options: {
    threads: readonly Thread[];
    questionsAbout: (thread: Thread, group: QuestionGroup) => readonly PrefixQuestion[];
  }) {
    this.byThread = new Map(options.threads.map((thread) => [thread, options.questionsAbout(thread, this)]));
    this.questions = [...this.byThread.values()].flat();
    this.keys = this.questions.map(({ key }) => key);
    this.unsettled = new Set(this.keys).size;
  }

  get isSettled(): boolean {
    return this.unsettled === 0;
  }

  /** What is not settled. Two prefixes may read alike (the same claim posted twice); the first one stands for both. */
  open(): PrefixQuestion[] {
    const open = this.questions.filter(({ key }) => !this.answers.has(key));
    return [...new Map(open.toReversed().map((question) => [question.key, question])).values()].reverse();
  }

  settle(key: string, judgement: Judgement | null): void {
    if (!this.answers.has(key)) this.unsettled--;
    this.answers.set(key, judgement);
  }

  /**
   * One for each thread all of whose questions are settled. Where a prefix was not asked about, the last judgement before
   * it still holds.
   */
  sequences(options: { labels: readonly string[]; postsOf: (thread: Thread) => number }): JudgementSequence[] {
    const { labels, postsOf } = options;
    return [...this.byThread].flatMap(([thread, own]) => {
      if (own.some(({ key }) => !this.answers.has(key))) return [];
      const judgements = new Array<Judgement | null>(postsOf(thread)).fill(null);
      for (const { key, prefixLength } of own) judgements.fill(this.answers.get(key) ?? null, prefixLength - 1);
      return judgementSequence({ threadId: thread.id, labels, judgements });
    });
  }
}
