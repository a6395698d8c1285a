import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readItems, textOf } from '../../../experiments/labelling/label-elsewhere.ts';
import { temporaryFolder, writeFiles } from '../../src/data/fixtures.ts';

const items = [
  { thread: '17', chosen: 'random', chance: 0.25, text: '1. ann 2024-03-18T01:10:13Z\nIt broke.' },
  { thread: 'b', chosen: 'margin', chance: 1, text: '1.  \nNo, it works.' },
] as const;

async function read(text: string, name = 'export.json') {
  return readItems(join(temporaryFolder({ [name]: text }), name), 'outcome');
}

describe('what other programs import', () => {
  it('is a list of tasks for Label Studio', () => {
    expect(JSON.parse(textOf.labelStudio(items))).toEqual(items.map((data) => ({ data })));
  });

  it('is a list of records for Argilla', () => {
    expect(JSON.parse(textOf.argilla(items))[0]).toEqual({
      id: '17',
      fields: { text: items[0].text },
      metadata: { chosen: 'random', chance: 0.25 },
    });
  });

  it('is a line for each example for doccano', () => {
    const lines = textOf.doccano(items).trim().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toEqual(items.map((own) => ({ ...own, label: [] })));
  });
});

describe('what other programs export', () => {
  const answered = [
    { thread: '17', answer: 'resolved', chosen: 'random', chance: 0.25 },
    { thread: 'b', answer: '', chosen: 'margin', chance: 1 },
  ];
  const [first, second] = items;

  // The forms are those of label-studio-sdk 2.1.2 and argilla 2.8.0, run on files that were written here.
  it('is read from Label Studio, without what was cancelled', async () => {
    const result = [
      { id: 'x', from_name: 'outcome', to_name: 'text', type: 'choices', value: { choices: ['resolved'] } },
    ];
    const tasks = [
      {
        id: 1,
        data: first,
        annotations: [{ id: 10, completed_by: { id: 1, email: 'a@b.c' }, was_cancelled: false, result }],
      },
      { id: 2, data: second, annotations: [{ id: 11, completed_by: 1, was_cancelled: true, result }] },
    ];
    expect(await read(JSON.stringify(tasks))).toMatchObject(answered);
    const small = [
      {
        ...first,
        id: 1,
        outcome: 'resolved',
        annotator: 'a@b.c',
        annotation_id: 10,
        created_at: null,
        lead_time: null,
      },
      { ...second, id: 2 },
    ];
    expect(await read(JSON.stringify(small))).toMatchObject(answered);
  });

  it('is read from Argilla', async () => {
    const common = { suggestions: {}, vectors: {}, status: 'pending', _server_id: null };
    const recordOf = ({ thread: id, text, chosen, chance }: (typeof items)[number], responses: object) => ({
      ...{ id, fields: { text }, metadata: { chosen, chance }, responses },
      ...common,
    });
    const given = { outcome: [{ value: 'resolved', user_id: '00000000-0000-0000-0000-000000000001' }] };
    expect(await read(JSON.stringify([recordOf(first, given), recordOf(second, {})]))).toMatchObject(answered);
  });

  // As backend/data_export/models.py of doccano 1.8 writes it.
  it('is read from doccano', async () => {
    const lines = [
      { id: '1', ...first, label: ['resolved'] },
      { id: 2, ...second, label: [] },
    ];
    expect(await read(lines.map((line) => JSON.stringify(line)).join('\n'), 'all.jsonl')).toMatchObject(answered);
  });

  it('has the chance of each draw, also as a spreadsheet writes it, and 1 where it has none', async () => {
    const table =
      'thread,class,chosen,chance\na,resolved,random,0.125\nb,resolved,random,"0,125"\nc,resolved,margin,\n';
    expect((await read(table, 'next.csv')).map(({ chance }) => chance)).toEqual([0.125, 0.125, 1]);
    expect(await read('thread,class\na,resolved\n', 'next.csv')).toMatchObject([{ chosen: 'margin', chance: 1 }]);
  });

  it('is refused where it is something else', async () => {
    await expect(read('[{"id": 3}]')).rejects.toThrow(
      'export.json item 1 is no labelled thread; give a table with the columns thread and class, or an export of Label',
    );
    await expect(read('[{"id": 3}')).rejects.toThrow('is not JSON');
    const folder = temporaryFolder();
    writeFiles(folder, { 'x.jsonl': '{"thread": "a"}\n{"thread": 1}\n' });
    await expect(readItems(join(folder, 'x.jsonl'), 'outcome')).rejects.toThrow('x.jsonl:2 is no labelled thread');
  });
});
