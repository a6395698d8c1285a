import {
  appendFileSync,
  closeSync,
  createReadStream,
  existsSync,
  fdatasyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { type Audit, auditSchema } from '../../checkpoints/policy/audit.ts';
import { decodedText } from '../../src/data/text-encoding.ts';
import { bytesIn } from '../../src/data/text-lines.ts';
import { InputError, onDisk } from '../../src/errors.ts';
import { jsonOrUndefined } from '../../src/json.ts';

/** How each line of audits begins. */
const beginning = '{"threadId":';

/**
 * Appends audits to a file, a line each. One that has ended is on the disk once it was added.
 * @throws InputError where the disk refuses, or the file holds something else
 */
export function auditFile(path: string): (audit: Audit) => void {
  const attempt = <Value>(work: () => Value) => onDisk(`write audits to ${path}`, work);
  attempt(() => {
    mkdirSync(dirname(path), { recursive: true });
    if (!existsSync(path)) writeFileSync(path, '');
    const bytes = readFileSync(path);
    const end = bytes.lastIndexOf('\n') + 1;
    const [first] = bytes.subarray(0, end).toString().split('\n', 1);
    const last = bytes.subarray(end).toString();
    if (end > 0 ? auditIn(first) === null : !beginning.startsWith(last.slice(0, beginning.length)))
      throw new InputError(
        `${path} holds no audits, and new ones would be appended to it; name another file in --audits`,
      );
    // A crash may have cut off the last line, which nobody was told is there.
    if (auditIn(last) === null) truncateSync(path, end);
    else appendFileSync(path, '\n');
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
export async function readAudits(paths: readonly string[]): Promise<Audit[]> {
  const audits: Audit[] = [];
  for (const path of paths) audits.push(...(await auditsIn(path)));
  return inOrder(audits);
}

async function auditsIn(path: string): Promise<Audit[]> {
  const bytes = await buffer(auditBytes(path));
  // Not strict, for a crash may have cut off the last line within a character.
  const lines = decodedText(bytes).split('\n');
  return lines.flatMap((line, index) => {
    const audit = auditIn(line);
    if (audit !== null) return [audit];
    // What stands after the last line break was cut off.
    if (line === '' || index === lines.length - 1) return [];
    throw new InputError(
      `line ${index + 1} of ${path} is no audit; give files that \`decide\` or \`serve\` wrote with --audit`,
    );
  });
}

function auditIn(line: string): Audit | null {
  return auditSchema.safeParse(jsonOrUndefined(line)).data ?? null;
}

/** The bytes of a file, unpacked. Unlike a file of threads, it may be empty, or a pipe, which has no size. */
function auditBytes(path: string): AsyncIterable<Uint8Array> {
  const isSized = onDisk(`read the audits ${path}`, () => statSync(path)).size > 0;
  return isSized ? bytesIn(path) : createReadStream(path);
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
