import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { RunDirectory } from '../../../checkpoints/run-directory.ts';
import { selectorKind } from '../../../experiments/kinds/selector-kind.ts';
import { decisionsByTest, readSelectorResult } from '../../../experiments/selector/result.ts';
import { taskScores } from '../../../experiments/selector/scores.ts';
import { earshot } from '../cli/command-line.ts';
import { tinyFolder, trainHere } from './tiny-selector.ts';

const run = 'runs/tiny/agent/seed-1';

describe('compare, of selectors', () => {
  it('pairs the decisions of two systems by test set and task', async () => {
    const cwd = tinyFolder();
    await trainHere(cwd, { evaluation: { beside: ['untuned'] } });
    const folder = join(cwd, run);
    const selector = { folder, system: 'selector' };
    const comparisons = selectorKind.compare([selector, { folder, system: 'untuned' }], { seed: 1 });
    const tasks = ['stance', 'veracity'] as const;
    expect(comparisons.map(({ of }) => of)).toEqual(tasks.map((task) => ({ test: 'planted', task })));
    const read = readSelectorResult(RunDirectory.open(folder));
    const scoreOf = (system: string, task: 'stance' | 'veracity') =>
      taskScores(task, decisionsByTest(read, { system, part: 'test' }).get('planted') ?? []);
    for (const [place, { items, metrics }] of comparisons.entries()) {
      const [own, other] = ['selector', 'untuned'].map((name) => scoreOf(name, tasks[place]));
      expect(items).toBe(own?.items);
      for (const { name, estimate, low, high, pValue } of metrics) {
        expect(estimate).toBeCloseTo((own?.values[name] ?? 0) - (other?.values[name] ?? 0), 10);
        expect(low).toBeLessThanOrEqual(high);
        expect(pValue).toBeGreaterThan(0);
      }
    }
    const same = selectorKind.compare([selector, selector], { seed: 1 });
    for (const { metrics } of same) expect(metrics).toMatchObject([{ estimate: 0 }, { estimate: 0 }]);

    const table = await earshot(['compare', run, 'runs/tiny/agent', '--second-system', 'selector'], { cwd });
    // A run is paired with that of its seed in the folder.
    expect(table.code, table.errors).toBe(0);
    expect(table.out).toMatch(/macro-F1 +\+0\.0000 /);
    const shown = await earshot(['compare', run, run, '--second-system', 'untuned'], { cwd });
    expect(shown.code, shown.errors).toBe(0);
    expect(shown.out).toMatch(
      new RegExp(
        `^selector of ${run}\\nminus untuned of ${run}\\n\\nplanted: stance, \\d+ decisions paired, of 1 seed\\n\\nfirst minus second .*\\n─+\\nmacro-F1 +[+−]\\d\\.\\d{4} .*\\nmicro-F1 .*\\n\\nplanted: veracity, `,
      ),
    );
    // The system of the first is that of the second, too.
    const itself = await earshot(['compare', run, run, '--system', 'untuned'], { cwd });
    expect(itself.out).toMatch(new RegExp(`^untuned of ${run}\\nminus untuned of ${run}\\n`));
    const json = await earshot(['compare', run, run, '--second-system', 'untuned', '--json'], { cwd });
    expect(JSON.parse(json.out)).toMatchObject(
      comparisons.map(({ of, items }) => ({ ...of, items, macroF1: {}, microF1: {} })),
    );
  });

  it('scores what the decisions say, not what was found when they were made', async () => {
    const cwd = tinyFolder();
    await trainHere(cwd, { evaluation: { beside: [] } });
    const path = join(cwd, run, 'decisions.jsonl');
    const right = readFileSync(path, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
      .map((decision) => `${JSON.stringify({ ...decision, prediction: decision.gold })}\n`);
    writeFileSync(path, right.join(''));
    const [system] = selectorKind.score(join(cwd, run), 'test');
    expect(system.values).toMatchObject({ 'stance.macroF1': 1, 'veracity.microF1': 1 });
  });
});
