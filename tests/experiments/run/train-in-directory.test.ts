import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { RunDirectory } from '../../../checkpoints/run-directory.ts';
import { trainInDirectory } from '../../../experiments/run/train-in-directory.ts';
import { InputError } from '../../../src/errors.ts';
import { selectBackend } from '../../../src/tensor/backend.ts';
import { workContext } from '../../../src/work-context.ts';
import { createStopAgent } from '../../../trainers/stop-agent/create.ts';
import { type Trainer, valuesOf } from '../../../trainers/trainer.ts';
import { loadTrainer } from '../../../trainers/trainer-checkpoint.ts';
import { temporaryFolder } from '../../src/data/fixtures.ts';
import { type AgentInput, smallSettings } from '../../trainers/stop-agent/small-problem.ts';

beforeAll(() => selectBackend('wasm'));

function runIn(folder: string, name: string): RunDirectory {
  const facts = { seed: 1, backend: 'wasm', device: 'processor', hashes: {} };
  return RunDirectory.create(join(folder, name), { config: { name }, facts });
}

interface Settings {
  seed?: number;
  more?: AgentInput;
  identity?: string;
  checkpointEvery?: number;
  stopAt?: number;
  notes?: string[];
}

/** Trains in the run; stops by signal after an iteration where asked to. */
async function trainIn(run: RunDirectory, settings: Settings = {}): Promise<boolean> {
  const { seed = 1, more = {}, identity = 'states', stopAt, notes = [] } = settings;
  const trainer = await createStopAgent(
    smallSettings({ seed, more: { iterations: 4, behaviorCloning: { epochs: 4 }, ...more } }),
  );
  const controller = new AbortController();
  try {
    return await trainInDirectory(trainer, {
      run,
      identity,
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
  it('to the same bytes whether a signal stopped it or not', async () => {
    const folder = temporaryFolder();
    const [whole, stopped, other] = ['whole', 'stopped', 'other'].map((name) => runIn(folder, name));
    expect(await trainIn(whole, { more })).toBe(true);
    expect(whole.checkpointSteps()).toEqual([3, 4]);
    expect(await trainIn(stopped, { more, stopAt: 2 })).toBe(false);
    expect(stopped.checkpointSteps()).toEqual([2]);
    const notes: string[] = [];
    expect(await trainIn(stopped, { more, notes })).toBe(true);
    expect(notes).toEqual([`resuming ${stopped.path} at iteration 2 of 4`]);
    expect(leftBy(stopped)).toEqual(leftBy(whole));
    await trainIn(other, { more, seed: 2 });
    expect(leftBy(other)).not.toEqual(leftBy(whole));
  });
});

describe('resuming', () => {
  it('goes on from the newest checkpoint that is there', async () => {
    const folder = temporaryFolder();
    const run = runIn(folder, 'run');
    await trainIn(run, { stopAt: 2, checkpointEvery: 1 });
    rmSync(run.checkpointPath(2));
    const notes: string[] = [];
    await trainIn(run, { notes });
    expect(notes[0]).toMatch(/at iteration 1 of 4/);
    const whole = runIn(folder, 'whole');
    await trainIn(whole);
    expect(leftBy(run)).toEqual(leftBy(whole));
  });

  it('of what is finished trains nothing', async () => {
    const run = runIn(temporaryFolder(), 'run');
    await trainIn(run);
    const before = leftBy(run);
    expect(await trainIn(run)).toBe(true);
    expect(leftBy(run)).toEqual(before);
  });

  it('is refused with the file, the values and what to do', async () => {
    const run = runIn(temporaryFolder(), 'run');
    await trainIn(run, { stopAt: 2 });
    const { path } = run.latestCheckpoint() ?? { path: '' };
    await expect(trainIn(run, { identity: 'other states' })).rejects.toThrow(
      `${path} was trained on states made by states, and these are made by other states; use the same encoder`,
    );
    await expect(trainIn(run, { more: { algorithm: 'exact-policy-gradient' } })).rejects.toThrow(
      `${path} is of the algorithm imitation, and exact-policy-gradient is trained`,
    );
    await expect(trainIn(run, { more: { hidden: 9 } })).rejects.toThrow(
      `${path}: agent/parameters/w1 is 8 × 12, and 8 × 18 is needed`,
    );
    const file = readFileSync(path);
    for (const bytes of [20, 300, file.length - 1]) {
      writeFileSync(path, file.subarray(0, bytes));
      await expect(trainIn(run)).rejects.toThrow(/cut short or altered; delete it/);
    }
  });
});

describe('a training that diverges', () => {
  const diverging: Trainer<null> = {
    algorithm: 'diverging',
    iteration: 0,
    iterations: 3,
    iterate: async () => ({ 'ppo/policy_loss': Number.NaN }),
    policy: async () => null,
    state: async () => ({ arrays: {}, values: null }),
    restore() {},
    dispose() {},
  };

  it('stops at the first number that is none, and keeps no checkpoint of it', async () => {
    const run = runIn(temporaryFolder(), 'run');
    const training = trainInDirectory(diverging, {
      run,
      identity: 'states',
      checkpointEvery: 1,
      context: workContext(),
    });
    await expect(training).rejects.toThrow(InputError);
    await expect(training).rejects.toThrow(/diverged: ppo\/policy_loss is NaN at iteration 0\. Lower/);
    expect(run.latestCheckpoint()).toBeNull();
  });
});

describe('a checkpoint', () => {
  it('holds the algorithm, what the states are made of, arrays and values', async () => {
    const run = runIn(temporaryFolder(), 'run');
    await trainIn(run);
    const { path } = run.latestCheckpoint() ?? { path: '' };
    const state = loadTrainer(path, { algorithm: null, identity: 'states' });
    expect(valuesOf(state, z.looseObject({ iteration: z.int() })).iteration).toBe(4);
    expect(() => valuesOf(state, z.strictObject({ epoch: z.int() }))).toThrow(/not what this trainer expects \(epoch/);
    expect(Object.keys(state.arrays)).toContain('agent/parameters/w1');
  });
});
