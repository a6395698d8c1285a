import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openCache } from '../../../experiments/stop-agent/cache.ts';
import { crossFit, unlabelledParts } from '../../../experiments/stop-agent/cross-fitting.ts';
import { resolveExperiment } from '../../../experiments/stop-agent/experiment.ts';
import { openData } from '../../../experiments/stop-agent/parts.ts';
import { LocalDetector } from '../../../experts/detectors/local/local-detector.ts';
import { prefixOf } from '../../../src/data/thread.ts';
import { workContext } from '../../../src/work-context.ts';
import { temporaryFolder, writeFiles } from '../../src/data/fixtures.ts';
import { threadLines, tiny } from '../cli/command-line.ts';

const { split: _, ...inFolds } = tiny;
const experimentOf = (parts: Record<string, unknown>) =>
  resolveExperiment({ ...inFolds, agent: { ...tiny.agent, algorithm: 'settled' }, ...parts }, 'tiny');

async function fitted(parts: Record<string, unknown> = {}) {
  const folder = temporaryFolder();
  const unlabelled = threadLines(12, { labelled: false, prefix: 'new-' });
  writeFiles(folder, { 'threads.jsonl': `${threadLines(30)}${unlabelled}` });
  const experiment = experimentOf({ data: { threads: join(folder, 'threads.jsonl') }, ...parts });
  const cache = await openCache(join(folder, 'cache'), experiment);
  const data = await openData(experiment, () => {});
  const made = await crossFit({ experiment, seed: 1, data, cache, context: workContext() });
  return { experiment, made, whole: await made.whole() };
}

describe('crossFit', () => {
  it('judges and decides every labelled thread by what has not seen it, and ships what learned from all', async () => {
    const { made, whole } = await fitted();
    expect(made.folds).toHaveLength(5);
    const tested = made.folds.flatMap(({ parts }) => parts.test.map(({ id }) => id));
    expect([...tested].sort()).toEqual(made.threads.labelled.map(({ id }) => id).sort());
    for (const { parts, detector, sequences } of made.folds) {
      const held = new Set(parts.test.map(({ id }) => id));
      for (const part of [parts.detector, parts.demonstrations, parts.environment, parts.calibration])
        expect(part.filter(({ id }) => held.has(id))).toEqual([]);
      if (!(detector instanceof LocalDetector)) throw new Error('the detector is a local one');
      const ids = parts.detector.map(({ id }) => `${id}\n`).join('');
      expect(detector.model.training.threadIdsSha256).toBe(createHash('sha256').update(ids).digest('hex'));
      for (const thread of parts.test) {
        const { label } = await detector.judge(prefixOf(thread, 2));
        expect(detector.labels[sequences.get(thread.id)?.predicted[1] ?? -1]).toBe(label);
      }
    }
    // The judgements that agents learn from are those of the fold without the thread, for a fold and for what is shipped.
    for (const thread of made.threads.labelled) {
      const own = made.folds.find(({ parts }) => parts.test.includes(thread));
      const expected = [...(own?.sequences.get(thread.id)?.probabilities ?? [])];
      for (const { sequences } of [whole, ...made.folds])
        expect([...(sequences.get(thread.id)?.probabilities ?? [])]).toEqual(expected);
    }
    expect(whole.parts.detector).toHaveLength(30);
    expect(whole.parts.test).toEqual([]);
  });

  it('trains on the past where folds are in the order of time', async () => {
    const { made } = await fitted({ crossFitting: { order: 'by-time', folds: 3 } });
    const startOf = (thread: (typeof made.threads.labelled)[number]) => Date.parse(thread.posts[0].time ?? '');
    for (const { parts } of made.folds) {
      const first = Math.min(...parts.test.map(startOf));
      for (const part of [parts.detector, parts.demonstrations, parts.environment])
        for (const thread of part) expect(startOf(thread)).toBeLessThanOrEqual(first);
    }
  });
});

describe('unlabelledParts', () => {
  const crossFitting = {
    folds: 5,
    order: 'random',
    environment: 100,
    calibration: 2000,
    learningCurve: false,
  } as const;
  const guarantee = { level: 0.05, confidence: 0.9, loss: 'disagreement', method: 'auto' } as const;

  it('calibrates on unlabelled threads where a hundred are left, and gives all to the agent otherwise', () => {
    const parts = (count: number) => unlabelledParts(count, { crossFitting, guarantee });
    expect(parts(0)).toEqual({ environment: 0, calibration: 0 });
    expect(parts(148)).toEqual({ environment: 100, calibration: 0 });
    expect(parts(150)).toEqual({ environment: 50, calibration: 100 });
    expect(parts(700)).toEqual({ environment: 100, calibration: 600 });
  });

  it('does what the experiment asks for', () => {
    expect(unlabelledParts(700, { crossFitting, guarantee: null })).toEqual({ environment: 100, calibration: 0 });
    const byFolds = { ...guarantee, method: 'cross-validation' } as const;
    expect(unlabelledParts(700, { crossFitting, guarantee: byFolds }).calibration).toBe(0);
    const byTest = { ...guarantee, method: 'learn-then-test' } as const;
    expect(unlabelledParts(90, { crossFitting, guarantee: byTest })).toEqual({ environment: 30, calibration: 60 });
    expect(() => unlabelledParts(60, { crossFitting, guarantee: byTest })).toThrow(
      'needs 45 unlabelled threads that nothing learns from, and 40 are left',
    );
  });
});

it('is the protocol of a local detector unless parts are named', () => {
  expect(experimentOf({}).crossFitting).toMatchObject({ folds: 5 });
  expect(experimentOf({}).guarantee).toMatchObject({ level: 0.05 });
  expect(experimentOf({ agent: tiny.agent }).guarantee).toBe(null);
  expect(experimentOf({ split: tiny.split }).crossFitting).toBe(null);
  expect(experimentOf({ crossFitting: null }).crossFitting).toBe(null);
  expect(() => experimentOf({ split: tiny.split, crossFitting: { folds: 3 } })).toThrow(
    'tiny names both split and crossFitting',
  );
});
