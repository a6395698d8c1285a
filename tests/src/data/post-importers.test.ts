import { describe, expect, it } from 'vitest';
import { importThreads } from '../../../src/data/import-threads.ts';
import type { TableImportOptions } from '../../../src/data/importers/table/columns.ts';
import { collect, temporaryFolder } from './fixtures.ts';

interface Importing {
  readonly format?: string;
  readonly table?: TableImportOptions;
  readonly encoding?: string;
  readonly skipInvalid?: boolean;
}

/** Imports files in the order given; messages name them without their folder. */
async function imported(files: Record<string, unknown>, { format = 'posts', ...options }: Importing = {}) {
  const folder = temporaryFolder(files);
  const notes: string[] = [];
  const skipped: string[] = [];
  const threads = await collect(
    importThreads(format, {
      ...options,
      paths: Object.keys(files).map((name) => `${folder}/${name}`),
      onNote: (note) => notes.push(note),
      onSkipped: (line) => skipped.push(line),
    }),
  ).catch((error: Error) => {
    throw new Error(error.message.replaceAll(`${folder}/`, ''));
  });
  return { threads, notes, skipped };
}

const shapes = (threads: Awaited<ReturnType<typeof imported>>['threads']) =>
  threads.map(({ id, posts }) => [id, ...posts.map((post) => `${post.id}<${post.parent ?? ''}`)]);

const lines = (...values: unknown[]) => `${values.map((value) => JSON.stringify(value)).join('\n')}\n`;

