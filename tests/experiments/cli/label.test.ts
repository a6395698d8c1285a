import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { synthesizeThreads } from '../../../src/data/synthetic/stream.ts';
import type { Thread } from '../../../src/data/thread.ts';
import { loadThreads } from '../../../src/data/thread-file.ts';
import { makeThread, temporaryFolder } from '../../src/data/fixtures.ts';
import { earshot, start } from './command-line.ts';

const tickets = synthesizeThreads({ threads: 120, seed: 2 });
const outcomeOf = new Map(tickets.map(({ id, rumor }) => [id, rumor ? 'escalated' : 'resolved']));
const unlabelled = tickets.map((thread): Thread => ({ ...thread, rumor: null, veracity: null }));
const label = ['label', 'threads.jsonl', '--label', 'outcome'];
const classes = ['--classes', 'resolved,escalated'];

/** A folder with threads, and a table of some to label. */
function folder(threads: readonly Thread[] = unlabelled) {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, 'threads.jsonl'), threads.map((thread) => `${JSON.stringify(thread)}\n`).join(''));
  const succeed = async (...words: string[]) => {
    const { code, out, errors } = await earshot([...label, ...words], { cwd });
    expect(code, errors).toBe(0);
    return { out, errors };
  };
  const table = () => readFileSync(join(cwd, 'next.csv'), 'utf8');
  /** Fills in the column class, as somebody does in a spreadsheet. */
  const fillIn = (classOf: (id: string) => string) =>
    writeFileSync(
      join(cwd, 'next.csv'),
      table().replace(/^([^,\n]+),,(random|margin),/gm, (_, id, chosen) => `${id},${classOf(id)},${chosen},`),
    );
  return { cwd, succeed, table, fillIn };
}

