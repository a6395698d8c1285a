import { z } from 'zod';
import type { Audit } from '../../checkpoints/policy/audit.ts';
import { postSchema } from '../../src/data/thread.ts';
import { threadDecisionSchema } from '../stop-agent/thread-decision.ts';
import { HttpProblem, unavailable } from './http-problem.ts';

/*
 * What is kept of a thread between two requests: the posts that were read, until there is a decision, and the decision
 * from then on. Where the policy stands in the thread follows from the posts, so that any process with the same bundle
 * can go on with it.
 */

const { id, time, author, parent, text } = postSchema.shape;

export const keptPostSchema = z.object({ id, time, author, parent, text });
export type KeptPost = z.infer<typeof keptPostSchema>;

export function keptPost({ id, time, author, parent, text }: KeptPost): KeptPost {
  return { id, time, author, parent, text };
}

/** Repeats a change that gives null if another server came first. @throws HttpProblem (409) after ten attempts */
export async function repeated<T>(id: string, change: () => Promise<T | null>): Promise<T> {
  for (let attempt = 0; attempt < 10; attempt++) {
    const result = await change();
    if (result !== null) return result;
  }
  throw new HttpProblem(409, `others keep adding to thread ${id}; send the posts of a thread one after another`);
}

export function tooManyThreads(open: number): HttpProblem {
  return unavailable(
    `${open} threads are open, which is as many as may be; delete finished ones, wait until idle ones expire, or start the server with a larger --max-threads`,
  );
}

/** A decided thread, without texts. */
export const outcomeSchema = threadDecisionSchema
  .pick({
    ...{ why: true, hours: true, time: true, outOfDistribution: true },
    ...{ trainedOn: true, queries: true, prediction: true, predictionMissing: true },
  })
  .extend({
    /** SHA-256 of the deciding bundle's manifest, and its threshold. */
    bundle: z.string(),
    threshold: z.number(),
    /** The posts up to the stop and the score at each. */
    posts: z.array(z.object({ id: z.string(), score: z.number() })).min(1),
  });
export type ThreadOutcome = z.infer<typeof outcomeSchema>;

export interface Position {
  /** Distinguishes threads that have the same id one after the other. */
  readonly incarnation: string;
  readonly posts: number;
}

export interface KeptThread {
  readonly incarnation: string;
  /** The posts after the reader's position; all posts if the incarnation differs. */
  readonly posts: readonly KeptPost[];
  readonly ended: boolean;
  readonly outcome: ThreadOutcome | null;
  /** The open audit, which keeps the posts after the decision. */
  readonly audit: Audit | null;
}

/** Stores threads until some time after their last request. A key is a model and a thread's id. */
export interface ThreadStore {
  /** Null for an unknown thread. */
  read(key: string, position: Position | null): Promise<KeptThread | null>;
  /**
   * Adds posts to an undecided or audited thread at exactly this position; null begins a thread.
   * @param addition.audit of a new thread that was drawn
   * @returns the thread's incarnation; null if the position is outdated
   * @throws HttpProblem (503) if the store is full
   */
  append(
    key: string,
    addition: { position: Position | null; posts: readonly KeptPost[]; ended: boolean; audit?: Audit | null },
  ): Promise<string | null>;
  /** Stores the first decision of a thread and drops the texts, unless the thread is audited. An unknown thread stays unknown. */
  settle(key: string, decided: { incarnation: string; outcome: ThreadOutcome }): Promise<void>;
  /** Keys of audited threads without recent requests. They stay until their audit is closed. */
  quietAudits(): Promise<string[]>;
  /** Ends the audit, so that the thread expires like others. */
  closeAudit(key: string): Promise<void>;
  shareAudit(audit: Audit): Promise<void>;
  /** Audits since the last call; the first call also returns earlier ones. */
  sharedAudits(): Promise<Audit[]>;
  /** False for an unknown thread. */
  delete(key: string): Promise<boolean>;
  count(): Promise<number>;
  isReady(): boolean;
  close(): Promise<void>;
}