describe('JSON with an object for each post', () => {
  it('becomes threads as a table does, with all digits of its ids', async () => {
    const { threads, notes } = await imported(
      {
        'posts.jsonl':
          '{"id": 1669700650467246081, "conversation_id": 1669700650467246081, "text": "Shark!", "created_at": "2022-12-05T10:00:00Z", "user": {"screen_name": "ann"}}\n' +
          '{"id": 1669700650467246083, "conversation_id": 1669700650467246081, "text": "No", "created_at": "2022-12-05T10:05:00Z", "in_reply_to_status_id": 1669700650467246081, "label": "fake"}\n',
      },
      { table: { labelMap: { fake: 'rumor' } } },
    );
    expect(threads).toMatchObject([
      {
        id: '1669700650467246081',
        rumor: true,
        posts: [
          { id: '1669700650467246081', author: 'ann', time: '2022-12-05T10:00:00.000Z' },
          { id: '1669700650467246083', parent: '1669700650467246081', text: 'No' },
        ],
      },
    ]);
    expect(notes).toEqual([
      'read threadId from "conversation_id", postId from "id", text from "text", time from "created_at", author from "user.screen_name", parent from "in_reply_to_status_id", label from "label"',
    ]);
  });

  it('takes any nested name by its dots, even one that the first posts lack', async () => {
    const posts = Array.from({ length: 600 }, (_, index) => ({ id: index, where: { room: 'r' }, said: { text: 'x' } }));
    const table = { columns: { threadId: 'where.room', text: 'said.text', rumor: 'said.note.rumor' } };
    const last = { id: 600, where: { room: 'r' }, said: { text: 'y', note: { rumor: true } } };
    const { threads } = await imported({ 'posts.jsonl': lines(...posts, last) }, { table });
    expect(threads).toMatchObject([{ id: 'r', rumor: true, posts: { length: 601 } }]);
  });

  it.each<[string, Record<string, unknown>, TableImportOptions, unknown]>([
    [
      'X’s API, page by page',
      {
        'pages.jsonl': lines(
          {
            data: [{ id: '2', conversation_id: '1', text: 'no', referenced_tweets: [{ type: 'replied_to', id: '1' }] }],
          },
          { data: [{ id: '1', conversation_id: '1', text: 'claim' }], meta: { result_count: 1 } },
        ),
      },
      {},
      [['1', '1<', '2<1']],
    ],
    [
      'twarc, whose tweets have ids as numbers and as texts, and no conversation',
      {
        'tweets.jsonl': lines(
          { id: 1.5e17, id_str: '150000000000000001', full_text: 'claim', in_reply_to_status_id_str: null },
          {
            id: 2,
            id_str: '2',
            full_text: 'no',
            in_reply_to_status_id: 1,
            in_reply_to_status_id_str: '150000000000000001',
          },
          { id: 3, id_str: '3', full_text: 'yes', in_reply_to_status_id: 2, in_reply_to_status_id_str: '2' },
        ),
      },
      {},
      [['150000000000000001', '150000000000000001<', '2<150000000000000001', '3<2']],
    ],
    [
      'Bluesky',
      {
        'posts.json': {
          posts: [
            { uri: 'at://a', author: { handle: 'ann' }, record: { text: 'claim', createdAt: '2024-01-01T00:00:00Z' } },
            {
              uri: 'at://b',
              record: {
                text: 'no',
                createdAt: '2024-01-01T00:01:00Z',
                reply: { root: { uri: 'at://a' }, parent: { uri: 'at://a' } },
              },
            },
          ],
        },
      },
      {},
      [['at://a', 'at://a<', 'at://b<at://a']],
    ],
    [
      'Reddit, submissions and comments in two files',
      {
        'submissions.jsonl': lines({ id: '1abcde', title: 'claim', created_utc: 1_700_000_000 }),
        'comments.jsonl': lines(
          { id: 'kaaaaa', link_id: 't3_1abcde', parent_id: 't3_1abcde', body: 'no', created_utc: 1_700_000_100 },
          { id: 'kbbbbb', link_id: 't3_1abcde', parent_id: 't1_kaaaaa', body: 'yes', created_utc: 1_700_000_200 },
        ),
      },
      {},
      [['1abcde', '1abcde<', 'kaaaaa<1abcde', 'kbbbbb<kaaaaa']],
    ],
    [
      'Telegram, over several lines, with texts in pieces',
      {
        'result.json': JSON.stringify(
          {
            name: 'news',
            id: 7,
            messages: [
              {
                id: 1,
                type: 'message',
                date: '2024-01-01T00:00:00',
                from: 'Ann',
                text: ['see ', { type: 'link', text: 'x.org' }],
              },
              { id: 2, type: 'message', date: '2024-01-01T00:01:00', from: 'Bob', text: 'no', reply_to_message_id: 1 },
              { id: 3, type: 'message', date: '2024-01-01T00:02:00', from: 'Cid', text: 'other' },
            ],
          },
          null,
          1,
        ),
      },
      {},
      [
        ['1', '1<', '2<1'],
        ['3', '3<'],
      ],
    ],
  ])('reads exports of %s', async (_, files, table, expected) => {
    const { threads } = await imported(files, { table });
    expect(shapes(threads)).toEqual(expected);
    expect(threads[0].posts.every(({ text }) => text !== '')).toBe(true);
  });

  it('puts pieces of a text together', async () => {
    const { threads } = await imported({
      'a.jsonl': lines({ thread: 1, text: ['see ', { type: 'link', text: 'x.org' }] }),
    });
    expect(threads[0].posts[0].text).toBe('see x.org');
  });

  it('says how many posts were put to what they answer', async () => {
    const rows = [
      { id: 5, text: 'claim' },
      { id: 6, in_reply_to: 5, text: 'no' },
      { id: 8, in_reply_to: 7, text: 'lost' },
    ];
    const { threads, notes } = await imported({ 'a.jsonl': lines(...rows) });
    expect(shapes(threads)).toEqual([
      ['5', '5<', '6<5'],
      ['7', '8<7'],
    ]);
    expect(notes).toContain(
      '3 posts name no thread: they are in that of the post they answer, or begin one of their own where they answer none',
    );
    expect(notes).toContainEqual(expect.stringMatching(/^1 threads lack their claim/));
    const circle = lines({ id: 1, in_reply_to: 2, text: 'a' }, { id: 2, in_reply_to: 1, text: 'b' });
    expect(shapes((await imported({ 'a.jsonl': circle })).threads)).toEqual([['1', '1<2', '2<1']]);
  });

  it.each<[string, unknown, RegExp]>([
    [
      'a number with an exponent',
      { id: 1.5e25, conversation_id: 1, text: 'x' },
      /a\.jsonl:1, column "id": is an id that has lost digits/,
    ],
    [
      'a thread',
      { id: 'a', posts: [{ id: 'a', text: 'x' }] },
      /a\.jsonl:1: is a thread with its posts, which `earshot data import threads` reads/,
    ],
    ['no object', 5, /a\.jsonl: |no posts threads found|is not a post/],
  ])('refuses %s', async (_, value, message) => {
    await expect(imported({ 'a.jsonl': lines(value) })).rejects.toThrow(message);
  });
});

