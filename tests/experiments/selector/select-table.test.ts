import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readDelimitedFile } from '../../../src/data/importers/delimited-file.ts';
import { Random } from '../../../src/tensor/random.ts';
import { temporaryFolder } from '../../src/data/fixtures.ts';
import { earshot, start } from '../cli/command-line.ts';

const words = {
  favor: ['love', 'great', 'vote', 'hope', 'proud', 'thanks', 'win', 'best'],
  against: ['liar', 'shame', 'never', 'corrupt', 'worst', 'fraud', 'fail', 'sad'],
} as const;
const filler = ['the', 'today', 'people', 'news', 'city', 'who', 'with', 'again', 'about', 'time'];

interface Row {
  readonly tweet: string;
  readonly truth: 'favor' | 'against';
  readonly machine: 'favor' | 'against';
}

/** Texts with words of their stance, which the machine mistakes for the other one now and then. */
function plantedRows({ count, fooled }: { count: number; fooled: number }): Row[] {
  const random = Random.seeded({ seed: 5, purpose: 'planted table' });
  return Array.from({ length: count }, (_, row) => {
    const truth = row % 2 === 0 ? 'favor' : 'against';
    const some = <T>(from: readonly T[]) => from[random.integer(from.length)];
    const text = random.shuffled([some(words[truth]), some(words[truth]), some(filler), some(filler), some(filler)]);
    const isFooled = random.uniform() < fooled;
    const machine = isFooled ? (truth === 'favor' ? 'against' : 'favor') : truth;
    return { tweet: `"${text.join(', ')}" ${row}`, truth, machine };
  });
}

const field = (text: string) => `"${text.replaceAll('"', '""')}"`;

/** The first rows have a gold label. */
function table(rows: readonly Row[], { gold }: { gold: number }): string {
  return [
    'id,tweet,machine,stance',
    ...rows.map(({ tweet, truth, machine }, row) => [row, field(tweet), machine, row < gold ? truth : ''].join(',')),
    '',
  ].join('\n');
}

const select = ['select', 'labels.csv', '--text', 'tweet', '--label', 'machine', '--out', 'selected.csv'];

async function rowsOf(path: string) {
  const rows: Readonly<Record<string, string>>[] = [];
  for await (const { value } of readDelimitedFile(path, {})) rows.push(value);
  return rows;
}

