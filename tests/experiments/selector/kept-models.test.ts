import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readDecisions, writeDecisions } from '../../../experiments/run/decisions-file.ts';
import {
  type SelectorDecision,
  type SelectorSystem,
  selectorDecisionSchema,
} from '../../../experiments/selector/decisions.ts';
import { keptDecisions, keptModels } from '../../../experiments/selector/kept-models.ts';
import { selectItems } from '../../../experiments/selector/select-items.ts';
import { plantedStances } from '../../../src/data/synthetic/planted-stances.ts';
import { workContext } from '../../../src/work-context.ts';
import { lines, tinyFolder, tinySelector, trainHere } from './tiny-selector.ts';

/** Twenty items of four classes, of which the first `right` are told right. */
function decided(
  of: Pick<SelectorDecision, 'part' | 'task'> & { system: SelectorSystem; right: number },
): SelectorDecision[] {
  const { right, ...rest } = of;
  return Array.from({ length: 20 }, (_, item) => {
    const gold = item % 4;
    const predicted = item < right ? gold : (gold + 1) % 4;
    const where = { test: 'news', event: null, retained: true, probabilities: [0, 0, 0, 0] };
    return { ...rest, ...where, id: of.task === 'stance' ? `${item}/r` : `${item}`, gold, predicted };
  });
}

describe('the models that are kept', () => {
  const decisions = [
    ...decided({ system: 'selector', part: 'held-out', task: 'stance', right: 4 }),
    ...decided({ system: 'untuned', part: 'held-out', task: 'stance', right: 12 }),
    ...decided({ system: 'selector', part: 'held-out', task: 'veracity', right: 19 }),
    ...decided({ system: 'untuned', part: 'held-out', task: 'veracity', right: 12 }),
    ...decided({ system: 'majority', part: 'held-out', task: 'stance', right: 0 }),
    // The test says the opposite, and is not asked.
    ...decided({ system: 'selector', part: 'test', task: 'stance', right: 20 }),
    ...decided({ system: 'untuned', part: 'test', task: 'stance', right: 8 }),
    ...decided({ system: 'selector', part: 'test', task: 'veracity', right: 4 }),
    ...decided({ system: 'untuned', part: 'test', task: 'veracity', right: 8 }),
  ];

  it('are those that do better on held-out items, task by task', () => {
    const kept = keptModels(decisions, 'selector');
    expect(kept).toMatchObject({
      stance: { isTuned: false, isHarmed: true, items: 20 },
      veracity: { isTuned: true, isHarmed: false },
    });
    expect(kept.stance?.tuned).toBeLessThan(kept.stance?.untuned ?? 0);
    const tested = keptDecisions(decisions, 'selector').filter(({ part }) => part === 'test');
    const rightOf = (task: string) =>
      tested.filter((own) => own.task === task && own.gold === own.predicted && own.system === 'selector').length;
    expect([rightOf('stance'), rightOf('veracity')]).toEqual([8, 4]);
  });

  it('are the untuned ones where nothing measurable speaks for the tuned ones', () => {
    const little = decisions.map((own) =>
      own.system === 'selector' && own.part === 'held-out' && own.task === 'stance' && Number.parseInt(own.id, 10) < 13
        ? { ...own, predicted: own.gold }
        : own,
    );
    const { stance } = keptModels(little, 'selector');
    expect(stance).toMatchObject({ isTuned: false, isHarmed: false });
    expect(stance?.tuned).toBeGreaterThan(stance?.untuned ?? 1);
  });

  it('are no question where a system tunes none, nothing was held out, or both say the same', () => {
    const none = { stance: null, veracity: null };
    expect(keptModels(decisions, 'majority')).toEqual(none);
    expect(keptModels(decisions, 'untuned')).toEqual(none);
    expect(keptModels(decisions.slice(0, 39).slice(1), 'selector')).toEqual(none);
    const tested = decisions.filter(({ part }) => part === 'test');
    expect(keptModels(tested, 'selector')).toEqual(none);
    expect(keptDecisions(tested, 'selector')).toEqual(tested.filter(({ system }) => system === 'selector'));
  });

  it('label what select writes of a run', async () => {
    const { planted } = tinySelector.data;
    const more = { ...planted, testThreads: 40 };
    const cwd = tinyFolder(
      { data: { planted: more }, evaluation: { beside: [], room: false } },
      { 'other.jsonl': lines(plantedStances(more).test) },
    );
    await trainHere(cwd);
    const run = join(cwd, 'runs/tiny/agent/seed-1');
    const known = readDecisions(run, selectorDecisionSchema);
    // As if the tuned stance model were wrong about everything.
    writeDecisions(
      run,
      known.map((own) =>
        own.system === 'selector' && own.part === 'held-out' && own.task === 'stance'
          ? { ...own, predicted: (own.gold + 1) % 4 }
          : own,
      ),
    );
    const notes: string[] = [];
    const out = join(cwd, 'selected.jsonl');
    const context = workContext({ onNote: (line) => notes.push(line) });
    const rest = { kind: 'posts', all: true, runs: join(cwd, 'runs'), budget: {} } as const;
    await selectItems({ run, data: join(cwd, 'other.jsonl'), out, ...rest, context });
    expect(notes.join('\n')).toMatch(
      /keeps the untuned models for stance: on \d+ held-out items their macro-F1 is 0\.\d{3}/,
    );
    const written = new Map(
      readFileSync(out, 'utf8')
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line))
        .map(({ threadId, postId, distribution }) => [`${threadId}/${postId}`, Object.values(distribution)]),
    );
    const of = (system: SelectorSystem) =>
      known.filter((own) => own.system === system && own.task === 'stance' && own.part === 'test');
    expect(of('untuned').map(({ id }) => written.get(id))).toEqual(of('untuned').map((own) => own.probabilities));
    expect(of('untuned').map((own) => own.probabilities)).not.toEqual(of('selector').map((own) => own.probabilities));
  });
});
