import { parquetWriteBuffer } from 'hyparquet-writer';
import { describe, expect, it } from 'vitest';
import { importThreads } from '../../../src/data/import-threads.ts';
import type { ImportOptions } from '../../../src/data/importers/importer.ts';
import type { Thread } from '../../../src/data/thread.ts';
import { collect, temporaryFolder } from './fixtures.ts';

/*
 * Tables that programs and people really write, and that were read wrongly. Each test has a case that was found, and neighbours.
 */

interface Importing extends ImportOptions {
  readonly format?: string;
  readonly name?: string;
}

async function imported(content: string | Buffer, { format = 'csv', name = 'posts.csv', ...options }: Importing = {}) {
  const folder = temporaryFolder({ [name]: content });
  const notes: string[] = [];
  const warnings: string[] = [];
  const skipped: string[] = [];
  const threads = await collect(
    importThreads(format, {
      ...options,
      paths: [`${folder}/${name}`],
      onNote: (note) => notes.push(note),
      onWarning: (warning) => warnings.push(warning),
      onSkipped: (line) => skipped.push(line.replace(`skipped ${folder}/`, '')),
    }),
  ).catch((error: Error) => {
    throw new Error(error.message.replaceAll(`${folder}/`, ''));
  });
  return { threads, notes, warnings, skipped };
}

const label = (...values: readonly unknown[]) => values.map((value) => (value === null ? undefined : { label: value }));
const labels = (threads: readonly Thread[]) => threads.map((thread) => thread.labels);
const times = (threads: readonly Thread[]) => threads.flatMap(({ posts }) => posts.map(({ time }) => time));

/** The same posts as CSV, JSON Lines and Parquet. */
function tables(
  rows: readonly Readonly<Record<string, string | null>>[],
): [string, Importing & { content: string | Buffer }][] {
  const names = Object.keys(rows[0]);
  const csv = [names, ...rows.map((row) => names.map((name) => row[name] ?? ''))].map((row) => `${row.join(',')}\n`);
  const data = names.map((name) => ({ name, data: rows.map((row) => row[name]), type: 'STRING' as const }));
  return [
    ['csv', { content: csv.join('') }],
    ['posts', { format: 'posts', name: 'a.jsonl', content: rows.map((row) => `${JSON.stringify(row)}\n`).join('') }],
    [
      'parquet',
      { format: 'parquet', name: 'a.parquet', content: Buffer.from(parquetWriteBuffer({ columnData: data })) },
    ],
  ];
}

