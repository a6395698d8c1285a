import type { ChildProcessByStdio } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';

/** How a process ended, and what it wrote. */
export interface Outcome {
  readonly code: number | null;
  readonly out: string;
  readonly errors: string;
}

/** What a process writes, as text: so far, and all of it once it has ended. */
export function outputOf(child: ChildProcessByStdio<Writable | null, Readable, Readable>) {
  let out = '';
  let errors = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    errors += text;
  });
  const outcome = new Promise<Outcome>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, out, errors }));
  });
  return { outcome, out: () => out, errors: () => errors };
}
