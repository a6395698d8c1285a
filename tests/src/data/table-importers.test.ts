import { gzipSync } from 'node:zlib';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { describe, expect, it } from 'vitest';
import { importThreads } from '../../../src/data/import-threads.ts';
import type { TableImportOptions } from '../../../src/data/importers/table/columns.ts';
import { collect, temporaryFolder } from './fixtures.ts';

async function imported(
  content: string | Buffer,
  {
    name = 'posts.csv',
    format = 'csv',
    table,
    skipInvalid,
  }: { name?: string; format?: string; table?: TableImportOptions; skipInvalid?: boolean } = {},
) {
  const folder = temporaryFolder({ [name]: content });
  const notes: string[] = [];
  const skipped: string[] = [];
  const threads = await collect(
    importThreads(format, {
      paths: [`${folder}/${name}`],
      table,
      skipInvalid,
      onNote: (note) => notes.push(note),
      onSkipped: (line) => skipped.push(line.replace(`skipped ${folder}/`, '').replace(/; found .*$/, '')),
    }),
  );
  return { threads, notes, skipped };
}

const failure = async (content: string | Buffer, options?: Parameters<typeof imported>[1]) =>
  await imported(content, options).then(
    () => 'no error',
    (error: Error) => error.message.replaceAll(/\/\S*\/(?=posts)/g, ''),
  );

const usual = [
  'conversation_id,id,body,created_at,user,in_reply_to,rumor,event',
  'c1,r1,"No, ""really""\nnot",2014-08-09T12:05:00Z,bob,c1,true,storm',
  'c1,c1,A shark in the street,2014-08-09T14:00:00+02:00,ann,,true,storm',
  'c2,c2,All calm,1407586000,cid,,false,',
  'c2,r2,Right,1407586500000,dan,c2,,',
].join('\n');