describe('a word that means nothing somewhere', () => {
  const rows = [
    { thread: 't1', text: 'NA', label: 'bullying', author: 'None' },
    { thread: 't2', text: 'none', label: 'none', author: null },
    { thread: 't3', text: 'null', label: 'N/A', author: 'nan' },
    { thread: 't4', text: '-', label: null, author: '\\N' },
  ];

  it.each(tables(rows))('is a word of %s, and counted', async (_, { content, ...options }) => {
    const { threads, notes } = await imported(content, options);
    expect(labels(threads)).toEqual(label('bullying', 'none', 'N/A', null));
    expect(threads.map(({ posts: [post] }) => [post.text, post.author])).toEqual([
      ['NA', 'None'],
      ['none', null],
      ['null', 'nan'],
      ['-', null],
    ]);
    expect(notes).toContain(
      'column "label": "none" is read as a word (1 row), "N/A" is read as a word (1 row); to read such words as nothing, add --null none --null N/A',
    );
    expect(notes).toContainEqual(expect.stringMatching(/^column "author": .*"\\\\N" is read as nothing \(1 row\)/));
  });

  it.each(tables(rows))(
    'is nothing where the user says so, but not in a text: %s',
    async (_, { content, ...options }) => {
      const { threads, notes } = await imported(content, { ...options, nulls: ['none', 'NA', 'None'] });
      expect(labels(threads)).toEqual(label('bullying', null, 'N/A', null));
      expect(threads.map(({ posts: [post] }) => [post.text, post.author])).toEqual([
        ['NA', null],
        ['none', null],
        ['null', 'nan'],
        ['-', null],
      ]);
      expect(notes).toContain(
        'column "label": "none" is read as nothing (1 row), "N/A" is read as a word (1 row); to read such words as nothing, add --null N/A',
      );
    },
  );

  it.each(tables(rows))('can be renamed in %s', async (_, { content, ...options }) => {
    const table = { labelMap: { None: 'neutral' } };
    expect(labels((await imported(content, { ...options, table })).threads)).toEqual(
      label('bullying', 'neutral', 'N/A', null),
    );
  });

  it('is named where it can be nothing else', async () => {
    await expect(imported('thread,text,time\nt,x,nan\n')).rejects.toThrow(
      'column "time": must be a time: ISO 8601 such as 2014-08-09T22:33:06Z, or Unix seconds or milliseconds; if it means that there is nothing, add --null nan; found "nan"',
    );
    await expect(imported('thread,text,rumor\nt,x,NULL\n')).rejects.toThrow(/add --null NULL; found "NULL"/);
    expect(times((await imported('thread,text,time\nt,x,nan\n', { nulls: ['nan'] })).threads)).toEqual([null]);
  });

  it('is a number of Parquet that is none', async () => {
    const columnData = [
      { name: 'thread', data: ['t', 'u'], type: 'STRING' as const },
      { name: 'text', data: ['x', 'y'], type: 'STRING' as const },
      { name: 'label', data: [Number.NaN, 1], type: 'DOUBLE' as const },
    ];
    const { threads } = await imported(Buffer.from(parquetWriteBuffer({ columnData })), {
      format: 'parquet',
      name: 'a.parquet',
    });
    expect(labels(threads)).toEqual(label(null, '1'));
  });

  it('is nothing of a database dump everywhere', async () => {
    const { threads, notes } = await imported(
      'thread_id,post_id,parent,text,author,label\nt0,p00,\\N,first,\\N,a\nt0,p01,p00,\\N,\\N,a\nt1,p10,\\N,x,\\N,\\N\n',
    );
    expect(threads).toMatchObject([
      {
        labels: { label: 'a' },
        posts: [
          { author: null, parent: null },
          { parent: 'p00', text: '' },
        ],
      },
      { posts: [{ author: null, parent: null }] },
    ]);
    expect(labels(threads)).toEqual(label('a', null));
    expect(notes).toContain('column "label": "\\\\N" is read as nothing (1 row)');
    expect(notes).toContain('column "text": "\\\\N" is read as nothing (1 row)');
  });

  it('is a label of other formats by the same rule', async () => {
    const articles = ['none', '\\N', '', 'NA', 'a'].map((stance, id) => ({
      id: `${id}`,
      text: 'x',
      labels: { stance },
    }));
    const content = articles.map((article) => `${JSON.stringify(article)}\n`).join('');
    const { threads, notes } = await imported(content, { format: 'articles', name: 'a.jsonl', nulls: ['NA'] });
    expect(threads.map(({ labels }) => labels?.stance)).toEqual(['none', null, null, null, 'a']);
    expect(notes).toEqual([
      'column "stance": "none" is read as a word (1 row), "\\\\N" is read as nothing (1 row), "NA" is read as nothing (1 row); to read such words as nothing, add --null none',
    ]);
  });
});

describe('a key of the map of labels', () => {
  const csv = 'thread,text,label\nt,x,fake\nu,y,real\n';

  it('has to meet a value', async () => {
    await expect(imported(csv, { table: { labelMap: { Fake: 'rumor', hoax: 'rumor' } } })).rejects.toThrow(
      '--label-map "hoax": no cell of the labels (label) is "hoax"; its values are "fake", "real"',
    );
    await expect(imported('thread,text\nt,x\n', { table: { labelMap: { a: 'b' } } })).rejects.toThrow(
      'is "a"; no column of labels is read; name one with --label, --rumor, --veracity or --stance',
    );
  });

  it('meets a value that looks the same, or that a program has made a fraction of', async () => {
    const table = { labelMap: { 'cafe\u0301': 'bar', 1: 'yes' } };
    expect(labels((await imported('thread,text,label\nt,x,CAFÉ\u200b\nu,y,1.0\n', { table })).threads)).toEqual(
      label('bar', 'yes'),
    );
  });
});

