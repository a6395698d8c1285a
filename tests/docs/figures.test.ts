import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

/* Figures that pages repeat in prose are those of the table or picture that they come from. */

const home = join(import.meta.dirname, '../..');
const textOf = (page: string) => readFileSync(join(home, page), 'utf8').replace(/\s+/g, ' ');

it('of the demo are those of its picture', () => {
  const picture = textOf('docs/pictures/front.svg');
  const [, macroF1, read] =
    /aria-label="one-call&#xA;macro-F1 ([\d.]+)[^"]*?&#xA;(\d+)% of the posts read/.exec(picture) ?? [];
  const [, everything] = /aria-label="all posts&#xA;macro-F1 ([\d.]+)/.exec(picture) ?? [];
  expect(textOf('docs/explanation/scale.md')).toContain(`quickstart's agent decides (${read}% of the posts)`);
  const kept = Math.round((100 * Number(macroF1)) / Number(everything));
  expect(textOf('README.md')).toContain(
    `In the demo, the agent reads ${read}% of the posts with one query per thread and keeps ${kept}% of the macro-F1`,
  );
});

it('of violated guarantees are the worst of the table', () => {
  const page = textOf('experiments/results/guarantee.md');
  const rows = readFileSync(join(home, 'experiments/results/guarantee.md'), 'utf8')
    .split('\n')
    .filter((line) => /^\| (Weibo-CED|Twitter1\d|PHEME) +\| +\d+ \|/.test(line))
    .map((line) => line.split('|').map((cell) => /\(([\d.]+)\)/.exec(cell)?.[1]));
  const worst = (column: number) => Math.max(...rows.map((cells) => Number(cells[column]))).toFixed(3);
  expect(rows.length).toBeGreaterThan(8);
  expect(page).toContain(`Single agents violate it in up to ${worst(5)} of the draws`);
  expect(page).toContain(`(the detector's confidence: up to ${worst(6)})`);
});