describe('select from a table', () => {
  it('says that it begins anew where it was stopped', async () => {
    const cwd = temporaryFolder({ 'labels.csv': table(plantedRows({ count: 60, fooled: 0.2 }), { gold: 0 }) });
    const { interrupt, outcome } = start(select, { cwd });
    interrupt();
    const stopped = {
      code: 130,
      out: '',
      errors: expect.stringMatching(/earshot: stopped; the same command begins anew\n$/),
    };
    expect(await outcome).toEqual(stopped);
  });

  it('reads the encoding that it is told, and writes UTF-8', async () => {
    const planted = plantedRows({ count: 60, fooled: 0.2 });
    const text = table(planted, { gold: 0 }).replaceAll('today', 'ni\u00f1o');
    const cwd = temporaryFolder({ 'labels.csv': Buffer.from(text, 'latin1') });
    expect((await earshot(select, { cwd })).errors).toMatch(/not UTF-8; .*--encoding windows-1252 if .* “.*niño/);
    const { code, errors } = await earshot([...select, '--encoding', 'windows-1252'], { cwd });
    expect(code, errors).toBe(0);
    expect(readFileSync(join(cwd, 'selected.csv'), 'utf8')).toContain('niño');
  });

  it('writes the same rows with what to train on, and opens its report with what that gains', async () => {
    const planted = plantedRows({ count: 360, fooled: 0.4 });
    const cwd = temporaryFolder({ 'labels.csv': table(planted, { gold: 80 }) });
    const { code, out, errors } = await earshot([...select, '--gold', 'stance', '--json'], { cwd });
    expect(code, errors).toBe(0);
    const summary = JSON.parse(out);
    expect(summary).toMatchObject({ chosenBy: 'cross-fitting', items: 280, gold: 80, selected: 140 });
    expect(summary.worth.room.logLikelihood.low).toBeGreaterThan(0);
    expect(summary.worth.overRandom.logLikelihood.low).toBeGreaterThan(0);
    expect(errors.replaceAll('\n', ' ')).toMatch(
      /These selectors read words\. A sentence encoder .* with --encoder \S+\s*$/,
    );
    expect(summary.conclusion).toMatch(/^Selecting by \S+ is better than a random selection of the same classes/);

    const rows = await rowsOf(join(cwd, 'selected.csv'));
    expect(rows.map(({ tweet }) => tweet)).toEqual(planted.map(({ tweet }) => tweet));
    for (const [place, row] of rows.entries()) {
      const { truth, machine } = planted[place];
      if (place < 80) expect(row).toMatchObject({ selected: 'true', training_label: truth });
      else expect(row.training_label).toBe(row.selected === 'true' ? machine : '');
    }
    const isRight = (place: number) => planted[place].truth === planted[place].machine;
    const machineRows = [...rows.keys()].slice(80);
    const taken = machineRows.filter((place) => rows[place].selected === 'true');
    const rightOf = (places: readonly number[]) => places.filter(isRight).length / places.length;
    expect(rightOf(taken)).toBeGreaterThan(rightOf(machineRows) + 0.25);
    // The same share of every class.
    for (const name of ['favor', 'against'])
      expect(taken.filter((place) => planted[place].machine === name).length).toBe(
        Math.round(machineRows.filter((place) => planted[place].machine === name).length / 2),
      );

    const report = readFileSync(join(cwd, 'selected.md'), 'utf8');
    expect(report.split('\n')[2]).toBe(`**${summary.conclusion}**`);
    expect(report).toContain('the control');
    expect(report).toContain('## Left out, worst first');
  });

  it('says that there is nothing to gain where every weak label is right', async () => {
    const cwd = temporaryFolder({ 'labels.csv': table(plantedRows({ count: 240, fooled: 0 }), { gold: 80 }) });
    const { code, out, errors } = await earshot([...select, '--gold', 'stance'], { cwd });
    expect(code).toBe(0);
    expect(errors).not.toContain('--encoder');
    expect(out).toMatch(/^Nothing to gain here that 80 gold rows could\s+show/);
  });

  it('says without gold labels that nothing tells what it is worth', async () => {
    const cwd = temporaryFolder({ 'labels.csv': table(plantedRows({ count: 120, fooled: 0.2 }), { gold: 0 }) });
    const { code, out } = await earshot([...select, '--json'], { cwd });
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ selector: 'small-loss', chosenBy: 'no gold labels', worth: null });
    expect(JSON.parse(out).conclusion).toMatch(/^Not measured: with 0 gold rows/);
  });

  it('selects by vectors of an encoder, and says so', async () => {
    const planted = plantedRows({ count: 240, fooled: 0.4 });
    const cwd = temporaryFolder({ 'labels.csv': table(planted, { gold: 80 }) });
    const selected = async (...more: string[]) => {
      const { code, errors } = await earshot([...select, '--gold', 'stance', '--selector', 'seed-agreement', ...more], {
        cwd,
      });
      expect(code, errors).toBe(0);
      expect(errors.includes('These selectors read words')).toBe(more.length === 0);
      return rowsOf(join(cwd, 'selected.csv'));
    };
    const byWords = await selected();
    const byVectors = await selected('--encoder', '{ name: hashing, dimensions: 64 }');
    expect(readFileSync(join(cwd, 'selected.md'), 'utf8')).toContain('reading vectors of a sentence encoder');
    expect(byVectors.map(({ selection_score }) => selection_score)).not.toEqual(
      byWords.map(({ selection_score }) => selection_score),
    );
    const taken = [...planted.keys()].slice(80).filter((place) => byVectors[place].selected === 'true');
    const right = taken.filter((place) => planted[place].truth === planted[place].machine);
    expect(right.length / taken.length).toBeGreaterThan(0.75);
  });

  it('gives the same bytes again', async () => {
    const cwd = temporaryFolder({ 'labels.csv': table(plantedRows({ count: 120, fooled: 0.3 }), { gold: 40 }) });
    const written = async () => {
      const { out } = await earshot([...select, '--gold', 'stance'], { cwd });
      return [out, ...['selected.csv', 'selected.md'].map((name) => readFileSync(join(cwd, name), 'utf8'))];
    };
    expect(await written()).toEqual(await written());
  });

  const rows = plantedRows({ count: 60, fooled: 0.3 });
  const alwaysFavor = rows.map((row) => ({ ...row, machine: 'favor' as const }));

  it.each([
    ['one class', table(alwaysFavor, { gold: 20 }), [], /all 40 weak labels .* are "favor"/],
    ['no column', table(rows, { gold: 20 }), ['--confidence', 'machin'], /no column "machin" .*did you mean "machine"/],
    ['a confidence that is none', table(rows, { gold: 20 }), ['--confidence', 'id'], /from 0 to 1; found "2"/],
    ['few items', table(rows.slice(0, 30), { gold: 20 }), ['--gold', 'stance'], /10 weak labels .* at least 20/],
    [
      'other words',
      table(rows, { gold: 20 }).replaceAll(/,(favor|against)$/gm, ',$1!'),
      ['--gold', 'stance'],
      /share no class/,
    ],
    [
      'two columns of one name',
      table(rows, { gold: 20 }).replace('id,', 'stance,'),
      ['--gold', 'stance'],
      /would be called "stance"/,
    ],
    ['a header alone', table([], { gold: 0 }), [], /has 0 weak labels .* of its 0 rows/],
    ['a selector without gold', table(rows, { gold: 0 }), ['--selector', 'influence'], /needs gold labels/],
    [
      'an unknown encoder',
      table(rows, { gold: 20 }),
      ['--encoder', 'universal'],
      /--encoder universal is no encoder[\s\S]*universal-sentence-encoder/,
    ],
    [
      'an encoder that is none',
      table(rows, { gold: 20 }),
      ['--encoder', '3'],
      /--encoder 3 is no encoder; give universal-sentence-encoder, a folder/,
    ],
    [
      'a second selection',
      table(rows, { gold: 20 }).replace('id,', 'selected,'),
      ['--gold', 'stance'],
      /two columns of the selection would be called "selected": .* Rename one of them, or give the table as it was before/,
    ],
  ])('refuses %s', async (_, content, options, message) => {
    const cwd = temporaryFolder({ 'labels.csv': content });
    const { code, errors } = await earshot([...select, ...(options.length === 0 ? ['--gold', 'stance'] : options)], {
      cwd,
    });
    expect(code).toBe(1);
    expect(errors).toMatch(message);
  });

  it('refuses what is no table, and a selection that could not be written as one, before it reads', async () => {
    const cwd = temporaryFolder({});
    const errorsOf = async (...words: string[]) => (await earshot(words, { cwd })).errors;
    expect(await errorsOf('select', 'runs/mine/agent/seed-1', ...select.slice(2))).toMatch(
      /^error: command-argument value 'runs\/mine\/agent\/seed-1' is invalid for argument 'table'\. It must be a table .* is in its last-selection\.jsonl\.\n/,
    );
    expect(await errorsOf(...select, '--out', 'selected.txt')).toMatch(
      /'selected\.txt' is invalid\. A selection is a table/,
    );
    expect(await errorsOf(...select, '--share', '0')).toMatch(/'0' is invalid\. It must be a share above 0/);
    expect(await errorsOf(...select.slice(0, 2))).toContain("required option '--out <file>' not specified");
  });

  it('warns of a class that covers nearly all, and of one that the machine never says', async () => {
    const mostly = rows.map((row, place) => ({ ...row, machine: place % 10 === 0 ? row.machine : ('favor' as const) }));
    const cwd = temporaryFolder({
      'labels.csv': table(mostly, { gold: 24 }).replace(/,(favor|against)$/m, ',neither'),
    });
    const { code, errors } = await earshot([...select, '--gold', 'stance'], { cwd });
    expect(code).toBe(0);
    expect(errors).toMatch(/warning: \d+% of the weak labels are "favor" \(\d+ of 36\)/);
    expect(errors).toMatch(/warning: the machine never says neither, which is a gold label/);
  });
});