describe('a quote at the beginning of a text', () => {
  const tsv = [
    'thread_id\tpost_id\ttime\ttext\tlabel',
    't1\tp1\t2024-01-01T00:00:00Z\t"I cannot believe this\ta',
    't1\tp2\t2024-01-01T00:01:00Z\tplain reply one\ta',
    't1\tp3\t2024-01-01T00:02:00Z\the said so"\ta',
    't2\tp4\t2024-01-01T00:00:00Z\tanother thread\tb',
    't2\tp5\t2024-01-01T00:03:00Z\t"Quoted" - then more text\tb',
    '',
  ].join('\n');

  it('swallows no rows silently', async () => {
    await expect(imported(tsv, { name: 'posts.tsv' })).rejects.toThrow(
      /^posts\.tsv:2, column "text": a quoted field of 3 lines contains what look like rows; if quotes belong to the texts, read the file with --quote none; .* with --quote '"'; found "I cannot/,
    );
    const { skipped } = await imported(tsv, { name: 'posts.tsv', skipInvalid: true });
    expect(skipped).toEqual([expect.stringMatching(/^posts\.tsv:2, column "text"/)]);
  });

  it('means nothing where the user says so', async () => {
    const { threads } = await imported(tsv, { name: 'posts.tsv', table: { quote: 'none' } });
    expect(threads.map(({ posts }) => posts.map(({ text }) => text))).toEqual([
      ['"I cannot believe this', 'plain reply one', 'he said so"'],
      ['another thread', '"Quoted" - then more text'],
    ]);
    const trusted = await imported(tsv, { name: 'posts.tsv', table: { quote: '"' } });
    expect(trusted.threads.map(({ posts }) => posts.length)).toEqual([1, 2]);
    const single = await imported("thread,text\nt,'a, \"b\n'\n", { table: { quote: "'" } });
    expect(single.threads[0].posts[0].text).toBe('a, "b\n');
    await expect(imported(tsv, { table: { quote: '""' } })).rejects.toThrow(
      '--quote is "\\"\\""; it must be one character, or none',
    );
  });

  it.each([
    ['the next row closes it', 'thread,post,text\nt1,p1,"I said\nt1,p2,he said"\n'],
    ['the next row opens another', 'thread,post,text,label\nt1,p1,"I said,a\nt1,p2,"he said,b\n'],
    ['the text comes first', 'text,thread\n"I said,t1\nhe said",t2\n'],
    ['labels differ', 'thread;text;label\n12;"I said;rumor\n13;he said;non-rumor\n14;so";rumor\n'],
  ])('is found where %s', async (_, content) => {
    await expect(imported(content)).rejects.toThrow(
      /^posts\.csv:2, column "text": a quoted field of \d lines contains what look like rows/,
    );
  });

  it.each([
    ['with commas', 't1,p1,"Dear all,\nyes, no, maybe\n\nHello, Ann, thanks",a'],
    ['with a table', 't1,p1,"name;age\nann;5\nbob;6",a'],
    ['with paragraphs and doubled quotes', 't1,p1,"He said ""no""\n\n""yes"", she said",a'],
    ['with numbers beside long ids', '498280126254428160,p1,"Views\n\n4,005,579,000\n",a'],
    ['with lines of one word', 't1,p1,"one\ntwo\nthree",a'],
  ])('opens a text of several lines: %s', async (_, row) => {
    const { threads } = await imported(`thread,post,text,label\n${row}\n`);
    expect(threads[0].posts[0].text.split('\n').length).toBeGreaterThan(2);
  });

  it('without an end is refused with the line where it stands', async () => {
    await expect(imported('thread,text\nt,x\nt,"y\nt,z\n')).rejects.toThrow(
      /^posts\.csv:3: a quoted field has no end, so that everything behind the beginning of this row would be in it; .*--quote none/,
    );
  });
});