describe('a CSV file with a row for each post', () => {
  it('becomes threads, columns found by common names, rows in any order', async () => {
    const { threads, notes } = await imported(`${usual}\n`);
    expect(threads).toMatchObject([
      {
        id: 'c1',
        rumor: true,
        event: 'storm',
        posts: [
          { id: 'c1', text: 'A shark in the street', time: '2014-08-09T12:00:00.000Z', author: 'ann', parent: null },
          { id: 'r1', text: 'No, "really"\nnot', time: '2014-08-09T12:05:00.000Z', parent: 'c1' },
        ],
      },
      {
        id: 'c2',
        rumor: false,
        event: null,
        posts: [{ time: '2014-08-09T12:06:40.000Z' }, { time: '2014-08-09T12:15:00.000Z' }],
      },
    ]);
    expect(notes).toContainEqual(expect.stringMatching(/^read threadId from "conversation_id", .*rumor from "rumor"/));
  });

  it.each([
    ['semicolons', usual.replace('"No, ""really""\nnot"', 'No').replaceAll(',', ';'), 'posts.csv'],
    ['tabs', usual.replace('"No, ""really""\nnot"', 'No').replaceAll(',', '\t'), 'posts.tsv'],
    ['a byte order mark and Windows line ends', `\uFEFF${usual.replaceAll('\n', '\r\n')}`, 'posts.csv'],
    ['gzip', gzipSync(usual), 'posts.csv.gz'],
    ['a first row for Excel', `sep=|\r\n${usual.replaceAll(',', '|')}`, 'posts.csv'],
  ])('is read with %s', async (_, content, name) => {
    const { threads } = await imported(content, { name });
    expect(threads.map(({ id, posts }) => [id, posts.length])).toEqual([
      ['c1', 2],
      ['c2', 2],
    ]);
  });

  it('takes the columns that are named, and the labels that are mapped', async () => {
    const { threads } = await imported('k,t,id,who,verdict\na,Hello,9,x,Fake\nb,World,8,y,real news\n', {
      table: {
        columns: { threadId: 'k', text: 't', author: 'who', label: 'verdict' },
        labelMap: { fake: 'rumor', 'real news': 'non-rumor' },
      },
    });
    expect(threads).toMatchObject([
      { id: 'a', rumor: true, posts: [{ id: '9', author: 'x', text: 'Hello' }] },
      { id: 'b', rumor: false },
    ]);
  });

  it('does not mind columns of one name that are not read', async () => {
    const { threads, notes } = await imported('thread,text,note,note\n1,x,y,z\n');
    expect(threads).toMatchObject([{ id: '1', posts: [{ text: 'x' }] }]);
    expect(notes).toEqual(['read threadId from "thread", text from "text"; left out "note", "note"']);
  });

  const rows = Array.from(
    { length: 40 },
    (_, row) =>
      `c${Math.floor(row / 5)},What happened there (${row})?,2024-05-01 10:${10 + row},${row % 10 < 5 ? 'fake' : 'real'}`,
  ).join('\n');

  it('looks at the values of columns whose names say nothing', async () => {
    const { notes } = await imported(`thread,text,posted_on,outcome\n${rows}\n`);
    expect(notes).toContain('posted_on looks like times: add --time posted_on');
    expect(notes).toContainEqual(
      expect.stringMatching(/^outcome may be a label \(fake, real\): if so, add --label outcome/),
    );
    const read = await imported(`thread,text,posted_on,outcome\n${rows}\n`, {
      table: { columns: { time: 'posted_on', label: 'outcome' }, labelMap: { fake: 'rumor', real: 'non-rumor' } },
    });
    expect(read.threads).toHaveLength(8);
    expect(read.notes.join()).not.toMatch(/looks like|may be a label/);
  });

  it('says all that is missing at once, with the columns that may be meant', async () => {
    const table = { columns: { label: 'nosuch', time: 'when' } };
    const message = await failure(`a,b,c,d\n${rows}\n`, { table });
    expect(message).toContain('no column is called "nosuch" (--label)');
    expect(message).toContain('d (fake, real) looks like labels');
    expect(message).toContain('no column is called "when" (--time)');
    expect(message).toContain('c looks like times');
    expect(message).toContain('give --thread-id <column>');
    expect(message).toMatch(/give --text <column>\nColumns: a, b, c, d\. By their values, try --thread-id a --text b$/);
  });

  it('names every word that a label column holds and that is not known', async () => {
    const message = await failure(`thread,text,when,verdict\n${rows}\n`);
    expect(message).toContain('or keep its classes as they are with --label verdict; found "fake"');
    const table = { columns: { rumor: 'verdict' }, labelMap: { fake: 'rumor' } };
    expect(await failure(`thread,text,when,verdict\n${rows}\n`, { table })).toContain(
      'read it with --label verdict; else say what it stands for: --label-map real=…, each rumor or non-rumor; found "real"',
    );
  });

  it.each([
    ['as they are', 'escalated', '谣言 🔥', {}, 'escalated', '谣言 🔥'],
    ['as the map calls them', '1', '0.0', { 1: 'Escalated' }, 'Escalated', '0'],
    ['not as true or false of a claim', 'true', 'False', {}, 'true', 'False'],
  ])('keeps labels of one’s own %s', async (_, one, other, labelMap, first, second) => {
    const csv = `thread,text,outcome\nt1,x,${one}\nt2,y,${other}\nt3,z,\n`;
    const { threads } = await imported(csv, { table: { columns: { label: 'outcome' }, labelMap } });
    expect(threads.map(({ labels, rumor }) => [labels, rumor])).toEqual([
      [{ outcome: first }, null],
      [{ outcome: second }, null],
      [undefined, null],
    ]);
  });

  it('takes labels whose words say rumor for the task of rumors', async () => {
    const { threads } = await imported('thread,text,label\nt1,x,Rumour\nt2,y,non-rumor\n');
    expect(threads.map(({ labels, rumor }) => [labels, rumor])).toEqual([
      [undefined, true],
      [undefined, false],
    ]);
  });

  it('tells veracities from labels by their words', async () => {
    const veracities = rows.replaceAll('fake', 'unverified').replaceAll('real', 'non-rumor');
    expect((await imported(`thread,text,when,truth\n${veracities}\n`)).notes).toContain(
      'truth may be a label (unverified, non-rumor): if so, add --veracity truth',
    );
    expect(await failure(`a,b,when,truth\n${veracities}\n`)).toMatch(/ --veracity truth$/);
  });

  it('takes the column of running text for the text where ids are called alike, and that of whole threads for their id', async () => {
    const author = rows.split('\n').map((row, index) => `${row},u${index % 12}`);
    const { notes } = await imported(
      `thread,message,when,label,tweet\n${rows
        .split('\n')
        .map((row, index) => `${row.replace('fake', '1').replace('real', '0')},${index}`)
        .join('\n')}\n`,
    );
    expect(notes.at(-1)).toContain('text from "message"');
    expect(await failure(`a,b,when,verdict,who\n${author.join('\n')}\n`)).toContain('try --thread-id a --text b');
  });

  it('says that a file of JSON is no table', async () => {
    for (const [content, format] of [
      ['{"id": "a", "posts": []}\n', 'threads'],
      ['[{"id": "a"}]', 'posts'],
    ])
      expect(await failure(content)).toMatch(
        new RegExp(
          `^posts\\.csv holds JSON, not a table: \`earshot data import ${format} \\S*posts\\.csv --out threads\\.jsonl\` reads it$`,
        ),
      );
  });

  it('says of columns that it cannot tell what to do', async () => {
    expect(await failure('a,text\n1,x\n')).toBe(
      'posts.csv: no column names the thread of a post; give --thread-id <column>, or --post-id <column> and --parent <column>, which link replies to posts. If every row is a thread, give its id as --thread-id. Columns: a, text',
    );
    expect(await failure('thread,text,body\n1,x,y\n')).toContain(
      'both "text" and "body" could be the text; name one with --text <column>',
    );
    expect(await failure('thread,text,text\n1,x,y\n')).toBe(
      'posts.csv: two columns are called "text", which is read as the text; rename or remove one of them. Columns: thread, text, text',
    );
    expect(await failure('thread,text,when it was\n1,x,\n', { table: { columns: { time: 'when it is' } } })).toContain(
      'posts.csv: no column is called "when it is" (--time); did you mean "when it was"?',
    );
    expect(await failure('thread,text\n1,x\n', { table: { columns: { time: 'hour' } } })).toBe(
      'posts.csv: no column is called "hour" (--time). Columns: thread, text',
    );
  });

  it.each([
    [
      'rumor',
      'fake',
      /:2, column "rumor": is no label that is known .*say what it stands for: --label-map fake=…, each rumor or non-rumor; found "fake"/,
    ],
    [
      'veracity',
      'mostly true',
      /must be one of true, false, unverified, non-rumor; say which it stands for with --label-map 'mostly true'=…, or keep its classes as they are with --label veracity/,
    ],
    ['time', '03/04/2024', /could be 3 April 2024 or 4 March 2024; .*--date-order dmy or mdy; found "03\/04\/2024"/],
    ['time', '12/31/2024 25:00', /:2, column "time": must be a time/],
    ['time', 'yesterday', /:2, column "time": must be a time: ISO 8601 such as/],
    ['time', '2024-02-30T00:00:00Z', /column "time": is on a day that its month does not have; found "2024-02-30T00/],
    ['time', '31/04/2024', /column "time": is on a day that its month does not have; found "31/],
    ['parent', '5.24e+17', /is an id that has lost digits: write ids as text/],
  ])('refuses a %s of %s, with row, column, value and advice', async (column, value, message) => {
    expect(await failure(`thread,text,${column}\nt1,x,${value}\n`)).toMatch(message);
  });

  it('says of a label that the map makes another unknown one of what the map made of it', async () => {
    const table = { labelMap: { fake: 'hoax' } };
    expect(await failure('thread,text,rumor\nt1,x,fake\n', { table })).toContain(
      'stands for "hoax" by --label-map, which is no label that is known',
    );
    expect(await failure('thread,text,veracity\nt1,x,fake\n', { table })).toContain(
      'stands for "hoax" by --label-map, which must be one of true, false',
    );
  });

  it('takes for the claim what answers none, and of several the earliest', async () => {
    const claimOf = async (rows: string) =>
      (await imported(`thread,id,parent,text,time\n${rows}`)).threads[0].posts[0].id;
    expect(await claimOf('t,r,c,reply,\nt,c,,claim,\nt,d,,aside,\n')).toBe('c');
    expect(await claimOf('t,r,c,reply,10\nt,d,,aside,30\nt,c,,claim,20\n')).toBe('c');
    expect(await claimOf('t,r,x,reply,20\nt,s,r,reply,10\n')).toBe('s');
    const { notes } = await imported('thread,id,parent,text\nt,r,x,reply\nt,s,r,reply\nu,u,,claim\n');
    expect(notes).toContainEqual(expect.stringMatching(/^1 threads lack their claim: each of their posts answers/));
  });

  it('puts posts without ids in time order before it numbers them', async () => {
    const newestFirst = `thread,time,text,label
A,2024-01-01T10:10:00Z,third,rumor
A,2024-01-01T10:00:00Z,first,rumor
A,2024-01-01T10:05:00Z,second,rumor`;
    const { threads } = await imported(newestFirst);
    expect(threads[0].posts.map(({ id, text }) => [id, text])).toEqual([
      ['A', 'first'],
      ['A-1', 'second'],
      ['A-2', 'third'],
    ]);
  });

  it('reads dates with slashes where there is no doubt, or where it is told', async () => {
    const at = async (time: string, dateOrder?: 'dmy' | 'mdy') =>
      (await imported(`thread,text,time\nt1,x,${time}\n`, { table: { dateOrder } })).threads[0].posts[0].time;
    expect(await at('31/12/2024 9:30')).toBe('2024-12-31T09:30:00.000Z');
    expect(await at('12/31/2024 14:00:05')).toBe('2024-12-31T14:00:05.000Z');
    expect(await at('03/04/2024', 'dmy')).toBe('2024-04-03T00:00:00.000Z');
    expect(await at('03/04/2024', 'mdy')).toBe('2024-03-04T00:00:00.000Z');
    expect(await at('Sat Aug 09 22:33:06 +0000 2014')).toBe('2014-08-09T22:33:06.000Z');
    expect(await at('"Sat, 09 Aug 2014 22:33:06 GMT"')).toBe('2014-08-09T22:33:06.000Z');
    expect(await at('2014-08-09 22:33')).toBe('2014-08-09T22:33:00.000Z');
    expect(await at('12/31/2024 9:30 PM')).toBe('2024-12-31T21:30:00.000Z');
    expect(await at('12/31/2024 12:05:06\u202fam')).toBe('2024-12-31T00:05:06.000Z');
  });

  it('says how many times name no zone', async () => {
    const { notes } = await imported('thread,text,time\nt1,x,2014-08-09 22:33\nt1,y,2014-08-09T22:34:00Z\n');
    expect(notes.at(-1)).toMatch(/^1 times name no zone and are taken for UTC/);
  });

  it('refuses posts of a thread that disagree on its label, naming both rows', async () => {
    expect(await failure('thread,text,rumor\nt1,x,1\nt1,y,0\n')).toMatch(
      /posts\.csv:3: the rumor of thread "t1" is true at posts\.csv:2; all posts of a thread must agree; .*; found false/,
    );
  });

  it('leaves bad rows out where told to, and counts them', async () => {
    const { threads, skipped } = await imported('thread,text,time\nt1,x,0\nt1,y,soon\nt2,z\n,w,0\nt3,v,0\n', {
      skipInvalid: true,
    });
    expect(threads.map(({ id, posts }) => [id, posts.length])).toEqual([
      ['t1', 1],
      ['t3', 1],
    ]);
    expect(skipped.toSorted()).toEqual([
      'posts.csv:3, column "time": must be a time: ISO 8601 such as 2014-08-09T22:33:06Z, or Unix seconds or milliseconds',
      'posts.csv:4: must have 3 fields (thread, text, time), and has 2',
      'posts.csv:5, column "thread": names no thread',
    ]);
  });

  it('counts lines, not rows, where a field has line breaks', async () => {
    expect(await failure('thread,text,time\nt1,"a\nb\nc",0\nt1,y,soon\n')).toMatch(/^posts\.csv:5, column "time"/);
  });
});

describe('a Parquet file with a row for each post', () => {
  const columns = [
    { name: 'conversation', data: ['c1', 'c1'], type: 'STRING' as const },
    { name: 'tweet_id', data: [498280126254428160n, 498280126254428161n], type: 'INT64' as const },
    { name: 'text', data: ['Shark', 'No'], type: 'STRING' as const },
    { name: 'created_at', data: [new Date(0), new Date(60_000)], type: 'TIMESTAMP' as const },
    { name: 'rumour', data: [true, null], type: 'BOOLEAN' as const },
  ];

  it.each(['UNCOMPRESSED', 'SNAPPY'] as const)('becomes threads, %s', async (codec) => {
    const { threads } = await imported(Buffer.from(parquetWriteBuffer({ columnData: columns, codec })), {
      name: 'posts.parquet',
      format: 'parquet',
    });
    expect(threads).toMatchObject([
      {
        id: 'c1',
        rumor: true,
        posts: [
          { id: '498280126254428160', time: '1970-01-01T00:00:00.000Z', text: 'Shark' },
          { id: '498280126254428161', time: '1970-01-01T00:01:00.000Z' },
        ],
      },
    ]);
  });

  it('names the row of a bad value', async () => {
    const bad = [...columns.slice(0, 3), { name: 'rumor', data: ['rumor', 'hoax'], type: 'STRING' as const }];
    expect(
      await failure(Buffer.from(parquetWriteBuffer({ columnData: bad })), { name: 'posts.parquet', format: 'parquet' }),
    ).toMatch(/^posts\.parquet row 2, column "rumor": is no label that is known/);
  });

  it('says of another file that it is none', async () => {
    expect(await failure('not parquet at all', { name: 'posts.parquet', format: 'parquet' })).toMatch(
      /^posts\.parquet cannot be read as Parquet: .*; write it again, or import it as CSV$/,
    );
  });
});

it('refuses options on columns where a format has none', async () => {
  expect(await failure('{}', { name: 'posts.json', format: 'eard', table: {} })).toBe(
    'options on columns mean nothing to the format eard; only to csv, posts, parquet',
  );
});
