import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { ownIdentity, type ProcessIdentity, stateOf } from '../../../experts/annotations/store-owner.ts';

const own = ownIdentity();
/** Larger than any that a system gives. */
const nobody = 4_194_305;

describe('stateOf', () => {
  it('knows who runs, who is gone, and whose number another one has by now', () => {
    expect(stateOf(own, own)).toBe(own.started === null ? 'unknown' : 'running');
    expect(stateOf({ ...own, pid: nobody }, own)).toBe('gone');
    if (own.started !== null) expect(stateOf({ ...own, started: '1' }, own)).toBe('gone');
  });

  it('knows nothing of processes elsewhere, though one here has the same number', () => {
    for (const pid of [own.pid, nobody])
      expect(stateOf({ ...own, place: `${own.place} elsewhere`, pid }, own)).toBe('unknown');
  });

  it('knows that a killed one is gone, even where it cannot tell when it started', async () => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
    await once(child, 'spawn');
    const identity: ProcessIdentity = { ...own, pid: child.pid ?? nobody, started: null };
    expect(stateOf(identity, own)).toBe('unknown');
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(stateOf(identity, own)).toBe('gone');
  });

  it.skipIf(process.platform !== 'linux')('names the boot and the namespace beside the host', () => {
    expect(own.place).toMatch(/^\S+ [0-9a-f-]{36} pid:\[\d+\]$/);
  });
});
