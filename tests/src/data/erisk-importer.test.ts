import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { importThreads } from '../../../src/data/import-threads.ts';
import type { ImportOptions } from '../../../src/data/importers/importer.ts';
import { collect, temporaryFolder } from './fixtures.ts';

interface Writing {
  title?: string;
  date: string;
  text?: string;
}

function subject(id: string, ...writings: Writing[]): string {
  const all = writings.map(
    ({ title = '', date, text = '' }) =>
      `<WRITING>\n<TITLE> ${title} </TITLE>\n<DATE> ${date} </DATE>\n<INFO> reddit post </INFO>\n<TEXT> ${text} </TEXT>\n</WRITING>\n`,
  );
  return `<INDIVIDUAL>\n<ID>${id}</ID>\n${all.join('')}</INDIVIDUAL>\n`;
}

async function importFrom(files: Record<string, unknown>, more: ImportOptions = {}) {
  const folder = temporaryFolder(files);
  const notes: string[] = [];
  const skipped: string[] = [];
  const on = { onNote: (note: string) => notes.push(note), onSkipped: (line: string) => skipped.push(line) };
  const threads = await collect(importThreads('erisk', { ...more, ...on, paths: [join(folder)] }));
  return { threads, notes, skipped };
}

const second = {
  date: '2016-03-10 12:32:43',
  title: 'Q &amp; A',
  text: '&#8220;a&#x201d; &lt;b&gt; <![CDATA[<c> &amp;]]>',
};
const collection = {
  'pos/chunk1/subject7_1.xml': subject('subject7', { date: '2016-03-09 00:00:00', text: 'first' }, second),
  'pos/chunk2/subject7_2.xml': subject('subject7', second, { date: '2016-03-11 01:00:00', text: 'third' }),
  'pos/chunk10/subject7_10.xml': subject('subject7', { date: '2016-03-11 01:00:00', text: 'same second, later chunk' }),
  'neg/chunk1/subject8_1.xml': subject(
    'subject8',
    { date: '2016-01-01 00:00:00' },
    { date: '2015-01-01 00:00:00', title: 'only a title' },
  ),
  'neg/chunk1/subject9_1.xml': subject('subject9', { date: '2016-01-01 00:00:00' }),
  'neg/chunk1/subject10_1.xml': subject('subject10', { date: '2016-01-01 00:00:00', text: 'x' }),
  'risk_golden_truth.txt': 'subject7 1\nsubject8\t\t0\nsubject9 0\nsubject99 1\n',
};

describe('erisk', () => {
  it('reads elements with attributes, and empty ones', async () => {
    const writing = '<WRITING id="1"><TITLE/><DATE>2016-03-10 12:32:43</DATE><TEXT lang="en">x</TEXT></WRITING>';
    const { threads } = await importFrom({ 's1.xml': `<INDIVIDUAL><ID>s1</ID>${writing}</INDIVIDUAL>` });
    expect(threads.map(({ posts }) => posts.map(({ text }) => text))).toEqual([['x']]);
  });

  it('merges chunks in order, and labels users by the truth file', async () => {
    const { threads, notes } = await importFrom(collection, { label: ['depression'] });
    expect(threads.map(({ id, labels }) => ({ id, labels }))).toEqual([
      { id: 'subject8', labels: { depression: 0 } },
      { id: 'subject10', labels: undefined },
      { id: 'subject7', labels: { depression: 1 } },
    ]);
    expect(threads[2].posts.map(({ text }) => text)).toEqual([
      'first',
      'Q & A\n“a” <b> <c> &amp;',
      'third',
      'same second, later chunk',
    ]);
    expect(threads[2].posts[1]).toMatchObject({
      id: 'subject7-2',
      author: 'subject7',
      time: '2016-03-10T12:32:43.000Z',
      parent: null,
    });
    expect(notes).toEqual([
      '2 writings have neither title nor text and were left out',
      '1 subjects have no writing with a text and were left out',
      '1 subjects have no line in a truth file; they have no label depression',
      '1 writings stand in several files and were taken once',
      '1 subjects of the truth file have no XML file',
    ]);
  });

  it('calls the label risk, and keeps labels in words', async () => {
    const files = { 'a.xml': subject('a', { date: '2016-01-01 00:00:00', text: 'x' }), 'truth.txt': 'a positive\n' };
    expect((await importFrom(files)).threads[0].labels).toEqual({ risk: 'positive' });
    await expect(importFrom(files, { label: ['a', 'b'] })).rejects.toThrow('--label a,b gives 2 names');
  });

  it('says what is wrong with a file', async () => {
    const good = subject('a', { date: '2016-01-01 00:00:00', text: 'x' });
    const wrong: [Record<string, string>, string][] = [
      [{ 'a.xml': '<rss></rss>' }, 'a.xml: does not begin with <INDIVIDUAL> and its <ID>'],
      [{ 'a.xml': good.slice(0, -20) }, 'a.xml: breaks off before </INDIVIDUAL>'],
      [
        { 'a.xml': subject('a', { date: 'yesterday', text: 'x' }) },
        'a.xml writing 1: has no <DATE> such as 2016-03-10',
      ],
      [{ 'a.xml': good, 'truth.txt': 'a 1\na 0\n' }, 'truth.txt:2: a has the label 1 already'],
      [{ 'a.xml': good, 'truth.txt': 'a\n' }, 'truth.txt:1: must be a subject and its label'],
      [{ 'a.txt': good }, 'no erisk threads found'],
    ];
    for (const [files, message] of wrong) await expect(importFrom(files)).rejects.toThrow(message);
    const { threads, skipped } = await importFrom({ 'a.xml': good, 'b.xml': '<rss/>' }, { skipInvalid: true });
    expect(threads).toHaveLength(1);
    expect(skipped).toHaveLength(1);
  });
});