const header = 'conversation_id,id,text,created_at,label';

describe('tables that were exported badly', () => {
  const row = '1669700650467246081,1669700650467246083,"谣言, 真的?",2024-05-01T10:00:00Z,rumor';

  it('leaves out exact copies of a row with a count, in one file and in several', async () => {
    const table = `${header}\n${row}\n`;
    for (const files of [{ 'a.csv': `${table}${row}\n` }, { 'a.csv': table, 'b.csv': table }]) {
      const { threads, notes } = await imported(files, { format: 'csv' });
      expect(threads).toMatchObject([{ posts: { length: 1 } }]);
      expect(notes).toContain('1 rows are exact copies of earlier ones and were left out');
    }
  });

  it('refuses two rows of one post that differ, and names both', async () => {
    const files = { 'a.csv': `${header}\n${row}\n${row.replace('真', '假')}\n` };
    await expect(imported(files, { format: 'csv' })).rejects.toThrow(
      /^a\.csv:3: has the id "1669700650467246083" of a\.csv:2 and differs from it; each post of a thread has one row; found "谣言, 假的\?"/,
    );
    const { threads, skipped } = await imported(files, { format: 'csv', skipInvalid: true });
    expect([threads[0].posts.length, skipped.length]).toEqual([1, 1]);
  });

  it('takes rows without an id for copies only where their time is the same, too', async () => {
    const timed = 'thread,text,time\nt,yes,10\nt,yes,10\nt,yes,20\n';
    expect((await imported({ 'a.csv': timed }, { format: 'csv' })).threads[0].posts).toHaveLength(2);
    const untimed = 'thread,text\nt,yes\nt,yes\n';
    expect((await imported({ 'a.csv': untimed }, { format: 'csv' })).threads[0].posts).toHaveLength(2);
  });

  it('puts rows of one thread together that stand in several files, in the order of time', async () => {
    const files = {
      'tuesday.csv': 'thread,id,text,time\nt,r,no,2024-01-02T00:00:00Z\n',
      'monday.csv': 'thread,id,body,date\nt,t,claim,2024-01-01T00:00:00Z\n',
    };
    const { threads } = await imported(files, { format: 'csv' });
    expect(threads).toMatchObject([{ id: 't', posts: [{ id: 't' }, { id: 'r' }] }]);
  });

  it.each(['1669700650467246080.0', '1669700650467246080.', '1.66970065046725E+18', '9007199254740993.00'])(
    'refuses the id %s, which has lost digits',
    async (id) => {
      for (const columns of ['thread,id,text\nt,', 'id,thread,text\np,'])
        await expect(imported({ 'a.csv': `${columns}${id},x\n` }, { format: 'csv' })).rejects.toThrow(
          /a\.csv:2, column "\w+": is an id that has lost digits: write ids as text/,
        );
    },
  );

  it('takes the fraction off an id that has lost none', async () => {
    const { threads } = await imported({ 'a.csv': 'thread,id,text\n12.0,9007199254740991.0,x\n' }, { format: 'csv' });
    expect(shapes(threads)).toEqual([['12', '9007199254740991<']]);
  });

  it.each([
    ['a spreadsheet', ['1669700650467240000', '1669700650467250000']],
    ['a program', ['1669700650467246000', '1669700650467247000', '1669700650467248000']],
  ])('refuses ids whose last digits %s has made zeros', async (_, ids) => {
    const rows = ids.map((id) => `t,${id},x`).join('\n');
    await expect(imported({ 'a.csv': `thread,id,text\n${rows}\n` }, { format: 'csv' })).rejects.toThrow(
      `a.csv, column "id": the last digits of the ids are gone, for every long one ends in zeros, such as ${ids[0]}.`,
    );
    const whole = `${rows}\nt,1669700650467246081,x`;
    expect((await imported({ 'a.csv': `thread,id,text\n${whole}\n` }, { format: 'csv' })).threads).toHaveLength(1);
  });

  // "谣言, 真的?" in GBK and "Où? 5 €" in Windows-1252.
  const gbk = Buffer.concat([
    Buffer.from('thread,text\nt,"'),
    Buffer.from('d2a5d1d42c20d5e6b5c43f', 'hex'),
    Buffer.from('"\n'),
  ]);
  const windows = Buffer.concat([
    Buffer.from('thread,text\nt,"'),
    Buffer.from('4ff93f2035 2080'.replace(' ', ''), 'hex'),
    Buffer.from('"\n'),
  ]);

  it('refuses days of a spreadsheet as times, which would all lie in 1970', async () => {
    const days = 'thread,id,text,time\nt,a,x,45292.5\nt,b,y,45293\n';
    await expect(imported({ 'a.csv': days }, { format: 'csv' })).rejects.toThrow(
      'a.csv, column "time": the times are days as a spreadsheet counts them, such as 45292.5; give the column a format of date',
    );
    const seconds = 'thread,id,text,time\nt,a,x,0\nt,b,y,45293\n';
    expect((await imported({ 'a.csv': seconds }, { format: 'csv' })).threads).toMatchObject([
      { posts: [{ time: '1970-01-01T00:00:00.000Z' }, { time: '1970-01-01T12:34:53.000Z' }] },
    ]);
  });

  it.each(['1700000000', '1700000000.0', '1700000000000', '1700000000000000', '1700000000000000000'])(
    'reads the Unix time %s, whatever part of a second it counts',
    async (time) => {
      for (const [name, format, text] of [
        ['a.csv', 'csv', `thread,text,time\nt,x,${time}\n`],
        ['a.jsonl', 'posts', `{"thread": "t", "text": "x", "time": ${time}}\n`],
      ] as const)
        expect((await imported({ [name]: text }, { format })).threads[0].posts[0].time).toBe(
          '2023-11-14T22:13:20.000Z',
        );
    },
  );

  it('reads the NaN that Python writes for nothing as nothing', async () => {
    const text = '{"id": 1, "thread": "t", "text": "NaN", "author": NaN, "label": NaN}\n';
    expect((await imported({ 'a.jsonl': text })).threads).toMatchObject([
      { rumor: null, posts: [{ text: 'NaN', author: null }] },
    ]);
  });

  it.each<[string, Buffer, string | undefined, string]>([
    ['GBK', gbk, 'gbk', '谣言, 真的?'],
    ['Windows-1252', windows, 'windows-1252', 'Où? 5 €'],
    ['UTF-16 with a mark', Buffer.from('\ufeffthread,text\nt,"谣言, 真的?"\n', 'utf16le'), undefined, '谣言, 真的?'],
    ['UTF-16 without', Buffer.from('thread,text\nt,"谣言, 真的?"\n', 'utf16le').swap16(), undefined, '谣言, 真的?'],
  ])('reads %s', async (_, content, encoding, text) => {
    const { threads } = await imported({ 'a.csv': content }, { format: 'csv', encoding });
    expect(threads).toMatchObject([{ posts: [{ text }] }]);
  });

  it('shows what a text would be in the encodings that are likely', async () => {
    await expect(imported({ 'a.csv': gbk }, { format: 'csv' })).rejects.toThrow(
      /^a\.csv: the text after line 1 is not UTF-8; `earshot data import` and `select` take --encoding gbk if it should read “t,"谣言, 真的\?"”, --encoding windows-1252 if it should read “t,"Ò¥ÑÔ, ÕæµÄ\?"”/,
    );
    await expect(imported({ 'a.csv': windows }, { format: 'csv' })).rejects.toThrow(
      /not UTF-8; .* take --encoding windows-1252 if it should read “t,"Où\? 5 €"”/,
    );
    // Far into a line, the part of it that tells the encodings apart.
    const late = Buffer.concat([Buffer.from(`thread,text\nt,"${'word '.repeat(40)}`), windows.subarray(15)]);
    await expect(imported({ 'a.csv': late }, { format: 'csv' })).rejects.toThrow(/should read “[word ]+Où\? 5 €"”/);
    await expect(imported({ 'a.csv': windows }, { format: 'csv', encoding: 'gbk' })).rejects.toThrow(
      'a.csv: the text is not gbk; give another --encoding',
    );
  });
});
