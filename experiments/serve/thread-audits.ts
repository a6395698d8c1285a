import { type Audit, type AuditDraw, auditedThread, isAudited, openedAudit } from '../../checkpoints/policy/audit.ts';
import { ProviderError } from '../../src/errors.ts';
import { auditFile, inOrder, readAudits } from '../stop-agent/audit-file.ts';
import type { ServedBundle } from './models.ts';
import type { NewPost } from './thread-reading.ts';
import { type KeptThread, keptPost, repeated, type ThreadStore } from './thread-store.ts';

export interface AuditSettings extends AuditDraw {
  readonly file: string;
  readonly mostQueries: number;
}

/** Probability of ever raising an alarm while the guarantee holds. */
const alarmLevel = 0.05;

/** A thread of a bundle, with its key in the store. */
export interface Place {
  readonly bundle: ServedBundle;
  readonly id: string;
  readonly key: string;
}

/** Posts of a thread, and whether they are its last. */
export interface Addition {
  readonly posts: readonly NewPost[];
  readonly end: boolean;
}

/**
 * Audits threads: their posts stay after the decision, and the detector is queried at their end. The audits of this
 * server are in its file, and in memory those of all servers on the same store.
 * @param options.quietMs milliseconds until an open thread is left out of the guarantee's check
 */
export async function threadAudits(
  { file, mostQueries, ...draw }: AuditSettings,
  { store, quietMs, now }: { store: ThreadStore; quietMs: number; now: () => Date },
) {
  const append = auditFile(file);
  const audits = await readAudits([file]);
  let queries = 0;

  /** Writes the file first, because the store may lose an audit. */
  async function add(audit: Audit): Promise<void> {
    append(audit);
    const { outcome } = audit;
    await store.shareAudit({ ...audit, outcome: outcome === null ? null : { ...outcome, path: null } });
  }

  /** The open audit of a new thread; null if it is not drawn, or the guarantee was calibrated on it. */
  async function drawn({ policy }: ServedBundle, { id, claim }: { id: string; claim: string }): Promise<Audit | null> {
    if (queries >= mostQueries || !isAudited(id, draw)) return null;
    if (await policy.isCalibratedOn({ id, posts: [claim] })) return null;
    return openedAudit(id, policy, { ...draw, opened: now() });
  }

  /** Stores posts after a decision and closes the audit at the end of an audited thread. */
  async function follow(place: Place, { posts, end }: Addition): Promise<void> {
    if (!isAudited(place.id, draw)) return;
    const { maxPosts } = place.bundle.policy.definition.limits;
    await repeated(place.id, async () => {
      const thread = await store.read(place.key, null);
      if (thread === null || thread.audit === null) return true;
      const whole = await appended(store, place.key, { thread, posts, end });
      if (whole !== null && (whole.ended || whole.posts.length >= maxPosts)) await close(place, whole);
      return whole;
    });
  }

  /** Judges the end. Without an answer of the detector, the audit stays open until the thread counts as quiet. */
  async function close({ bundle, id, key }: Place, { audit, outcome, posts }: KeptThread): Promise<void> {
    if (audit === null || outcome === null) return;
    const { policy } = bundle;
    if (policy.digest !== audit.policy)
      return closeWithout(key, { audit, missing: 'another policy has taken its place' });
    try {
      const stopped = { postsUsed: outcome.posts.length, label: outcome.prediction?.label ?? null };
      const end = await auditedThread(policy, { id, posts }, stopped);
      queries += end.queries;
      const closed = {
        ...audit,
        threshold: outcome.threshold,
        isOutOfDistribution: outcome.outOfDistribution?.isFlagged ?? null,
        outcome: { closed: now().toISOString(), ...end },
      };
      await add(closed);
      await store.closeAudit(key);
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
    }
  }

  async function closeWithout(key: string, { audit, missing }: { audit: Audit; missing: string }): Promise<void> {
    await add({ ...audit, outcome: { closed: now().toISOString(), missing } });
    await store.closeAudit(key);
  }

  return {
    /** The e-value of an alarm. */
    alarmAt: 1 / alarmLevel,
    drawn,
    opened: add,
    follow,
    /** Closes the audit of a thread without an end. */
    async abandon(key: string, missing: string): Promise<void> {
      const audit = (await store.read(key, null))?.audit ?? null;
      if (audit !== null) await closeWithout(key, { audit, missing });
    },
    /** The state of a bundle's guarantee; null if the bundle has none that audits can check. */
    async about({ policy }: ServedBundle) {
      const { monitored, violation, watchedPolicy } = await import('../stop-agent/monitor.ts');
      const watched = watchedPolicy(policy, { quietMs, now: now() });
      if (watched === null) return null;
      audits.push(...(await store.sharedAudits()));
      const { guarantee } = watched;
      const monitoring = monitored(inOrder(audits), { ...watched, alarmLevel });
      return { guarantee, monitoring, isViolated: violation(monitoring, guarantee) !== null };
    },
  };
}

/** A stored thread with further posts; null if another server changed it. */
async function appended(
  store: ThreadStore,
  key: string,
  { thread, posts, end }: Addition & { thread: KeptThread },
): Promise<KeptThread | null> {
  const ids = new Set(thread.posts.map((post) => post.id));
  const fresh = posts.flatMap((post) => (ids.has(post.id) ? [] : [keptPost(post)]));
  const ended = end || thread.ended;
  if (fresh.length > 0 || ended !== thread.ended) {
    const position = { incarnation: thread.incarnation, posts: thread.posts.length };
    if ((await store.append(key, { position, posts: fresh, ended })) === null) return null;
  }
  return { ...thread, posts: [...thread.posts, ...fresh], ended };
}

export type ThreadAudits = Awaited<ReturnType<typeof threadAudits>>;
