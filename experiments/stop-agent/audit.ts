import {
  type Audit,
  type AuditDraw,
  type AuditSources,
  auditedThread,
  isAudited,
  openedAudit,
} from '../../checkpoints/policy/audit.ts';
import type { Policy } from '../../checkpoints/policy/load-policy.ts';
import type { Thread } from '../../src/data/thread.ts';
import { ProviderError } from '../../src/errors.ts';
import type { ThreadDecision } from './decide.ts';

export interface AuditOptions extends AuditDraw {
  /** Queries that audits may take; then no further thread is drawn, so that the draw does not depend on how threads end. */
  readonly mostQueries: number;
  readonly add: (audit: Audit) => void;
}

/** Audits decided threads: those that are drawn are read on to their end. */
export function threadAuditor(
  policy: AuditSources & Pick<Policy, 'digest' | 'isCalibratedOn'>,
  { mostQueries, add, ...draw }: AuditOptions,
) {
  let queries = 0;
  return {
    /** Queries taken so far. */
    queries: () => queries,
    /**
     * Call it before the thread is decided: the drawn ones give a function that takes what was decided. None is drawn that the guarantee
     * was found on.
     */
    async open(thread: Thread): Promise<((decided: ThreadDecision) => Promise<void>) | null> {
      if (queries >= mostQueries || !isAudited(thread.id, draw) || (await policy.isCalibratedOn(thread))) return null;
      const audit = openedAudit(thread.id, policy, { ...draw, opened: new Date() });
      return async ({ postsUsed, prediction, predictionMissing, outOfDistribution }) => {
        const outcome = await ended();
        if ('queries' in outcome) queries += outcome.queries;
        add({
          ...audit,
          isOutOfDistribution: outOfDistribution?.isFlagged ?? null,
          outcome: { closed: new Date().toISOString(), ...outcome },
        });

        async function ended() {
          if (predictionMissing !== null) return { missing: predictionMissing };
          try {
            return await auditedThread(policy, thread, { postsUsed, label: prediction?.label ?? null });
          } catch (error) {
            if (error instanceof ProviderError) return { missing: error.message };
            throw error;
          }
        }
      };
    },
  };
}
