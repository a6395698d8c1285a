import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { RunDirectory } from '../../../checkpoints/run-directory.ts';
import { selectorKind } from '../../../experiments/kinds/selector-kind.ts';
import { readDecisions } from '../../../experiments/run/decisions-file.ts';
import { readParts } from '../../../experiments/run/parts-file.ts';
import { selectorDecisionSchema, threadOf } from '../../../experiments/selector/decisions.ts';
import { readSelectorResult } from '../../../experiments/selector/result.ts';
import type { Thread } from '../../../src/data/thread.ts';
import { earshot } from '../cli/command-line.ts';
import { lines, outcomeOf, tinyFolder, tinyThreads, trainHere } from './tiny-selector.ts';

/** Claims that repeat no other, of three events. */
const told = (threads: readonly Thread[], eventOf: (index: number) => string | null) =>
  threads.map(({ posts: [claim, ...replies], ...thread }, index) => ({
    ...thread,
    event: eventOf(index),
    posts: [{ ...claim, text: `${thread.id} ${thread.id}b ${thread.id}c` }, ...replies],
  }));
const { train, test } = tinyThreads();
const files = {
  'train.jsonl': lines(told(train, (index) => ['fire', 'flood', 'storm'][Math.floor(index / 8)])),
  'test.jsonl': lines(told(test, (index) => (index < 4 ? 'quake' : 'fire'))),
};
const beside = ['random-by-class', 'nearest-neighbour', 'supervised'] as const;
const settings = {
  data: { train: 'train.jsonl', tests: { other: 'test.jsonl' }, heldOutEvents: 'each' },
  evaluation: { beside },
};

describe('a selector with each event held out in turn', () => {
  it('tests every thread once, by a run that was trained on no thread of its event; and goes on where it was cut off', async () => {
    const cwd = tinyFolder(settings, files);
    const first = await earshot(['train', 'tiny.yaml'], { cwd });
    expect(first.code, first.errors).toBe(0);
    expect(first.out).toContain('held-out events, macro-F1');
    const report = readFileSync(join(cwd, 'runs/tiny/report.md'), 'utf8');
    expect(report).toMatch(/labelled claims: \d+ .* means over the folds fire, flood, storm, other-events/);
    expect(report).toContain('\n## held-out events: veracity\n');
    expect(report).toContain('\n## other: stance\n');

    const run = join(cwd, 'runs/tiny/agent/seed-1');
    const decisions = readDecisions(run, selectorDecisionSchema);
    for (const system of ['selector', 'selector-all-posts', ...beside]) {
      const tested = decisions.filter((own) => own.system === system && own.place.task === 'veracity');
      const idsOf = (name: string) =>
        tested
          .filter((own) => own.place.test === name)
          .map((own) => own.item)
          .sort();
      expect(idsOf('held-out events')).toEqual(train.map(({ id }) => id).sort());
      expect(idsOf('other')).toEqual(test.map(({ id }) => id).sort());
    }
    for (const [fold, events] of [
      ['without-fire', ['fire']],
      ['without-other-events', ['quake']],
    ] as const) {
      const own = readDecisions(join(run, fold), selectorDecisionSchema);
      expect([...new Set(own.map(({ event }) => event))]).toEqual(events);
      const trained = readParts(RunDirectory.open(join(run, fold)))?.train ?? [];
      const tested = new Set(own.map(threadOf));
      expect(trained.length).toBe(fold === 'without-fire' ? 16 : 24);
      expect(trained.some(({ id }) => tested.has(id))).toBe(false);
    }
    const { folds, claims, systems } = readSelectorResult(RunDirectory.open(run));
    expect(folds.map(({ run: folder }) => folder)).toEqual([
      'without-fire',
      'without-flood',
      'without-storm',
      'without-other-events',
    ]);
    // Three folds train on 16 threads, the last on all 24, half of them labelled.
    expect(claims).toMatchObject({ labelled: 9, unlabelled: 9 });
    expect(systems).toEqual(['selector', 'selector-all-posts', ...beside]);

    const both = [
      { folder: run, system: 'selector' },
      { folder: run, system: 'nearest-neighbour' },
    ] as const;
    expect(selectorKind.compare(both, { seed: 1 })).toContainEqual(
      expect.objectContaining({ of: { test: 'held-out events', task: 'veracity' }, items: 24 }),
    );

    const expected = outcomeOf(run);
    rmSync(join(run, 'result.json'));
    rmSync(join(run, 'without-storm/result.json'));
    rmSync(join(run, 'without-other-events'), { recursive: true });
    const resumed = await earshot(['train', 'tiny.yaml'], { cwd });
    expect(resumed.code, resumed.errors).toBe(0);
    expect(resumed.errors).not.toContain('without flood');
    expect(outcomeOf(run)).toEqual(expected);
  });

  it('keeps development events apart from the tests', async () => {
    const cwd = tinyFolder({ ...settings, evaluation: { beside: ['supervised'] } }, files);
    const data = { heldOutEvents: ['flood'], developmentEvents: ['flood'], tests: {}, train: join(cwd, 'train.jsonl') };
    await trainHere(cwd, { data: { ...data, tests: { other: join(cwd, 'test.jsonl') } } });
    const decisions = readDecisions(join(cwd, 'runs/tiny/agent/seed-1'), selectorDecisionSchema);
    expect(new Set(decisions.map(({ part, event }) => `${part} ${event}`))).toEqual(new Set(['development flood']));
  });
});