describe('words of a table of labels that mean nothing somewhere', () => {
  const rows = plantedRows({ count: 60, fooled: 0.2 });
  const csv = (goldOf: (row: Row, index: number) => string, labelOf = (row: Row, _: number): string => row.machine) =>
    `tweet,machine,stance\n${rows.map((row, index) => `${field(row.tweet)},${labelOf(row, index)},${goldOf(row, index)}`).join('\n')}\n`;
  const withGold = [...select, '--gold', 'stance'];

  it('are words unless the user says otherwise, and the reason where none is left to select', async () => {
    const cwd = temporaryFolder({ 'labels.csv': csv(({ truth }, index) => (index < 30 ? truth : 'NA')) });
    const refused = await earshot(withGold, { cwd });
    expect(refused.code).toBe(1);
    expect(refused.errors).toContain(
      'earshot: column "stance": "NA" is read as a word (30 rows); to read such words as nothing, add --null NA\n',
    );
    expect(refused.errors).toContain(
      'labels.csv has 0 weak labels on rows without gold label, and at least 20 are needed to select from: of its 60 rows, 60 have a weak label and 60 a gold label',
    );
    const run = await earshot([...withGold, '--null', 'NA'], { cwd });
    expect(run.code, run.errors).toBe(0);
    expect(run.errors).toContain('column "stance": "NA" is read as nothing (30 rows)');
    expect((await rowsOf(join(cwd, 'selected.csv'))).filter(({ stance }) => stance === 'NA')).toHaveLength(30);
  });

  it('are read with the quotes that the user gives', async () => {
    const cwd = temporaryFolder({ 'labels.csv': 'tweet,machine,stance\nx,favor,\n' });
    expect((await earshot([...select, '--quote', 'ab'], { cwd })).errors).toContain(
      '--quote is "ab"; it must be one character',
    );
  });

  it('are no weak label where the user says so', async () => {
    const labels = csv(
      () => '',
      ({ machine }, index) => (index % 3 === 0 ? 'none' : index % 3 === 1 ? '\\N' : machine),
    );
    const cwd = temporaryFolder({ 'labels.csv': labels });
    const words = [...select, '--null', 'none'];
    expect((await earshot([...words, '--json'], { cwd })).errors).toContain(
      'column "machine": "none" is read as nothing (20 rows), "\\\\N" is read as nothing (20 rows)',
    );
    const selected = await rowsOf(join(cwd, 'selected.csv'));
    expect(selected.filter((row) => row.selection_reason === 'no label')).toHaveLength(40);
  });

  it('are folded, and told apart by case with a warning', async () => {
    const labels = csv(
      () => '',
      ({ machine }, index) => (index % 2 === 0 ? `${machine}\u200b` : machine.replace('favor', 'Favor')),
    );
    const cwd = temporaryFolder({ 'labels.csv': `${labels}tweet,machine,stance\n` });
    const run = await earshot([...select, '--json'], { cwd });
    expect(run.code, run.errors).toBe(0);
    expect(run.errors).toContain('warning: "Favor" and "favor" differ only in case and are different classes');
    expect(run.errors).toContain('left out 1 row that repeats the header');
    expect(JSON.parse(run.out)).toMatchObject({ items: 60 });
  });
});
