import {
  closeSync,
  existsSync,
  fdatasyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { type Audit, auditSchema } from '../../checkpoints/policy/audit.ts';
import { InputError, onDisk } from '../../src/errors.ts';
import { jsonOrUndefined } from '../../src/json.ts';

/**
 * Appends audits to a file, a line each. One that has ended is on the disk once it was added.
 * @throws InputError where the disk refuses
 */
export function auditFile(path: string): (audit: Audit) => void {
  const attempt = <Value>(work: () => Value) => onDisk(`write audits to ${path}`, work);
  attempt(() => {
    mkdirSync(dirname(path), { recursive: true });
    if (!existsSync(path)) writeFileSync(path, '');
    // A crash may have cut off the last line, which nobody was told is there.
    truncateSync(path, readFileSync(path).lastIndexOf('\n') + 1);
  });
  return (audit) =>
    attempt(() => {
      const file = openSync(path, 'a');
      try {
        writeSync(file, `${JSON.stringify(audit)}\n`);
        if (audit.outcome !== null) fdatasyncSync(file);
      } finally {
        closeSync(file);
      }
    });
}

/**
 * The audits of some files: each thread once, in the order in which they opened. Of a thread that was open and has ended since, the
 * end.
 * @throws InputError that names a line which is no audit
 */
export function readAudits(paths: readonly string[]): Audit[] {
  return inOrder(paths.flatMap(auditsIn));
}

function auditsIn(path: string): Audit[] {
  const text = onDisk(`read the audits ${path}`, () => readFileSync(path, 'utf8'));
  // What stands after the last line break was cut off.
  return text
    .split('\n')
    .slice(0, -1)
    .flatMap((line, index) => {
      if (line === '') return [];
      const parsed = auditSchema.safeParse(jsonOrUndefined(line));
      if (parsed.success) return [parsed.data];
      throw new InputError(
        `line ${index + 1} of ${path} is no audit; give files that \`decide\` or \`serve\` wrote with --audit`,
      );
    });
}

/** Each thread once, in the order in which they opened. */
export function inOrder(audits: readonly Audit[]): Audit[] {
  const newest = new Map<string, Audit>();
  for (const audit of audits) {
    const key = `${audit.policy} ${audit.threadId}`;
    if ((newest.get(key)?.outcome ?? null) === null) newest.set(key, audit);
  }
  return [...newest.values()].sort((a, b) => compare(a.opened, b.opened) || compare(a.threadId, b.threadId));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
