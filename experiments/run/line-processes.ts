import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { InputError } from '../../src/errors.ts';

/** Processes of this program that answer each line of their standard input with a line. */
export interface LineProcesses {
  /** Sends a line to a process that has few waiting; null where all have enough to do. */
  ask(line: string): Promise<string> | null;
  /** Ends the processes, after what they were asked. */
  close(): void;
}

const launcher = fileURLToPath(new URL('../cli/earshot.mjs', import.meta.url));

/** Lines that a process may have before it: so many that it never waits, and so few that none is far behind the others. */
const linesAhead = 16;

/** Starts `count` processes of `earshot` with these words. One that ends early fails all that it was asked with what it said last. */
export function lineProcesses(words: readonly string[], { count }: { count: number }): LineProcesses {
  const processes = Array.from({ length: count }, () => lineProcess(words));
  return {
    ask(line) {
      const [freest] = [...processes].sort((left, right) => left.waiting() - right.waiting());
      return freest === undefined || freest.waiting() >= linesAhead ? null : freest.ask(line);
    },
    close() {
      for (const each of processes) each.close();
    },
  };
}

function lineProcess(words: readonly string[]) {
  const child: ChildProcess = spawn(process.execPath, [launcher, ...words], { stdio: 'pipe' });
  const waiting: { resolve: (line: string) => void; reject: (error: Error) => void }[] = [];
  let lastWords = '';
  let ended: Error | null = null;
  const end = (error: Error) => {
    ended ??= error;
    for (const { reject } of waiting.splice(0)) reject(ended);
  };
  child.on('error', end);
  child.on('close', (code, signal) =>
    end(
      new InputError(
        signal === null
          ? `one of the processes ended with exit code ${code}: ${lastWords}`
          : `one of the processes was ended by ${signal}; if memory ran out, give fewer --jobs`,
      ),
    ),
  );
  // It has closed its input; why is told by its end.
  child.stdin?.on('error', () => {});
  if (child.stdout !== null)
    createInterface({ input: child.stdout }).on('line', (line) => waiting.shift()?.resolve(line));
  if (child.stderr !== null)
    createInterface({ input: child.stderr }).on('line', (line) => {
      lastWords = line.replace(/^earshot: /, '');
    });
  return {
    waiting: () => waiting.length,
    ask(line: string): Promise<string> {
      if (ended !== null) return Promise.reject(ended);
      child.stdin?.write(`${line}\n`);
      return new Promise((resolve, reject) => waiting.push({ resolve, reject }));
    },
    close: () => void child.stdin?.end(),
  };
}
