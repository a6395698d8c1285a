import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { temporaryFolder } from '../src/data/fixtures.ts';

export interface RedisServer {
  readonly address: string;
  /** `kill -9`, and waits until it is gone. It had saved nothing. */
  kill(): Promise<void>;
  /** Starts it again at the same address, empty. */
  start(): Promise<void>;
}

/** Debian's redis-server on a free port, with nothing kept on disk. Root may install it. */
export async function startRedis(): Promise<RedisServer> {
  if (spawnSync('redis-server', ['--version']).status !== 0) {
    execFileSync('apt-get', ['update'], { stdio: 'ignore' });
    execFileSync('apt-get', ['install', '--yes', 'redis-server'], { stdio: 'ignore' });
  }
  const port = await freePort();
  const folder = temporaryFolder();
  let server: ChildProcess | null = null;
  const start = async () => {
    server = spawn('redis-server', ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', folder], {
      stdio: 'ignore',
    });
    for (let attempt = 0; attempt < 200; attempt++) {
      if (spawnSync('redis-cli', ['-p', String(port), 'ping'], { encoding: 'utf8' }).stdout.trim() === 'PONG') return;
      await delay(50);
    }
    throw new Error(`redis-server does not answer on port ${port}`);
  };
  await start();
  return {
    address: `redis://127.0.0.1:${port}`,
    start,
    async kill() {
      const running = server;
      if (running === null || running.exitCode !== null || running.signalCode !== null) return;
      const gone = new Promise<void>((resolve) => running.once('close', () => resolve()));
      running.kill('SIGKILL');
      await gone;
    },
  };
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() =>
        typeof address === 'object' && address !== null ? resolve(address.port) : reject(new Error('no port')),
      );
    });
  });
}
