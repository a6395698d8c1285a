import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { holdingRun, removeRun } from '../../checkpoints/run-lock.ts';
import { temporaryFolder } from '../src/data/fixtures.ts';

const lockFile = join(inject('compiledProgram'), 'checkpoints/run-lock.js');

/** Another process that holds a run until it is killed. */
async function holder(run: string) {
  const program = `
    const { holdingRun } = await import(${JSON.stringify(lockFile)});
    await holdingRun(${JSON.stringify(run)}, () => { console.log('held'); return new Promise(() => setInterval(() => {}, 1000)); });`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  return child;
}

describe('the lock of a run', () => {
  it('keeps other processes out until its holder has ended, however that was', async () => {
    const run = join(temporaryFolder(), 'seed-1');
    const other = await holder(run);
    const inVain = holdingRun(run, async () => 'written', { patienceMs: 10 });
    await expect(inVain).rejects.toThrow(/another process is writing .*seed-1; wait for it or stop it/);
    other.kill('SIGKILL');
    await once(other, 'close');
    expect(await holdingRun(run, async () => 'written')).toBe('written');
    await removeRun(run);
    expect(existsSync(run)).toBe(false);
    await removeRun(run);
  });

  it('is left where the work fails', async () => {
    const run = join(temporaryFolder(), 'seed-1');
    const failing = holdingRun(run, async () => {
      throw new Error('diverged');
    });
    await expect(failing).rejects.toThrow('diverged');
    expect(await holdingRun(run, async () => 1, { patienceMs: 0 })).toBe(1);
  });
});
