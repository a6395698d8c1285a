import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../src/data/fixtures.ts';
import { earshot } from '../cli/command-line.ts';
import { tinySelector } from '../selector/tiny-selector.ts';
import { trialsIn } from './tiny-sweep.ts';

const evaluation = { beside: ['untuned'], heldOutShare: 0.5 };

function folder(parts: Record<string, unknown>): string {
  const cwd = temporaryFolder();
  const { name: _, ...experiment } = tinySelector;
  const sweep = {
    kind: 'sweep',
    name: 'selectors',
    experiment: { ...experiment, evaluation },
    seeds: [1, 2],
    ...parts,
  };
  writeFileSync(join(cwd, 'sweep.yaml'), JSON.stringify(sweep));
  return cwd;
}

it('sweeps a selector, chosen by the threads that are held out of its tests', async () => {
  const cwd = folder({ space: { 'selector.learningRate': [0.01, 0.05] } });
  const swept = await earshot(['sweep', 'sweep.yaml'], { cwd });
  expect(swept.code, swept.errors).toBe(0);
  expect(swept.out).toMatch(/\n→ learningRate=0\.0\d +-?0\.\d{3} \[/);
  const report = readFileSync(join(cwd, 'runs/selectors/report.md'), 'utf8');
  expect(report).toContain('It has the highest veracity.macroF1 on the development part');
  expect(report).toMatch(/\| \*\*selector\*\* +\|/);
  expect(report).toMatch(/\| untuned +\|/);
  expect(report).not.toContain('Pareto');
  const [first] = trialsIn(join(cwd, 'runs/selectors'));
  const held = readFileSync(join(cwd, `runs/selectors/${first.trial}/decisions.jsonl`), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
    .filter(({ system, part, place }) => system === 'selector' && part === 'development' && place.task === 'veracity');
  const right = held.filter(({ gold, prediction }) => gold === prediction).length;
  expect(Number(first['development.veracity.microF1'])).toBeCloseTo(right / held.length, 12);
});

it('is refused without held-out threads', async () => {
  const space = { 'selector.learningRate': [0.01, 0.05] };
  const none = folder({ space, settings: { evaluation: { heldOutShare: 0 } } });
  expect((await earshot(['sweep', 'sweep.yaml'], { cwd: none })).errors).toContain(
    'evaluation.heldOutShare is 0; give a share',
  );
});
