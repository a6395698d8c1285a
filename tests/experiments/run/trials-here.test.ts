import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { Trial } from '../../../experiments/run/trial.ts';
import { type StartTrials, type TrainTrial, trialsHere } from '../../../experiments/run/trials-here.ts';
import { InputError, ProviderError } from '../../../src/errors.ts';
import type { BackendName } from '../../../src/tensor/backend-names.ts';
import { temporaryFolder } from '../../src/data/fixtures.ts';

function trial(config: Trial['config'] = {}): Trial {
  const directory = temporaryFolder();
  return {
    kind: 'selector',
    config,
    seed: 1,
    label: 'x',
    directory,
    runs: '',
    detectorKey: null,
    backend: null,
  };
}

const finish: TrainTrial = async ({ directory }) => writeFileSync(join(directory, 'result.json'), '{}');

/** A runner that trains so, what it noted, and what was started. */
function here(train: TrainTrial, name: BackendName = 'wasm') {
  const controller = new AbortController();
  const notes: string[] = [];
  const starts: unknown[] = [];
  const start: StartTrials = async ({ config }, { onBackend }) => {
    starts.push(config.backend);
    onBackend({ name, device: 'processor', skipped: [] });
    return train;
  };
  const run = trialsHere({ start, signal: controller.signal, onNote: (line) => notes.push(line) });
  return { run, notes, starts, interrupt: () => controller.abort() };
}

it('says how trials ended by what lies in their folders', async () => {
  expect(await here(finish).run(trial())).toEqual({ how: 'finished' });
  const { run, interrupt } = here(async (_, { signal }) => {
    interrupt();
    expect(signal.aborted).toBe(true);
  });
  expect(await run(trial())).toEqual({ how: 'interrupted' });
  // What waited is not begun.
  expect(await run(trial())).toEqual({ how: 'interrupted' });
});

it('never throws: a failure is told as what it is', async () => {
  const failing = (error: unknown) => here(() => Promise.reject(error)).run(trial());
  expect(await failing(new InputError('no such file'))).toEqual({
    how: 'failed',
    severity: 1,
    message: 'no such file',
  });
  expect(await failing(new ProviderError('busy'))).toMatchObject({ severity: 2, message: 'busy' });
  expect(await failing(new TypeError('x'))).toMatchObject({
    severity: 3,
    message: expect.stringMatching(/^TypeError: x\n {4}at /),
  });
  const { run, interrupt } = here((_, { signal }) => {
    interrupt();
    return delay(1000, undefined, { signal });
  });
  expect(await run(trial())).toEqual({ how: 'interrupted' });
});

it('runs one trial after the other, and prepares anew only for other needs', async () => {
  let underWay = 0;
  const { run, starts, notes } = here(async (own, context) => {
    expect(underWay++).toBe(0);
    await delay(1);
    underWay--;
    return finish(own, context);
  });
  const outcomes = ['wasm', 'wasm', 'cpu'].map((backend) => run(trial({ backend })));
  expect(await Promise.all(outcomes)).toEqual(Array(3).fill({ how: 'finished' }));
  expect(starts).toEqual(['wasm', 'cpu']);
  expect(notes).toEqual(['backend wasm (processor)', 'backend wasm (processor)']);
});

it('runs all trials that wait at once on xla; one that fails leaves the others running', async () => {
  let begun = 0;
  const { run, starts } = here(async (own, context) => {
    const place = begun++;
    if (place === 1) throw new InputError('no such file');
    while (begun < 3) await delay(1);
    await finish(own, context);
  }, 'xla');
  const outcomes = await Promise.all(['xla', 'xla', 'xla', 'auto'].map((backend) => run(trial({ backend }))));
  expect(outcomes.map(({ how }) => how)).toEqual(['finished', 'failed', 'finished', 'finished']);
  expect(starts).toEqual(['xla', 'auto']);
});