describe('label without the page', () => {
  it('goes from threads without a label to a file that init takes', async () => {
    const { cwd, succeed, table, fillIn } = folder();
    await succeed(...classes, '--next', '40', '--csv', 'next.csv');
    expect(table()).toMatch(/^thread,class,chosen,chance,"posts \(class: resolved, escalated, can't tell\)"\n/);
    expect(table().match(/,,random,/g)).toHaveLength(40);
    fillIn((id) => outcomeOf.get(id) ?? '');
    const { out, errors } = await succeed('--read', 'next.csv', '--next', '20', '--csv', 'next.csv');
    expect(errors).toContain('next.csv: 40 labels read');
    const records = readFileSync(join(cwd, 'threads.outcome.labels.jsonl'), 'utf8').trim().split('\n').slice(1);
    expect(records.map((line) => JSON.parse(line).chance)).toEqual(records.map((_, place) => 1 / (120 - place)));
    expect(out).toContain('40 of 120 threads have the label outcome. All of them train, and 40\ntest: those');
    // The detector has learned from thirty, agrees with ten others, and chooses six of ten.
    expect(table().match(/,,margin,/g)).toHaveLength(12);
    fillIn((id) => outcomeOf.get(id) ?? '');
    const { out: second } = await succeed('--read', 'next.csv');
    expect(second).toContain('Next: npx earshot detect threads.labelled.jsonl --task outcome --train');
    const labelled = await loadThreads(join(cwd, 'threads.labelled.jsonl'));
    expect(labelled).toHaveLength(120);
    for (const { id, labels } of labelled)
      if (labels?.outcome !== undefined) expect(labels.outcome).toBe(outcomeOf.get(id));
    expect(labelled.filter(({ chosen }) => chosen === 'margin').length).toBeGreaterThanOrEqual(5);
    const detect = await earshot(['detect', 'threads.labelled.jsonl', '--train', '--task', 'outcome'], { cwd });
    expect(detect.code, detect.errors).toBe(0);
    const init = await earshot(
      ['init', 'threads.labelled.jsonl', '--task', 'outcome', '--risk-level', '30%', '--yes'],
      { cwd },
    );
    expect(init.code, init.errors).toBe(0);
  });

  it('goes on in the file that it wrote', async () => {
    const { cwd, succeed, fillIn, table } = folder();
    await succeed(...classes, '--next', '20', '--csv', 'next.csv');
    fillIn((id) => outcomeOf.get(id) ?? '');
    const { out: first } = await succeed('--read', 'next.csv');
    expect(first).toContain('Next: the same command again; a policy takes at least 40 labels');
    const written = readFileSync(join(cwd, 'threads.labelled.jsonl'), 'utf8');
    const words = ['label', 'threads.labelled.jsonl', '--label', 'outcome'];
    const { code, out, errors } = await earshot([...words, '--next', '3', '--csv', 'more.csv'], { cwd });
    expect(code, errors).toBe(0);
    expect(out).toContain(
      'Wrote threads.labelled.jsonl: 20 of 120 threads have the label outcome. All of them train, and 20',
    );
    expect(readFileSync(join(cwd, 'threads.labelled.jsonl'), 'utf8')).toBe(written);
    // What is taken back has no label any more.
    writeFileSync(join(cwd, 'next.csv'), table().replace(/,(resolved|escalated),/, ",can't tell,"));
    await earshot([...words, '--read', 'next.csv'], { cwd });
    const labelled = await loadThreads(join(cwd, 'threads.labelled.jsonl'));
    expect(labelled.filter(({ labels }) => typeof labels?.outcome === 'string')).toHaveLength(19);
    expect(labelled.filter(({ chosen }) => chosen !== undefined)).toHaveLength(19);
  });

  it('reads a table again without adding anything, and a changed class as a new answer', async () => {
    const { succeed, fillIn, table, cwd } = folder();
    await succeed(...classes, '--next', '3', '--csv', 'next.csv', '--strategy', 'random');
    fillIn(() => 'resolved');
    expect((await succeed('--read', 'next.csv')).errors).toContain('3 labels read');
    expect((await succeed('--read', 'next.csv')).errors).toContain('0 labels read');
    writeFileSync(join(cwd, 'next.csv'), table().replace(',resolved,', ",can't tell,"));
    const { errors, out } = await succeed('--read', 'next.csv');
    expect(errors).toContain('1 label read');
    expect(out).toContain('2 of 120 threads have the label outcome');
  });

  it('does not write over labels that were not read, or over another file', async () => {
    const { cwd, succeed, fillIn, table } = folder();
    const next = ['--next', '3', '--csv', 'next.csv'];
    await succeed(...classes, ...next);
    await succeed(...next);
    fillIn((id) => outcomeOf.get(id) ?? '');
    const filled = table();
    const refused = async (...words: string[]) => {
      const { code, errors } = await earshot([...label, ...words], { cwd });
      expect(code).toBe(1);
      return errors;
    };
    expect(await refused(...next)).toContain(
      'next.csv has 3 labels that were not read; give --read next.csv, too, or another file',
    );
    expect(table()).toBe(filled);
    expect(await refused('--next', '3', '--csv', 'threads.jsonl')).toContain(
      'threads.jsonl is there already and cannot be read, so it is not written over: threads.jsonl:1 is no labelled',
    );
    await succeed('--read', 'next.csv', '--annotator', 'anna');
    await succeed(...next, '--annotator', 'bob');
    expect(table()).not.toBe(filled);
  });

  it.each([
    [
      'a class that there is not',
      (text: string) => text.replace(',,random', ',closed,random'),
      'the class is "closed"; it must be one of resolved, escalated',
    ],
    [
      'a thread that there is not',
      (text: string) => text.replace(/\n[^,\n]+,,/, '\ngone,resolved,'),
      'there is no thread without a label of that id',
    ],
    [
      'no such columns',
      (text: string) => text.replace('thread,class', 'id,category'),
      'next.csv:2 is no labelled thread; give a table with the columns thread and class',
    ],
  ])('adds nothing of a table with %s', async (_, change, message) => {
    const { cwd, succeed, table } = folder();
    await succeed(...classes, '--next', '3', '--csv', 'next.csv');
    writeFileSync(join(cwd, 'next.csv'), change(table()));
    const { code, errors } = await earshot([...label, '--read', 'next.csv'], { cwd });
    expect(code).toBe(1);
    expect(errors).toContain(message);
    expect(readFileSync(join(cwd, 'threads.outcome.labels.jsonl'), 'utf8').trim().split('\n')).toHaveLength(1);
  });

  it('writes and reads what other programs do', async () => {
    const { cwd, succeed } = folder();
    for (const tool of ['label-studio', 'argilla', 'doccano']) {
      const { errors } = await succeed(...classes, '--next', '2', `--${tool}`, 'next.json');
      expect(errors).toContain('next.json: 2 threads to label; label them there, export them, then give --read');
    }
    const lines = readFileSync(join(cwd, 'next.json'), 'utf8').replaceAll('"label":[]', '"label":["resolved"]');
    writeFileSync(join(cwd, 'export.jsonl'), lines);
    expect((await succeed('--read', 'export.jsonl')).errors).toContain('export.jsonl: 2 labels read');
  });

  it('keeps ids that a spreadsheet would compute', async () => {
    const { succeed, fillIn, table } = folder([makeThread('=1+1', { rumor: null })]);
    await succeed(...classes, '--next', '1', '--csv', 'next.csv');
    expect(table()).toContain("\n'=1+1,,random,1,");
    fillIn(() => 'resolved');
    expect((await succeed('--read', 'next.csv')).out).toContain('1 of 1 threads have the label');
  });
});

