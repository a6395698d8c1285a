import { existsSync } from 'node:fs';
import type { Audit, AuditDraw } from '../../checkpoints/policy/audit.ts';
import type { Guarantee } from '../../checkpoints/policy/guarantee.ts';
import { auditFile, inOrder, readAudits } from '../stop-agent/audit-file.ts';
import { type Monitored, monitored } from '../stop-agent/monitor.ts';
import type { ServedBundle } from './models.ts';
import type { ThreadStore } from './thread-store.ts';

export interface AuditSettings extends AuditDraw {
  readonly file: string;
  readonly mostQueries: number;
}

/** Probability of ever raising an alarm while the guarantee holds. */
export const alarmLevel = 0.05;

/** The audits of this server in its file, and in memory those of all servers on the same store. */
export function auditLog({ file, ...draw }: AuditSettings) {
  const append = auditFile(file);
  const audits: Audit[] = existsSync(file) ? readAudits([file]) : [];
  return {
    ...draw,
    /** Writes the file first, because the store may lose an audit. */
    async add(audit: Audit, store: ThreadStore): Promise<void> {
      append(audit);
      const { outcome } = audit;
      await store.shareAudit({ ...audit, outcome: outcome === null ? null : { ...outcome, path: null } });
    },
    /** The state of a bundle's guarantee; null if the bundle has none that audits can check. */
    async about(
      { policy }: ServedBundle,
      { store, quietMs, now }: { store: ThreadStore; quietMs: number; now: Date },
    ): Promise<{ guarantee: Guarantee; monitoring: Monitored } | null> {
      const { task, guarantee = null } = policy.manifest;
      if (guarantee === null || guarantee.loss === 'harm' || guarantee.loss === 'false-alert') return null;
      audits.push(...(await store.sharedAudits()));
      return {
        guarantee,
        monitoring: monitored(inOrder(audits), {
          policy: policy.digest,
          ...{ guarantee, alerts: task.alerts, quietMs, now, alarmLevel },
        }),
      };
    },
  };
}

export type AuditLog = ReturnType<typeof auditLog>;