describe('numbers that are times', () => {
  it.each([
    ['20240301', '2024-03-01T00:00:00.000Z'],
    ['20240301120501', '2024-03-01T12:05:01.000Z'],
    ['20240301.0', '2024-03-01T00:00:00.000Z'],
  ])('may be days: %s', async (number, time) => {
    for (const [, { content, ...options }] of tables([{ thread: 't', text: 'x', date: number }])) {
      const { threads, notes } = await imported(content, options);
      expect(times(threads)).toEqual([time]);
      expect(notes).toContainEqual(expect.stringMatching(/^1 times name no zone and are taken for UTC/));
    }
    const json = `{"thread": "t", "text": "x", "date": ${number}}\n`;
    expect(times((await imported(json, { format: 'posts', name: 'a.jsonl' })).threads)).toEqual([time]);
  });

  it('are no years', async () => {
    await expect(imported('thread,text,date\nt,x,2020\nt,y,2021\n')).rejects.toThrow(
      'posts.csv:2, column "date": is a year alone; write the day, too, such as 2014-08-09; found "2020"',
    );
    const { threads, warnings } = await imported('thread,text,time\nt,x,0\nt,y,60\nt,z,2020\n');
    expect(times(threads).at(-1)).toBe('1970-01-01T00:33:40.000Z');
    expect(warnings).toEqual([
      expect.stringMatching(/^3 times lie before 1997, such as 1970-01-01T00:00:00\.000Z \(post "t" of "t"\)/),
    ]);
  });

  it('are no times where they are 0 among others', async () => {
    const { threads, warnings } = await imported('thread,id,text,time\nt,a,x,1700000000\nt,b,y,0\nt,c,z,1700000060\n');
    expect(threads[0].posts.map(({ id, time }) => [id, time])).toEqual([
      ['a', '2023-11-14T22:13:20.000Z'],
      ['b', null],
      ['c', '2023-11-14T22:14:20.000Z'],
    ]);
    expect(warnings).toEqual(['1 times are 0, which lies before 1990; they are read as no time']);
  });

  it('are counted where they lie in the future, of any format', async () => {
    const now = new Date('2024-01-01T00:00:00Z');
    const { warnings } = await imported('thread,text,time\nt,x,1700000000\nt,y,1800000000\n', { now });
    expect(warnings).toEqual([
      expect.stringMatching(/^1 times lie in the future, such as 2027-01-15T08:00:00\.000Z \(post "t-1" of "t"\)/),
    ]);
    const thread = { id: 'a', posts: [{ id: 'a', text: 'x', time: '2025-01-01T00:00:00Z' }] };
    const read = await imported(JSON.stringify(thread), { format: 'threads', name: 'a.jsonl', now });
    expect(read.warnings).toHaveLength(1);
    expect((await imported('thread,text,time\nt,x,1800000000\n')).warnings).toEqual([]);
  });
});