describe('label', () => {
  it('learns in a process that answers lines', async () => {
    const { cwd, succeed, fillIn } = folder();
    await succeed(...classes, '--next', '40', '--csv', 'next.csv');
    fillIn((id) => outcomeOf.get(id) ?? '');
    await succeed('--read', 'next.csv');
    const { out } = await earshot([...label, '--answer-lines'], { cwd, stdin: Readable.from(['\n', '\n']) });
    const [first, second] = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(first).toMatchObject({ labels: 40, tested: 40, changed: null });
    expect(first.macroF1).toBeGreaterThan(0.3);
    expect(first.ranking.length).toBeGreaterThan(20);
    // Nothing was labelled in between.
    expect(second).toEqual({ ...first, changed: 0 });
  });

  it('has nothing to learn from one class', async () => {
    const { cwd, succeed, fillIn } = folder();
    await succeed(...classes, '--next', '30', '--csv', 'next.csv');
    fillIn(() => 'resolved');
    await succeed('--read', 'next.csv');
    const { out } = await earshot([...label, '--answer-lines'], { cwd, stdin: Readable.from(['\n']) });
    expect(out).toBe('null\n');
  });

  it('writes the labels when it is interrupted', async () => {
    const { cwd } = folder();
    const own = start([...label, ...classes], { cwd });
    own.interrupt();
    const { code, out, errors } = await own.outcome;
    expect([code, errors]).toEqual([0, expect.stringMatching(/label at http:\/\/127\.0\.0\.1:\d+\/\w{32}\/ as me/)]);
    expect(out).toContain('0 of 120 threads have the label outcome');
  });

  it.each([
    [[], 'its classes are not known; give them, such as --classes resolved,escalated'],
    [[...classes, '--annotator', ' '], 'It must be the name of whoever labels.'],
    [[...classes, '--next', '3'], '--next takes the file to write to'],
    [['--classes', 'resolved'], 'A label has 2 to 20 different classes'],
    [['--classes', 'a,b,a'], 'A label has 2 to 20 different classes'],
  ])('refuses %j', async (words, message) => {
    const { code, errors } = await earshot([...label, ...words], { cwd: folder().cwd });
    expect([code, errors]).toEqual([1, expect.stringContaining(message)]);
  });

  it('keeps the classes of a label that Earshot has', async () => {
    const { cwd } = folder();
    const words = ['label', 'threads.jsonl', '--label', 'rumor', '--next', '3', '--csv', 'next.csv'];
    const { code, errors } = await earshot([...words, '--classes', 'yes,no'], { cwd });
    expect([code, errors]).toEqual([
      1,
      expect.stringContaining(
        '--classes is yes,no, and the classes of the label rumor are non-rumor,rumor; leave --classes out',
      ),
    ]);
    expect((await earshot(words, { cwd })).code).toBe(0);
    expect(readFileSync(join(cwd, 'next.csv'), 'utf8')).toContain("class: non-rumor, rumor, can't tell");
  });

  it('takes the classes of labels that there are, and asks for the others', async () => {
    const some = unlabelled.map((thread, index) =>
      index < 10 ? { ...thread, labels: { outcome: index % 2 === 0 ? 'resolved' : 'escalated' } } : thread,
    );
    const { succeed, table } = folder(some);
    await succeed('--next', '200', '--csv', 'next.csv');
    expect(table()).toContain('class: escalated, resolved');
    expect(table().match(/,,(random|margin),/g)).toHaveLength(110);
  });
});
