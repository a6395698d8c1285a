import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** Names one process among those of all machines that share a file. */
export interface ProcessIdentity {
  /** Where its number means this process: the host, this boot of it, and the namespace of its processes. */
  readonly place: string;
  readonly pid: number;
  /** In ticks since the boot, since numbers are given again; null where the system does not tell. */
  readonly started: string | null;
}

export function ownIdentity(): ProcessIdentity {
  const boot = orNull(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim());
  const namespace = orNull(() => readlinkSync('/proc/self/ns/pid'));
  // Two containers may have one host name, and each of them a process 7.
  const place = [hostname(), boot, namespace].filter((part) => part !== null).join(' ');
  return { place, pid: process.pid, started: statOf(process.pid)?.started ?? null };
}

/**
 * Whether a process runs, as far as one can tell from here: not of a process elsewhere, nor of one that is stopped and may
 * go on some day.
 */
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
    // Signal 0 only asks. Where it may not be sent, there is somebody.
    return process.kill(pid, 0);
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH');
  }
}

/** Null where there is no /proc, or it counts the processes of another namespace. */
function statOf(pid: number): { readonly state: string; readonly started: string } | null {
  if (orNull(() => readlinkSync('/proc/self')) !== String(process.pid)) return null;
  const stat = orNull(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  // The name in brackets may hold anything, brackets and spaces included.
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