describe('labels and ids that look the same', () => {
  it.each([
    ['composed and decomposed', 'café', 'cafe\u0301'],
    ['with a character of no width', 'spam', 'spam\u200b'],
    ['with spaces of several kinds', 'not spam', 'not\u00a0 spam'],
    ['with a byte order mark', '\ufeffspam', 'spam'],
  ])('are the same: %s', async (_, one, other) => {
    for (const [, { content, ...options }] of tables([
      { thread: `t ${one}`, post: `a ${one}`, parent: null, text: one, label: one },
      { thread: `t ${other}`, post: 'b', parent: `a ${other}`, text: other, label: other },
    ])) {
      const { threads } = await imported(content, options);
      const [folded] = [one.normalize('NFC').replace('\ufeff', '')];
      expect(threads).toMatchObject([
        {
          id: `t ${folded}`,
          labels: { label: folded },
          posts: [{ text: one }, { parent: `a ${folded}`, text: other }],
        },
      ]);
    }
  });

  it('are told apart by case, with a warning', async () => {
    const { threads, warnings } = await imported('thread,text,label\nt,x,Refund \nu,y,refund\nv,z,other\n');
    expect(labels(threads)).toEqual(label('Refund', 'refund', 'other'));
    expect(warnings).toEqual([
      'the label "label" has the values "Refund" and "refund", which differ only in case and are different classes; --label-map Refund=Refund makes them one',
    ]);
    const table = { labelMap: { refund: 'refund' } };
    const mapped = await imported('thread,text,label\nt,x,Refund \nu,y,refund\n', { table });
    expect([labels(mapped.threads), mapped.warnings]).toEqual([label('refund', 'refund'), []]);
  });

  it('are named in our own files, which the import does not change', async () => {
    const content = ['café', 'cafe\u0301']
      .map(
        (value, id) =>
          `${JSON.stringify({ id: `${id}`, labels: { place: value }, posts: [{ id: 'a', text: 'x' }] })}\n`,
      )
      .join('');
    const { threads, warnings } = await imported(content, { format: 'threads', name: 'a.jsonl' });
    expect(threads.map(({ labels }) => labels?.place)).toEqual(['café', 'cafe\u0301']);
    expect(warnings).toEqual([
      'the label "place" has the values "caf\\u00e9" and "cafe\\u0301", which differ only in characters that look the same and are different classes',
    ]);
  });

  it('are folded in other formats, and refused where two posts would be one', async () => {
    const article = (id: string, stance: string) => `${JSON.stringify({ id, text: 'x', labels: { stance } })}\n`;
    const options = { format: 'articles', name: 'a.jsonl' };
    const { threads } = await imported(article('a\u200b', 'not\u00a0spam') + article('b', 'not spam'), options);
    expect(threads).toMatchObject([
      { id: 'a', labels: { stance: 'not spam' }, posts: [{ id: 'a' }] },
      { id: 'b', labels: { stance: 'not spam' } },
    ]);
    await expect(imported(article('a\u200b', 'x') + article('a', 'y'), options)).rejects.toThrow(
      'repeats the id of an earlier thread',
    );
    await expect(imported(article('\u200b', 'x'), options)).rejects.toThrow(
      'an id must have characters that can be seen',
    );
    const seq = { timeline: [1.7e9, 1.7e9, 1.7e9], tids: ['a', 'b', 'b\u200b'], texts: ['x', 'y', 'z'] };
    await expect(
      imported(JSON.stringify({ a: { label: 1, seq } }), { format: 'eard', name: 'a.json' }),
    ).rejects.toThrow('posts.2.id: looks the same as the id of another post of the thread');
  });

  it('may be names of columns', async () => {
    const { threads } = await imported('thread,text,cafe\u0301\u200b\nt,x,a\n', {
      table: { columns: { label: 'café' } },
    });
    expect(labels(threads)).toEqual([{ café: 'a' }]);
    const content = '{"thread": "t", "text": "x", "cafe\u0301": "a"}\n';
    const table = { columns: { label: 'café' } };
    expect(labels((await imported(content, { format: 'posts', name: 'a.jsonl', table })).threads)).toEqual([
      { café: 'a' },
    ]);
  });
});

describe('a second header', () => {
  const first = 'thread_id,text,label\nt0,one,y\n';
  const note = '1 rows repeat the header, as where files were put together, and were left out';

  it.each([
    ['as it is', 'thread_id,text,label\nt1,two,x\n'],
    ['behind a byte order mark', '\ufeffthread_id,text,label\nt1,two,x\n'],
    ['with spaces', 'thread_id , text,label\nt1,two,x\n'],
  ])('is left out: %s', async (_, second) => {
    const { threads, notes } = await imported(first + second);
    expect(threads.map(({ id }) => id)).toEqual(['t0', 't1']);
    expect(notes).toContain(note);
  });

  it('is left out of tables that were made of such files', async () => {
    const rows = [
      { thread_id: 't0', text: 'one', label: 'y' },
      { thread_id: 'thread_id', text: 'text', label: 'label' },
      { thread_id: 't1', text: 'two', label: 'x' },
    ];
    for (const [, { content, ...options }] of tables(rows)) {
      const { threads, notes } = await imported(content, options);
      expect(threads.map(({ id }) => id)).toEqual(['t0', 't1']);
      expect(notes).toContain(note);
    }
  });

  it('is refused where its columns have another order', async () => {
    await expect(imported(`${first}text,thread_id,label\ntwo,t1,x\n`, { skipInvalid: true })).rejects.toThrow(
      'posts.csv:3: a second header has its columns in another order (text, thread_id, label) than the first (thread_id, text, label); split the file there and give both parts',
    );
  });
});

