import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { RunDirectory } from '../../../checkpoints/run-directory.ts';
import { trainInDirectories } from '../../../experiments/run/train-in-directories.ts';
import { InputError } from '../../../src/errors.ts';
import { selectBackend } from '../../../src/tensor/backend.ts';
import { workContext } from '../../../src/work-context.ts';
import { loadMember } from '../../../trainers/member-checkpoint.ts';
import { createStopAgent } from '../../../trainers/stop-agent/create.ts';
import { type Trainer, valuesOf } from '../../../trainers/trainer.ts';
import { temporaryFolder } from '../../src/data/fixtures.ts';
import { type AgentInput, smallMember } from '../../trainers/stop-agent/small-problem.ts';

beforeAll(() => selectBackend('wasm'));

function runIn(folder: string, name: string): RunDirectory {
  const facts = { seed: 1, backend: 'wasm', device: 'processor', hashes: {} };
  return RunDirectory.create(join(folder, name), { config: { name }, facts });
}

interface Settings {
  seeds?: number[];
  more?: AgentInput;
  identity?: string;
  checkpointEvery?: number;
  stopAt?: number;
  notes?: string[];
}

/** Trains members in the runs; stops by signal after an iteration where asked to. */
async function trainIn(runs: RunDirectory[], settings: Settings = {}): Promise<boolean> {
  const { seeds = runs.map((_, index) => index + 1), more = {}, identity = 'states', stopAt, notes = [] } = settings;
  const trainer = await createStopAgent(
    seeds.map((seed) => smallMember({ seed, more: { iterations: 4, behaviorCloning: { epochs: 4 }, ...more } })),
  );
  const controller = new AbortController();
  try {
    return await trainInDirectories(trainer, {
      runs,
      identities: runs.map(() => identity),
      checkpointEvery: settings.checkpointEvery ?? 3,
      context: workContext({
        signal: controller.signal,
        onNote: (line) => notes.push(line),
        onProgress: (_, done) => {
          if (done === stopAt) controller.abort();
        },
      }),
    });
  } finally {
    trainer.dispose();
  }
}

/** The bytes that a run left: its log and its last checkpoint. */
function leftBy(run: RunDirectory): [string, Buffer] {
  return [readFileSync(run.metricsPath, 'utf8'), readFileSync(run.latestCheckpoint()?.path ?? '')];
}

describe.each<[string, AgentInput]>([
  ['imitation', {}],
  ['exact-policy-gradient', { algorithm: 'exact-policy-gradient' }],
  ['behavior-cloning', { algorithm: 'behavior-cloning' }],
])('the loop runs %s', (_, more) => {
  it('to the same bytes whether a signal stopped it or not, alone and as a batch', async () => {
    const folder = temporaryFolder();
    const whole = runIn(folder, 'whole');
    expect(await trainIn([whole], { more })).toBe(true);
    expect(whole.checkpointSteps()).toEqual([3, 4]);
    const [one, other] = [runIn(folder, 'one'), runIn(folder, 'other')];
    expect(await trainIn([one, other], { more, stopAt: 2 })).toBe(false);
    expect(one.checkpointSteps()).toEqual([2]);
    const notes: string[] = [];
    expect(await trainIn([one, other], { more, notes })).toBe(true);
    expect(notes).toEqual([one, other].map(({ path }) => `resuming ${path} at iteration 2 of 4`));
    expect(leftBy(one)).toEqual(leftBy(whole));
    expect(leftBy(other)).not.toEqual(leftBy(whole));
  });
});

describe('resuming', () => {
  it('goes on from the newest checkpoint that all members have', async () => {
    const folder = temporaryFolder();
    const runs = [runIn(folder, 'one'), runIn(folder, 'other')];
    await trainIn(runs, { stopAt: 2, checkpointEvery: 1 });
    rmSync(runs[1].checkpointPath(2));
    const notes: string[] = [];
    await trainIn(runs, { notes });
    expect(notes[0]).toMatch(/at iteration 1 of 4/);
    const whole = runIn(folder, 'whole');
    await trainIn([whole], {});
    expect(leftBy(runs[0])).toEqual(leftBy(whole));
  });

  it('of what is finished trains nothing', async () => {
    const run = runIn(temporaryFolder(), 'run');
    await trainIn([run]);
    const before = leftBy(run);
    expect(await trainIn([run])).toBe(true);
    expect(leftBy(run)).toEqual(before);
  });

  it('is refused with the file, the values and what to do', async () => {
    const run = runIn(temporaryFolder(), 'run');
    await trainIn([run], { stopAt: 2 });
    const { path } = run.latestCheckpoint() ?? { path: '' };
    await expect(trainIn([run], { identity: 'other states' })).rejects.toThrow(
      `${path} was trained on states made by states, and these are made by other states; use the same encoder`,
    );
    await expect(trainIn([run], { more: { algorithm: 'exact-policy-gradient' } })).rejects.toThrow(
      `${path} is of the algorithm imitation, and exact-policy-gradient is trained`,
    );
    await expect(trainIn([run], { more: { hidden: 9 } })).rejects.toThrow(
      `${path}: agent/parameters/w1 is 1 × 8 × 12, and 1 × 8 × 18 is needed`,
    );
    const file = readFileSync(path);
    for (const bytes of [20, 300, file.length - 1]) {
      writeFileSync(path, file.subarray(0, bytes));
      await expect(trainIn([run])).rejects.toThrow(/truncated/);
    }
  });
});

describe('a training that diverges', () => {
  const diverging: Trainer<null> = {
    algorithm: 'diverging',
    iteration: 0,
    iterations: 3,
    iterate: async () => [{ 'ppo/policy_loss': Number.NaN }],
    policies: async () => [null],
    state: async () => [],
    restore() {},
    dispose() {},
  };

  it('stops at the first number that is none, and keeps no checkpoint of it', async () => {
    const run = runIn(temporaryFolder(), 'run');
    const training = trainInDirectories(diverging, {
      runs: [run],
      identities: ['states'],
      checkpointEvery: 1,
      context: workContext(),
    });
    await expect(training).rejects.toThrow(InputError);
    await expect(training).rejects.toThrow(/diverged: ppo\/policy_loss is NaN at iteration 0\. Lower/);
    expect(run.latestCheckpoint()).toBeNull();
  });
});

describe('a checkpoint', () => {
  it('holds one member: its algorithm, what its states are made of, and its values', async () => {
    const run = runIn(temporaryFolder(), 'run');
    await trainIn([run]);
    const { path } = run.latestCheckpoint() ?? { path: '' };
    const state = loadMember(path, { algorithm: null, identity: 'states' });
    expect(valuesOf(state, z.looseObject({ iteration: z.int() })).iteration).toBe(4);
    expect(() => valuesOf(state, z.strictObject({ epoch: z.int() }))).toThrow(/not what this trainer expects \(epoch/);
    expect(Object.keys(state.arrays)).toContain('agent/parameters/w1');
  });
});
