import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** Identifies a process among all machines that share a file. */
export interface ProcessIdentity {
  /** The scope of the process number: host, boot and process namespace. */
  readonly place: string;
  readonly pid: number;
  /** Start time in ticks since the boot, because numbers are reused; null if the system does not report it. */
  readonly started: string | null;
}

export function ownIdentity(): ProcessIdentity {
  const boot = orNull(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim());
  const namespace = orNull(() => readlinkSync('/proc/self/ns/pid'));
  // Two containers may have the same host name and the same process number.
  const place = [hostname(), boot, namespace].filter((part) => part !== null).join(' ');
  return { place, pid: process.pid, started: statOf(process.pid)?.started ?? null };
}

/** Whether a process runs; unknown for a process of another host, or one that is stopped and may continue. */
export function stateOf(other: ProcessIdentity, self: ProcessIdentity): 'running' | 'gone' | 'unknown' {
  if (other.place !== self.place) return 'unknown';
  if (!exists(other.pid)) return 'gone';
  const stat = statOf(other.pid);
  if (stat === null || other.started === null) return 'unknown';
  if (stat.started !== other.started || 'ZX'.includes(stat.state)) return 'gone';
  return 'Tt'.includes(stat.state) ? 'unknown' : 'running';
}

function exists(pid: number): boolean {
  try {
    // Signal 0 only tests. If it may not be sent, the process exists.
    return process.kill(pid, 0);
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH');
  }
}

/** Null without /proc, or if it counts the processes of another namespace. */
function statOf(pid: number): { readonly state: string; readonly started: string } | null {
  if (orNull(() => readlinkSync('/proc/self')) !== String(process.pid)) return null;
  const stat = orNull(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  // The name in brackets may contain anything, including brackets and spaces.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields === undefined ? null : { state: fields[0], started: fields[19] };
}

function orNull<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}