describe('line ends', () => {
  const rows = ['thread_id;text;label', 't0;"one\r\ntwo";y', 't0;three;y', 't1;"a\rb\nc";x', ''];

  it.each([
    ['after the header only: CR and LF', ['\r\n', '\n', '\n', '\n']],
    ['of all kinds', ['\r\n', '\n', '\r', '\r\n']],
    ['CR', ['\r', '\r', '\r', '\r']],
    ['CR and LF', ['\r\n', '\r\n', '\r\n', '\r\n']],
    ['missing at the end', ['\n', '\r\n', '\n', '']],
  ])('are read: %s', async (_, ends) => {
    const content = rows.map((row, index) => `${row}${ends[index] ?? ''}`).join('');
    const { threads } = await imported(content);
    expect(threads.map(({ posts, labels }) => [labels?.label, ...posts.map(({ text }) => text)])).toEqual([
      ['y', 'one\r\ntwo', 'three'],
      ['x', 'a\rb\nc'],
    ]);
  });

  it('are counted, whatever they are', async () => {
    for (const end of ['\n', '\r\n', '\r'])
      await expect(imported(['thread,text,time', `t,"a${end}b",0`, 't,c,soon', ''].join(end))).rejects.toThrow(
        /^posts\.csv:4, column "time"/,
      );
  });
});

it('takes names that every object has for columns and values, where they are kept', async () => {
  const table = { columns: { label: 'constructor', author: 'toString' } };
  const rows = [
    { thread: 't', text: 'x', constructor: 'valueOf', toString: '__proto__' },
    { thread: 'u', text: 'y', constructor: null, toString: null },
  ];
  for (const [, { content, ...options }] of tables(rows)) {
    const { threads } = await imported(content, { ...options, table });
    expect(threads.map(({ labels, posts }) => [labels, posts[0].author])).toEqual([
      [{ constructor: 'valueOf' }, '__proto__'],
      [undefined, null],
    ]);
  }
  const lacking = '{"thread": "t", "text": "x", "constructor": "a"}\n{"thread": "u", "text": "y"}\n';
  const { threads } = await imported(lacking, {
    format: 'posts',
    name: 'a.jsonl',
    table: { columns: { label: 'constructor' } },
  });
  expect(labels(threads)).toEqual([{ constructor: 'a' }, undefined]);
  const proto = await imported('thread,text,__proto__\nt,x,a\n', { table: { columns: { label: '__proto__' } } });
  expect(Object.entries(proto.threads[0].labels ?? {})).toEqual([['__proto__', 'a']]);
});

it('says at the import that a label has more values than a task has classes', async () => {
  const table = (count: number) =>
    `thread,text,label\n${Array.from({ length: 60 }, (_, row) => `t${row},x,c${row % count}`).join('\n')}\n`;
  expect((await imported(table(21))).warnings).toEqual([
    'the label "label" has 21 different values, such as "c0", "c1", "c2": a task has 2 to 20 classes, so put some together with --label-map, or take another column',
  ]);
  expect((await imported(table(20))).warnings).toEqual([]);
});

