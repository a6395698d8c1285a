import { describe, expect, it } from 'vitest';
import {
  confusionTable,
  type Table,
  tableMarkup,
  tableText,
  terminalTable,
} from '../../../experiments/report/table.ts';
import { wrapped } from '../../../experiments/report/terminal-text.ts';

const table: Table = {
  heading: ['system', 'macro-F1', 'notes'],
  texts: ['notes'],
  rows: [
    ['agent|1', '0.8 [0.7, 0.9]', 'the <best> of them'],
    ['  all posts', '–', ''],
  ],
  isMarked: (row) => row === 0,
};
const widest = (text: string) => Math.max(...text.split('\n').map((line) => [...line].length));

describe('a table for a terminal', () => {
  it('is as wide as its cells, with numbers on the right', () => {
    expect(terminalTable(table)).toBe(
      [
        'system             macro-F1  notes',
        '─────────────────────────────────────────────',
        'agent|1      0.8 [0.7, 0.9]  the <best> of them',
        '  all posts               –',
      ]
        .join('\n')
        .replace(/─+/, '─'.repeat(47)),
    );
  });

  it('breaks headings first, then texts, then numbers before their intervals', () => {
    const titled = { heading: ['name', 'number of posts'], rows: [['a', '1']] };
    expect(terminalTable(titled, { width: 12 })).toMatch(/^name {2}number\n {10}of\n {7}posts\n─{12}\na +1$/);
    const narrow = terminalTable(table, { width: 42 });
    expect(widest(narrow)).toBe(42);
    expect(narrow).toContain('agent|1      0.8 [0.7, 0.9]  the <best> of\n                             them\n');
    const narrowest = terminalTable(table, { width: 34 });
    expect(narrowest).toContain('agent|1             0.8  the <best>\n             [0.7, 0.9]  of them\n');
  });

  it('goes on in the indent of its row, and breaks a word that has no room', () => {
    const rows = [
      ['  a name of many more words', '1'],
      ['x'.repeat(40), '2'],
    ];
    const printed = terminalTable({ heading: ['name', 'posts'], rows }, { width: 30 });
    expect(printed.split('\n').slice(2)).toEqual([
      '  a name of many more         1',
      '  words',
      `${'x'.repeat(24)}      2`,
      'x'.repeat(16),
    ]);
  });

  it('shows control characters, and counts them as they are shown', () => {
    const rows = [['a\u001b[2J\nb', '1']];
    expect(terminalTable({ heading: ['name', 'posts'], rows }).split('\n')[2]).toBe('a\\u001b[2J b      1');
  });

  it('stands beside prose that breaks at spaces', () => {
    expect(wrapped('one two three', { width: 7 })).toBe('one two\nthree');
  });
});

it('is Markdown in files, with foreign signs escaped', () => {
  expect(tableText(table).split('\n').slice(2)).toEqual([
    '| **agent\\|1** | 0.8 [0.7, 0.9] | the &lt;best> of them |',
    '| – all posts  |              – |                       |',
  ]);
});

it('is sortable markup on a page, with foreign signs escaped', () => {
  const { markup } = tableMarkup(table, 'Systems');
  expect(markup).toContain('<th scope="col" class="number">macro-F1</th><th scope="col">notes</th>');
  expect(markup).toContain('<tr class="marked"><th scope="row">agent|1</th>');
  expect(markup).toContain('<td>the &lt;best&gt; of them</td>');
  expect(markup).toContain('<tr class="indented"><th scope="row">all posts</th>');
});

it('shows true labels beside predictions, and a column of those that could not be read where there are some', () => {
  expect(
    confusionTable(
      ['no', 'yes'],
      [
        [3, 1, 0],
        [0, 0, 0],
      ],
    ),
  ).toEqual({
    heading: ['true / predicted', 'no', 'yes'],
    rows: [
      ['no', '3 (75%)', '1 (25%)'],
      ['yes', '0 (0%)', '0 (0%)'],
    ],
  });
  expect(
    confusionTable(
      ['no', 'yes'],
      [
        [1, 0, 1],
        [0, 2, 0],
      ],
    ).heading,
  ).toEqual(['true / predicted', 'no', 'yes', 'not readable']);
});
