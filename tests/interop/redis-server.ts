import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { temporaryFolder } from '../src/data/fixtures.ts';
import { freePort, installed } from './serving.ts';

export interface RedisServer {
  readonly address: string;
  /** `kill -9`, and waits until it is gone. It had saved nothing. */
  kill(): Promise<void>;
  /** What it answers to a command; empty where it holds nothing. */
  ask(...command: readonly string[]): string;
  /** Starts it again at the same address, empty. */
  start(): Promise<void>;
}

/** Debian's redis-server on a free port, with nothing kept on disk. Root may install it. */
export async function startRedis(): Promise<RedisServer> {
  installed('redis-server', 'redis-server');
  const port = await freePort();
  const folder = temporaryFolder();
  let server: ChildProcess | null = null;
  const ask = (...command: readonly string[]) =>
    spawnSync('redis-cli', ['-p', String(port), ...command], { encoding: 'utf8' }).stdout.trim();
  const start = async () => {
    server = spawn('redis-server', ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', folder], {
      stdio: 'ignore',
    });
    for (let attempt = 0; attempt < 200; attempt++) {
      if (ask('ping') === 'PONG') return;
      await delay(50);
    }
    throw new Error(`redis-server does not answer on port ${port}`);
  };
  await start();
  return {
    address: `redis://127.0.0.1:${port}`,
    start,
    ask,
    async kill() {
      const running = server;
      if (running === null || running.exitCode !== null || running.signalCode !== null) return;
      const gone = new Promise<void>((resolve) => running.once('close', () => resolve()));
      running.kill('SIGKILL');
      await gone;
    },
  };
}
