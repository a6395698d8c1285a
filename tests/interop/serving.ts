import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** Programs that the tests of the server run beside it. */
const launcher = join(import.meta.dirname, '../../experiments/cli/earshot.mjs');

export interface Program {
  readonly address: string;
  kill(signal: NodeJS.Signals): Promise<void>;
  /** What it printed so far. */
  output(): string;
}

/** `earshot serve` in a process of its own. */
export async function startEarshot(
  words: readonly string[],
  { port = 0, program: file = launcher }: { port?: number; program?: string } = {},
): Promise<Program> {
  const child = spawn(process.execPath, [file, 'serve', ...words, '--port', String(port)], {
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  const program = followed(child);
  await answers(() => /at http:\/\/\S+;/.test(program.output()), program);
  return { ...program, address: /at (http:\/\/\S+);/.exec(program.output())?.[1] ?? '' };
}

/** @throws Error where a program of Debian is missing and cannot be installed */
export function installed(program: string, debianPackage: string): void {
  if (spawnSync('which', [program]).status === 0) return;
  // A new machine may not know its packages yet.
  spawnSync('apt-get', ['update']);
  const { status } = spawnSync('apt-get', ['install', '--yes', '--no-install-recommends', debianPackage]);
  if (status !== 0)
    throw new Error(`${program} is missing and could not be installed; install Debian's ${debianPackage}`);
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('a port was expected');
  return address.port;
}

function followed(child: ReturnType<typeof spawn>) {
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
  const ended = new Promise<void>((resolve) => child.on('close', () => resolve()));
  return {
    output: () => text,
    isRunning: () => child.exitCode === null && child.signalCode === null,
    async kill(signal: NodeJS.Signals) {
      child.kill(signal);
      await ended;
    },
  };
}

async function answers(condition: () => boolean, program: { output(): string; isRunning(): boolean }): Promise<void> {
  while (!condition()) {
    if (!program.isRunning()) throw new Error(`a program ended before it was ready:\n${program.output()}`);
    await delay(20);
  }
}