describe('a column of Parquet', () => {
  /** Of two posts, with a column of its own beside thread and text. */
  const read = (element: object, data: readonly unknown[]) => {
    const text = { type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'REQUIRED' } as const;
    const columnData = [
      { name: 'thread', data: ['t', 't'] },
      { name: 'text', data: ['x', 'y'] },
      { name: 'own', data: [...data] },
    ];
    const schema = [
      { name: 'root', num_children: 3 },
      { ...text, name: 'thread' },
      { ...text, name: 'text' },
      { repetition_type: 'OPTIONAL' as const, ...element, name: 'own' },
    ];
    return {
      as: (column: 'postId' | 'time' | 'label') =>
        imported(Buffer.from(parquetWriteBuffer({ columnData, schema })), {
          format: 'parquet',
          name: 'a.parquet',
          table: { columns: { [column]: 'own' } },
        }),
    };
  };
  const ids = (threads: readonly Thread[]) => threads.flatMap(({ posts }) => posts.map(({ id }) => id));
  const decimal = { converted_type: 'DECIMAL', precision: 38, scale: 0 };

  it.each([
    ['in 16 bytes', { ...decimal, type: 'FIXED_LEN_BYTE_ARRAY', type_length: 16 }],
    ['in 64 bits', { ...decimal, type: 'INT64', precision: 18 }],
    [
      'by their logical type',
      {
        type: 'FIXED_LEN_BYTE_ARRAY',
        type_length: 12,
        ...decimal,
        logical_type: { type: 'DECIMAL', precision: 28, scale: 0 },
      },
    ],
  ])('of decimals keeps all digits of ids: %s', async (_, element) => {
    const { threads } = await read(element, [138953000000000001n, 138953000000000002n]).as('postId');
    expect(ids(threads)).toEqual(['138953000000000001', '138953000000000002']);
  });

  it('of decimals with a fraction keeps it where there is one', async () => {
    const element = { ...decimal, type: 'FIXED_LEN_BYTE_ARRAY', type_length: 16, scale: 9 };
    const whole = await read(element, [138953000000000001n * 10n ** 9n, 2n * 10n ** 9n]).as('postId');
    expect(ids(whole.threads)).toEqual(['138953000000000001', '2']);
    const half = await read({ ...element, scale: 2 }, [-150n, -150n]).as('label');
    expect(labels(half.threads)).toEqual([{ own: '-1.5' }]);
  });

  it('of unsigned integers keeps the largest', async () => {
    const { threads } = await read({ type: 'INT64', converted_type: 'UINT_64' }, [2n ** 64n - 1n, null]).as('postId');
    expect(ids(threads)[0]).toBe('18446744073709551615');
  });

  const zoneNote = expect.stringMatching(/^2 times name no zone and are taken for UTC/);

  it.each([
    ['milliseconds', 'INT32', 'MILLIS', [1000, 61_500]],
    ['microseconds', 'INT64', 'MICROS', [1_000_000n, 61_500_000n]],
    ['nanoseconds', 'INT64', 'NANOS', [1_000_000_000n, 61_500_000_000n]],
  ])('of times of a day is read in its unit, with notes: %s', async (_, type, unit, data) => {
    const logical_type = { type: 'TIME', isAdjustedToUTC: false, unit };
    const { threads, notes, warnings } = await read({ type, logical_type }, data).as('time');
    expect(times(threads)).toEqual(['1970-01-01T00:00:01.000Z', '1970-01-01T00:01:01.500Z']);
    expect(notes).toContainEqual(zoneNote);
    expect(warnings).toEqual([expect.stringMatching(/^2 times lie before 1997/)]);
  });

  const ten = new Date('2024-03-31T01:30:00Z');

  it.each([
    ['MILLIS', 'TIMESTAMP_MILLIS'],
    ['MICROS', 'TIMESTAMP_MICROS'],
    ['NANOS', undefined],
  ])('of times without a zone is read with a note, and others without: %s', async (unit, converted_type) => {
    for (const isAdjustedToUTC of [false, true]) {
      const logical_type = { type: 'TIMESTAMP', isAdjustedToUTC, unit };
      const { threads, notes } = await read({ type: 'INT64', converted_type, logical_type }, [ten, ten]).as('time');
      expect(times(threads)).toEqual(['2024-03-31T01:30:00.000Z', '2024-03-31T01:30:00.000Z']);
      expect(notes.some((note) => note.includes('name no zone'))).toBe(!isAdjustedToUTC);
    }
  });

  it('of days is read with a note', async () => {
    const { threads, notes } = await read({ type: 'INT32', converted_type: 'DATE' }, [ten, ten]).as('time');
    expect(times(threads)).toEqual(['2024-03-31T00:00:00.000Z', '2024-03-31T00:00:00.000Z']);
    expect(notes).toContainEqual(zoneNote);
  });

  it('of bytes that are no text is refused where it is read, and else left out', async () => {
    const bytes = { type: 'BYTE_ARRAY' };
    const data = [Uint8Array.of(0xff, 0xfe, 0x80), Uint8Array.of(0x61)];
    await expect(read(bytes, data).as('label')).rejects.toThrow(
      /^a\.parquet row 1, column "own": must be text, a number/,
    );
    const text = { type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'REQUIRED' } as const;
    const schema = [
      { name: 'root', num_children: 3 },
      { ...text, name: 'thread' },
      { ...text, name: 'text' },
      { ...text, converted_type: undefined, name: 'picture' },
    ];
    const columnData = [
      { name: 'thread', data: ['t', 't'] },
      { name: 'text', data: ['x', 'y'] },
      { name: 'picture', data },
    ];
    const content = Buffer.from(parquetWriteBuffer({ columnData, schema }));
    expect((await imported(content, { format: 'parquet', name: 'a.parquet' })).threads).toHaveLength(1);
  });
});
