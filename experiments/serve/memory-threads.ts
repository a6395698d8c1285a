import { randomUUID } from 'node:crypto';
import type { Audit } from '../../checkpoints/policy/audit-schema.ts';
import { unavailable } from './http-problem.ts';
import { type KeptPost, type Outcome, type ThreadStore, tooManyThreads } from './thread-store.ts';

interface Entry {
  readonly incarnation: string;
  posts: KeptPost[];
  ended: boolean;
  outcome: Outcome | null;
  audit: Audit | null;
  /** Characters of its posts. */
  size: number;
  expiresAt: number;
}

export interface ThreadLimits {
  /** Threads that may be kept at the same time. */
  readonly maxThreads: number;
  /** A thread is forgotten when it was not asked about for so long. */
  readonly idleMs: number;
}

/**
 * Threads in the memory of this process. When it is full, new threads are refused; those that were begun go on.
 * @param options.maxCharacters characters of the posts of all undecided threads
 * @param options.now milliseconds
 */
export function memoryThreads(options: ThreadLimits & { maxCharacters: number; now?: () => number }): ThreadStore {
  const { maxThreads, idleMs, maxCharacters, now = Date.now } = options;
  // In the order of their last use, so that those that expire stand first.
  const entries = new Map<string, Entry>();
  let characters = 0;
  const shared: Audit[] = [];

  const forget = (key: string, entry: Entry) => {
    characters -= entry.size;
    return entries.delete(key);
  };
  const forgetTexts = (entry: Entry) => {
    characters -= entry.size;
    Object.assign(entry, { posts: [], size: 0 });
  };
  const forgetExpired = () => {
    for (const [key, entry] of entries) {
      if (entry.expiresAt > now()) return;
      if (entry.audit === null) forget(key, entry);
    }
  };
  const used = (key: string): Entry | undefined => {
    forgetExpired();
    const entry = entries.get(key);
    if (entry === undefined) return undefined;
    entry.expiresAt = now() + idleMs;
    entries.delete(key);
    entries.set(key, entry);
    return entry;
  };

  return {
    async read(key, position) {
      const entry = used(key);
      if (entry === undefined) return null;
      const { incarnation, posts, ended, outcome, audit } = entry;
      const known = position?.incarnation === incarnation ? position.posts : 0;
      return { incarnation, posts: posts.slice(known), ended, outcome, audit };
    },
    async append(key, { position, posts, ended, audit = null }) {
      const present = used(key);
      if (present?.incarnation !== position?.incarnation) return null;
      const isClosed = present !== undefined && present.outcome !== null && present.audit === null;
      if (isClosed || (present !== undefined && present.posts.length !== position?.posts)) return null;
      if (present === undefined && entries.size >= maxThreads) throw tooManyThreads(entries.size);
      const added = posts.reduce((sum, { text }) => sum + text.length, 0);
      if (characters + added > maxCharacters)
        throw unavailable(
          `the open threads hold ${characters} characters of text, and ${maxCharacters} are kept at most; delete finished ones, or wait until idle ones expire`,
        );
      const entry: Entry = present ?? {
        incarnation: randomUUID(),
        posts: [],
        ended: false,
        outcome: null,
        audit,
        size: 0,
        expiresAt: now() + idleMs,
      };
      entry.posts.push(...posts);
      entry.ended ||= ended;
      entry.size += added;
      characters += added;
      entries.set(key, entry);
      return entry.incarnation;
    },
    async settle(key, { incarnation, outcome }) {
      const entry = used(key);
      if (entry?.incarnation !== incarnation || entry.outcome !== null) return;
      entry.outcome = outcome;
      if (entry.audit === null) forgetTexts(entry);
    },
    async quietAudits() {
      return [...entries].flatMap(([key, { audit, expiresAt }]) => (audit !== null && expiresAt <= now() ? [key] : []));
    },
    async closeAudit(key) {
      const entry = used(key);
      if (entry === undefined) return;
      entry.audit = null;
      if (entry.outcome !== null) forgetTexts(entry);
    },
    async shareAudit(audit) {
      shared.push(audit);
    },
    sharedAudits: async () => shared.splice(0),
    async delete(key) {
      forgetExpired();
      const entry = entries.get(key);
      return entry === undefined ? false : forget(key, entry);
    },
    async count() {
      forgetExpired();
      return entries.size;
    },
    isReady: () => true,
    async close() {
      entries.clear();
      characters = 0;
    },
  };
}
