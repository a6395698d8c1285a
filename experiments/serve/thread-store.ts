import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Audit } from '../../checkpoints/policy/audit.ts';
import { postSchema } from '../../src/data/thread.ts';
import type { ThreadOutcome } from '../stop-agent/decide.ts';
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

export interface ThreadLimits {
  readonly maxThreads: number;
  /** Milliseconds after the last request until a thread expires. */
  readonly idleMs: number;
}

/** A thread of a store in memory. */
type Entry = { -readonly [Name in keyof KeptThread]: KeptThread[Name] } & { expiresAt: number };

/**
 * Threads in the memory of this process. A full store refuses new threads; open ones continue.
 * @param options.maxCharacters characters of all undecided posts
 * @param options.now milliseconds
 */
export function memoryThreads(options: ThreadLimits & { maxCharacters: number; now?: () => number }): ThreadStore {
  const { maxThreads, idleMs, maxCharacters, now = Date.now } = options;
  /** By last use, so that expired ones stand first. */
  const entries = new Map<string, Entry>();
  const shared: Audit[] = [];
  /** Of all posts. */
  let characters = 0;

  const keepPosts = (entry: Entry, posts: readonly KeptPost[]): void => {
    characters += charactersOf(posts) - charactersOf(entry.posts);
    entry.posts = posts;
  };
  const forget = (key: string): boolean => {
    const entry = entries.get(key);
    if (entry !== undefined) keepPosts(entry, []);
    return entries.delete(key);
  };
  const forgetExpired = (): void => {
    for (const [key, { expiresAt, audit }] of entries) {
      if (expiresAt > now()) return;
      if (audit === null) forget(key);
    }
  };
  /** The entry of a thread, whose expiry starts anew. */
  const used = (key: string): Entry | undefined => {
    forgetExpired();
    const entry = entries.get(key);
    if (entry === undefined) return undefined;
    entry.expiresAt = now() + idleMs;
    entries.delete(key);
    entries.set(key, entry);
    return entry;
  };
  const begun = (key: string, audit: Audit | null): Entry => {
    const expiresAt = now() + idleMs;
    const entry = { incarnation: randomUUID(), posts: [], ended: false, outcome: null, audit, expiresAt };
    entries.set(key, entry);
    return entry;
  };

  return {
    async read(key, position) {
      const entry = used(key);
      if (entry === undefined) return null;
      const { expiresAt: _, ...thread } = entry;
      const readBefore = position?.incarnation === thread.incarnation ? position.posts : 0;
      return { ...thread, posts: thread.posts.slice(readBefore) };
    },
    async append(key, { position, posts, ended, audit = null }) {
      const present = used(key);
      // Of a thread that is decided and not audited, no posts are left: no position of it is up to date.
      if (present?.incarnation !== position?.incarnation || present?.posts.length !== position?.posts) return null;
      if (present === undefined && entries.size >= maxThreads) throw tooManyThreads(entries.size);
      if (characters + charactersOf(posts) > maxCharacters)
        throw unavailable(
          `the open threads hold ${characters} characters of text, and ${maxCharacters} are kept at most; delete finished ones, or wait until idle ones expire`,
        );
      const entry = present ?? begun(key, audit);
      keepPosts(entry, [...entry.posts, ...posts]);
      entry.ended ||= ended;
      return entry.incarnation;
    },
    async settle(key, { incarnation, outcome }) {
      const entry = used(key);
      if (entry?.incarnation !== incarnation || entry.outcome !== null) return;
      entry.outcome = outcome;
      if (entry.audit === null) keepPosts(entry, []);
    },
    async quietAudits() {
      return [...entries].flatMap(([key, { audit, expiresAt }]) => (audit !== null && expiresAt <= now() ? [key] : []));
    },
    async closeAudit(key) {
      const entry = used(key);
      if (entry === undefined) return;
      entry.audit = null;
      if (entry.outcome !== null) keepPosts(entry, []);
    },
    async shareAudit(audit) {
      shared.push(audit);
    },
    sharedAudits: async () => shared.splice(0),
    async delete(key) {
      forgetExpired();
      return forget(key);
    },
    async count() {
      forgetExpired();
      return entries.size;
    },
    isReady: () => true,
    close: async () => entries.clear(),
  };
}

function charactersOf(posts: readonly KeptPost[]): number {
  return posts.reduce((sum, { text }) => sum + text.length, 0);
}
