import { describe, expect, it } from 'vitest';
import { type EndedTrial, runInBatches } from '../../../experiments/run/batched-runs.ts';
import type { RunGroup, Trial, TrialOutcome } from '../../../experiments/run/trial.ts';

function trial(label: string, shape: string | null = 'same'): Trial {
  const task = {
    kind: 'stop-agent',
    config: {},
    seed: 1,
    directory: label,
    runs: '',
    backend: null,
  } as const;
  return { ...task, label, shape, detectorKey: null };
}

function taught(label: string, detectorKey: string): Trial {
  return { ...trial(label), detectorKey };
}

const failed: TrialOutcome = { how: 'failed', severity: 1, message: 'bad' };
const finished: TrialOutcome = { how: 'finished' };

/** Runs trials, of which each group that has a bad one fails; returns who ran with whom, and what was told. */
async function ran(
  trials: readonly Trial[],
  options: { bad?: string; done?: string; batchedRuns?: number } = {},
): Promise<{ groups: string[]; told: string[] }> {
  const { bad, done, batchedRuns = 2 } = options;
  const groups: string[] = [];
  const told: string[] = [];
  const run: RunGroup = async (tasks) => {
    const labels = tasks.map(({ label }) => label);
    groups.push(labels.join(' '));
    return labels.map(() => (bad !== undefined && labels.includes(bad) ? failed : finished));
  };
  await runInBatches(trials, {
    batchedRuns,
    run,
    isDone: ({ label }) => label === done,
    onEnded: (ended: readonly EndedTrial<Trial>[]) =>
      told.push(ended.map(({ trial: { label }, outcome }) => `${label} ${outcome.how}`).join(', ')),
  });
  return { groups, told };
}

describe('trials', () => {
  it('are trained in batches of one shape, in the order of the first of each', async () => {
    const trials = [trial('a'), trial('b', 'other'), trial('c'), trial('d'), trial('e', null), trial('f', null)];
    expect(await ran(trials)).toEqual({
      groups: ['a c', 'b', 'd', 'e', 'f'],
      told: ['a finished, c finished', 'b finished', 'd finished', 'e finished', 'f finished'],
    });
    expect((await ran(trials, { batchedRuns: 1 })).groups).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
  });

  it('are with those of their detector, so that one program waits little for the detectors of another', async () => {
    const trials = ['a1', 'a2', 'a3', 'b1', 'b2', 'b3'].map((label) => taught(label, label.slice(1)));
    expect((await ran(trials)).groups).toEqual(['a1 b1', 'a2 b2', 'a3 b3']);
    expect((await ran(trials, { batchedRuns: 4 })).groups).toEqual(['a1 b1 a2 b2', 'a3 b3']);
    expect((await ran(trials, { batchedRuns: 1 })).groups).toEqual(['a1', 'a2', 'a3', 'b1', 'b2', 'b3']);
  });

  it('stay in their batches where some need nothing more', async () => {
    expect(await ran([trial('a'), trial('b'), trial('c'), trial('d')], { done: 'b' })).toEqual({
      groups: ['a', 'c d'],
      told: ['b finished', 'a finished', 'c finished, d finished'],
    });
  });

  it('go on in halves where one of their batch fails, which fails alone', async () => {
    const trials = ['a', 'b', 'c', 'd', 'e'].map((label) => trial(label));
    expect(await ran(trials, { bad: 'b', batchedRuns: 4 })).toEqual({
      groups: ['a b c d', 'e', 'a b', 'c d', 'a', 'b'],
      told: ['e finished', 'a finished, b failed, c finished, d finished'],
    });
  });
});
