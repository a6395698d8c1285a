import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { draw } from '../../experiments/report/page/chart.ts';
import { costsSchema, wrongCosts } from '../../experiments/stop-agent/costs.ts';
import { earshot, tiny, writeExperiment } from '../experiments/cli/command-line.ts';
import { smallServer } from '../experiments/serve/small-server.ts';
import { temporaryFolder } from '../src/data/fixtures.ts';

vi.setConfig({ testTimeout: 180_000 });

/** Names of what every object has, and signs of Markdown and HTML. */
const classes = ['__proto__', 'constructor', 'a|b', '<b>bold</b>', 'toString', 'macroF1', 'all'];
const word = (label: number) => ['fire', 'calm', 'late', 'lost', 'gone', 'rude', 'kind'][label];

/** Conversations whose replies tell the class more and more surely. */
const threads = Array.from({ length: 140 }, (_, index) => ({
  id: index === 0 ? '__proto__' : `c${index}`,
  labels: { outcome: classes[index % classes.length] },
  posts: Array.from({ length: 5 }, (_, place) => ({
    id: `${index}-${place}`,
    time: `2024-03-01T10:0${place}:00Z`,
    text: place === 0 ? `hello ${index}` : `${word(index % classes.length)} ${place}`,
  })),
}));

describe('any string is a class', () => {
  it('from the split to a report, a bundle and a server', async () => {
    const cwd = temporaryFolder({ 'threads.jsonl': threads.map((thread) => `${JSON.stringify(thread)}\n`).join('') });
    const run = async (words: string[], page = false) => {
      const { code, out, errors } = await earshot(words, { cwd, page });
      expect([words, code, code === 0 ? '' : errors]).toEqual([words, 0, '']);
      return out;
    };
    const wide = ['--part', 'new=35', '--part', 'known=rest', '--stratify', 'outcome', '--json'];
    const split = JSON.parse(await run(['data', 'split', 'threads.jsonl', ...wide, '--out', 'parts']));
    const [{ labels: counts }] = split.parts;
    expect(Object.entries(counts).sort()).toEqual(classes.map((name) => [name, 5]).sort());

    writeExperiment(join(cwd, 'any.yaml'), {
      name: 'any',
      data: { threads: 'threads.jsonl' },
      task: 'outcome',
      split: { detector: 56, demonstrations: 14, environment: 14, test: 35 },
      agent: { ...tiny.agent, algorithm: 'settled' },
      state: { posts: 'none', observesDetector: true },
      costs: { wrong: Object.fromEntries([['__proto__', 5]]) },
    });
    await run(['train', 'any.yaml'], true);
    const report = readFileSync(join(cwd, 'runs/any/report.md'), 'utf8');
    for (const shown of [
      '\\_\\_proto\\_\\_',
      'constructor',
      'a\\|b',
      '&lt;b>bold&lt;/b>',
      'toString',
      'macroF1',
      'all',
    ])
      expect(report).toContain(`F1 ${shown} (8)`);
    expect(report).not.toContain('<b>');
    // Every row of a table has as many cells as its heading.
    const cells = (line: string) => line.match(/(?<!\\)\|/g)?.length ?? 0;
    const rows = report.split('\n');
    for (const [index, line] of rows.entries())
      if (line.startsWith('|') && rows[index - 1]?.startsWith('|')) expect(cells(line)).toBe(cells(rows[index - 1]));
    const page = readFileSync(join(cwd, 'runs/any/report.html'), 'utf8');
    for (const name of ['__proto__', 'constructor', 'a|b', '&lt;b&gt;bold&lt;/b&gt;'])
      expect(page).toContain(`<th scope="col" class="number">${name}</th>`);

    const folder = 'runs/any/agent/seed-1';
    const config = JSON.parse(readFileSync(join(cwd, folder, 'config.json'), 'utf8'));
    expect(wrongCosts(costsSchema.parse(config.costs), classes)).toEqual(
      classes.map((gold, row) => classes.map((_, column) => (row === column ? 0 : gold === '__proto__' ? 5 : 1))),
    );
    await run(['export', folder, '--out', 'policy']);
    const card = readFileSync(join(cwd, 'policy/README.md'), 'utf8');
    expect(card).toContain('between &lt;b>bold&lt;/b>, \\_\\_proto\\_\\_, all, a\\|b, constructor, macroF1, toString.');
    const decided = (await run(['decide', 'threads.jsonl', '--policy', 'policy', '--include-trained']))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const right = decided.filter(({ prediction }, index) => prediction.label === classes[index % classes.length]);
    expect(right.length).toBeGreaterThan(0.8 * decided.length);
    for (const { prediction } of decided)
      expect(Object.keys(prediction.probabilities).sort()).toEqual(classes.toSorted());

    const server = await smallServer({ bundles: { any: join(cwd, 'policy') } });
    const { body } = await server.decide({ threads: threads.slice(0, 2).map(({ id, posts }) => ({ id, posts })) });
    for (const [index, { prediction }] of body.decisions.entries())
      expect(prediction).toEqual(decided[index].prediction);
    await run(['detect', 'threads.jsonl', '--train', '--json']);
  });

  it.each(['constructor', 'valueOf', '__proto__'])(
    'and the name of a facet, a series and an axis: %s',
    async (name) => {
      const values = [name, 'other'].map((own, x) => ({ own, x }));
      const encoding = { x: { field: 'x', type: 'quantitative' }, y: { field: 'own', type: 'nominal' } };
      const color = {
        field: 'own',
        type: 'nominal',
        scale: { domain: [name, 'other'], range: ['#000000', '#ffffff'] },
      };
      const row = { field: 'own', type: 'nominal', sort: [name, 'other'] };
      const spec = { data: { values }, facet: { row }, spec: { mark: 'point', encoding: { ...encoding, color } } };
      const { svg } = await draw({ name: 'any', title: '', label: '', caption: '', spec });
      expect(svg.split(name).length).toBeGreaterThan(1);
    },
  );
});
