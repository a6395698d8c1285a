import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

/* Figures that pages repeat in prose are those of the table or picture that they come from. */

const home = join(import.meta.dirname, '../..');
const textOf = (page: string) => readFileSync(join(home, page), 'utf8').replace(/\s+/g, ' ');

it('of the demo are those of its picture', () => {
  const picture = textOf('docs/pictures/front.svg');
  const [, macroF1, read] =
    /<title>one-query&#xA;macro-F1 ([\d.]+)[^<]*?&#xA;(\d+)% of the posts read/.exec(picture) ?? [];
  const [, everything] = /<title>all posts&#xA;macro-F1 ([\d.]+)/.exec(picture) ?? [];
  expect(textOf('docs/explanation/scale.md')).toContain(`quickstart's agent decides (${read}% of the posts)`);
  const kept = Math.round((100 * Number(macroF1)) / Number(everything));
  expect(textOf('README.md')).toContain(
    `In the demo, the agent reads ${read}% of the posts with one query per thread and keeps ${kept}% of the macro-F1`,
  );
});

it('of the guarantee are those of the table', () => {
  const page = textOf('experiments/results/guarantee.md');
  const readme = textOf('README.md');
  const rows = readFileSync(join(home, 'experiments/results/guarantee.md'), 'utf8')
    .split('\n')
    .filter((line) => /^\| (Weibo-CED|Twitter15|PHEME|COVID) +\| +[\d,]+ \| +0\./.test(line))
    .map((line) => line.split('|').map((cell) => cell.trim()));
  expect(rows.length).toBeGreaterThan(16);
  const violated = rows.map((cells) => /([\d.]+) \(([\d.]+)\)/.exec(cells[8]) ?? []);
  const worst = (column: number) => Math.max(...violated.map((found) => Number(found[column]))).toFixed(3);
  expect(page).toContain(`Means over five agents violate it in at most ${worst(1)} of the draws`);
  expect(page).toContain(`single agents in up to ${worst(2)}`);
  const shown = rows.filter((cells) => cells[2] === '600');
  expect(shown).toHaveLength(4);
  const percent = (share: string) => `${(100 * Number(share)).toFixed(1)}%`;
  for (const cells of shown) expect(readme).toContain(`| ${cells[1]} | ${percent(cells[3])} | ${percent(cells[4])} |`);
});
