import { z } from 'zod';
import type { Audit } from '../../checkpoints/policy/audit-schema.ts';
import { postSchema } from '../../src/data/thread.ts';
import { threadDecisionSchema } from '../stop-agent/thread-decision.ts';
import { type HttpProblem, unavailable } from './http-problem.ts';

/*
 * What is kept of a thread between two requests: the posts that were read, until there is a decision, and the decision
 * from then on. Where the policy stands in the thread follows from the posts, so that any process with the same bundle
 * can go on with it.
 */

const { id, time, author, parent, text } = postSchema.shape;

/** A post as it is kept. */
export const keptPostSchema = z.object({ id, time, author, parent, text });
export type KeptPost = z.infer<typeof keptPostSchema>;

export function keptPost({ id, time, author, parent, text }: KeptPost): KeptPost {
  return { id, time, author, parent, text };
}

/** For a store that is full. */
export function tooManyThreads(open: number): HttpProblem {
  return unavailable(
    `${open} threads are open, which is as many as may be; delete finished ones, wait until idle ones expire, or start the server with a larger --max-threads`,
  );
}

/** A thread that is decided. Its texts are not kept any longer. */
export const outcomeSchema = threadDecisionSchema
  .pick({
    ...{ why: true, hours: true, time: true, outOfDistribution: true },
    ...{ trainedOn: true, queries: true, prediction: true, predictionMissing: true },
  })
  .extend({
    /** SHA-256 of the manifest of the bundle that decided, and its threshold. */
    bundle: z.string(),
    threshold: z.number(),
    /** The posts up to the stop and the score at each. */
    posts: z.array(z.object({ id: z.string(), score: z.number() })).min(1),
  });
export type ThreadOutcome = z.infer<typeof outcomeSchema>;

/** How far a reader of a thread has come. */
export interface Position {
  /** Names this thread among those that had or will have its id: deleted and begun again, it is another one. */
  readonly incarnation: string;
  /** Posts read. */
  readonly posts: number;
}

export interface KeptThread {
  readonly incarnation: string;
  /** The posts after the reader's position; all of them where the position was in another thread of the same id. */
  readonly posts: readonly KeptPost[];
  /** Whether the caller said that no post will follow. */
  readonly ended: boolean;
  readonly outcome: ThreadOutcome | null;
  /** Of a thread whose audit is open: it is kept with its posts after the decision, too. */
  readonly audit: Audit | null;
}

/** Keeps threads for a while after they were last asked about. A key is a model and the id of a thread. */
export interface ThreadStore {
  /** Null where there is no such thread. */
  read(key: string, position: Position | null): Promise<KeptThread | null>;
  /**
   * Adds posts to an undecided or audited thread that stands exactly at the position; null begins a thread.
   * @param addition.audit of a thread that begins and was drawn
   * @returns the thread's incarnation; null where the thread has moved on, so that it has to be read again
   * @throws HttpProblem (503) where as many threads are kept as may be
   */
  append(
    key: string,
    addition: { position: Position | null; posts: readonly KeptPost[]; ended: boolean; audit?: Audit | null },
  ): Promise<string | null>;
  /** Keeps the decision and forgets the texts, unless the thread is audited. The first decision stays; nothing happens to a thread that is gone. */
  settle(key: string, decided: { incarnation: string; outcome: ThreadOutcome }): Promise<void>;
  /** Keys of audited threads that nobody has asked about for as long as others are kept. They stay until their audit is closed. */
  quietAudits(): Promise<string[]>;
  /** The audit has ended: the thread is kept as others are. */
  closeAudit(key: string): Promise<void>;
  /** Shows an audit to all servers on this store. */
  shareAudit(audit: Audit): Promise<void>;
  /** Audits that were shared since the last call; at the first call, those of before. */
  sharedAudits(): Promise<Audit[]>;
  /** Whether there was such a thread. */
  delete(key: string): Promise<boolean>;
  /** How many threads are kept. */
  count(): Promise<number>;
  /** Whether it can be used at the moment. */
  isReady(): boolean;
  close(): Promise<void>;
}
