import { symlinkSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { importThreads } from '../../../src/data/import-threads.ts';
import type { ImportOptions } from '../../../src/data/importers/importer.ts';
import { collect, temporaryFolder } from './fixtures.ts';

/* How tables write ids, parents and fields, where other programs wrote them. */

async function imported(content: string, { format = 'csv', ...options }: ImportOptions & { format?: string } = {}) {
  const folder = temporaryFolder({ posts: content });
  const notes: string[] = [];
  const reading = { ...options, paths: [`${folder}/posts`], onNote: (note: string) => notes.push(note) };
  const threads = await collect(importThreads(format, reading));
  return {
    notes,
    threads: threads.map(({ id, posts }) => [id, ...posts.map((post) => [post.id, post.parent])]),
    all: threads,
  };
}

describe('a parent that no post is', () => {
  it.each(['0', '-1', 'None', 'root'])('means none where it is %s', async (word) => {
    const { threads, notes } = await imported(`post_id,parent,text\n1,${word},a\n2,1,b\n3,${word},c\n4,3,d\n`);
    expect(threads).toEqual([
      ['1', ['1', null], ['2', '1']],
      ['3', ['3', null], ['4', '3']],
    ]);
    expect(notes).toContain(`2 posts answer "${word}", which is no post: they answer none`);
  });

  it('is a post where one has this id', async () => {
    const { threads } = await imported('post_id,parent,text\n0,,a\n1,0,b\n2,1,c\n');
    expect(threads).toEqual([['0', ['0', null], ['1', '0'], ['2', '1']]]);
    expect((await imported('thread,post_id,parent,text\n0,5,0,a\n0,6,5,b\n')).threads).toEqual([
      ['0', ['5', '0'], ['6', '5']],
    ]);
  });

  it('makes one thread of posts that answer one another in a circle', async () => {
    const { threads } = await imported('post_id,parent,text\n9,8,tail\n7,8,a\n8,7,b\n');
    expect(threads).toEqual([['7', ['7', '8'], ['9', '8'], ['8', '7']]]);
  });

  it('is found along a chain of 20,000 replies', async () => {
    const rows = Array.from({ length: 20_000 }, (_, row) => `p${row},${row === 0 ? '' : `p${row - 1}`},x\n`);
    const { all } = await imported(`post_id,parent,text\n${rows.join('')}`);
    expect(all.map(({ id, posts }) => [id, posts.length])).toEqual([['p0', 20_000]]);
  });
});

it('gives posts without ids none that another post has', async () => {
  const { threads } = await imported('thread_id,post_id,text\nt,t-1,a\nt,,b\nt,,c\n');
  expect(threads).toEqual([['t', ['t-1', null], ['t-1-0', null], ['t-2', null]]]);
});

it('reads a text once that is its title, too', async () => {
  expect((await imported('thread_id,title,text\nt,same,same\n')).all[0].posts[0].text).toBe('same');
});

it('decides by the mark of UTF-8, whatever encoding is named', async () => {
  const { all } = await imported('\ufeffthread_id,text\nt,ü\n', { encoding: 'gbk' });
  expect(all[0].posts[0].text).toBe('ü');
});

it('names links in folders that lead nowhere, or around', async () => {
  const folder = temporaryFolder({ 'a/s.xml': '', 'b/s.xml': '' });
  symlinkSync('nowhere', `${folder}/a/gone.xml`);
  symlinkSync('.', `${folder}/b/loop`);
  const reading = (path: string) => collect(importThreads('erisk', { paths: [path] }));
  await expect(reading(`${folder}/a`)).rejects.toThrow(/^cannot read .*gone\.xml \(ENOENT\): there is no such file/);
  await expect(reading(`${folder}/b`)).rejects.toThrow(/^cannot read .*loop \(ELOOP\): the system refuses it/);
});

describe('a field', () => {
  it('is left out where no column holds it, whatever their headings', async () => {
    const csv = 'thread_id,text,event\nt,a,created\nt,b,edited\n';
    await expect(imported(csv)).rejects.toThrow('where the column means something else, leave it out with --event ""');
    const { all, notes } = await imported(csv, { table: { columns: { event: '' } } });
    expect(all.map(({ event, posts }) => [event, posts.length])).toEqual([[null, 2]]);
    expect(notes).toContainEqual(expect.stringContaining('left out "event"'));
  });

  it('is no list of several values, but may be one of a single value', async () => {
    const rows = (label: unknown) => `${JSON.stringify({ thread_id: 't', text: 'a text', label })}\n`;
    await expect(imported(rows(['x', 'y']), { format: 'posts' })).rejects.toThrow(
      'column "label": is a list; give one',
    );
    expect((await imported(rows(['x']), { format: 'posts' })).all[0].labels).toEqual({ label: 'x' });
  });

  it('begins after the spaces that follow each delimiter of the header', async () => {
    const { all } = await imported('thread_id, text, label\nt, "hello, world", k\n');
    expect(all[0]).toMatchObject({ labels: { label: 'k' }, posts: [{ text: 'hello, world' }] });
    expect((await imported('thread_id,text, label\nt, hello,k\n')).all[0].posts[0].text).toBe(' hello');
  });

  it('has no quotes behind backslashes', async () => {
    await expect(imported('thread_id,text\nt,"he said \\"no\\" then"\n')).rejects.toThrow(
      /posts:2: a quoted field has quotes behind a backslash, .*write "" instead/,
    );
    const { all } = await imported('thread_id,text\nt,"a \\"b\\""\n', { table: { quote: 'none' } });
    expect(all[0].posts[0].text).toBe('"a \\"b\\""');
  });
});

it('leaves out the empty rows that spreadsheets write below the last', async () => {
  expect((await imported('thread_id,text,label\nt,one,k\n,,\n , ,\n')).threads).toEqual([['t', ['t', null]]]);
});

it('reads a formula of one text, by which spreadsheets keep an id whole, as the text', async () => {
  const table = 'thread_id,="post_id",text\n="0071",="8","=""a """"b"""""""\n="0071",=9,"=""x"" & ""y"""\n';
  const { all } = await imported(table);
  expect(all.map(({ id, posts }) => [id, ...posts.map((post) => [post.id, post.text])])).toEqual([
    ['0071', ['8', 'a "b"'], ['=9', '="x" & "y"']],
  ]);
});

it('takes hexadecimal ids for no rounded numbers', async () => {
  expect((await imported('thread_id,text\n12e45678,a\n')).threads).toEqual([['12e45678', ['12e45678', null]]]);
  for (const id of ['1.2E17', '1e+17', '12E+16'])
    await expect(imported(`thread_id,text\n${id},a\n`)).rejects.toThrow('is an id that has lost digits');
});

it('numbers the only part of a list that has no type', async () => {
  const post = { thread_id: 't', text: 'a longer text', media: [{ url: 'u' }] };
  const { notes } = await imported(`${JSON.stringify(post)}\n`, { format: 'posts' });
  expect(notes).toContainEqual(expect.stringContaining('left out "media.0.url"'));
});

describe('values nested more deeply than calls may be', () => {
  const deep = (open: string, close: string) => open.repeat(20_000) + close.repeat(20_000);

  it('are refused without being shown', async () => {
    const list = deep('[', ']');
    await expect(imported(`{"id":"a","text":"x","labels":{"k":${list}}}\n`, { format: 'articles' })).rejects.toThrow(
      /labels\.k: .*found a value that is nested too deeply to show/,
    );
  });

  it('are read where they are replies', async () => {
    const depth = 5000;
    const before = Array.from(
      { length: depth },
      (_, level) =>
        `{"kind":"Listing","data":{"children":[{"kind":"t1","data":{"id":"aaaa${level}","body":"x","link_id":"t3_aaaaa","created_utc":${1.7e9 + level},"subreddit":"s","replies":`,
    );
    const content = `${before.join('')}""${'}}]}}'.repeat(depth)}`;
    expect((await imported(content, { format: 'posts' })).all[0].posts).toHaveLength(depth);
  });
});

it('says that JSON values follow one another', async () => {
  await expect(imported('{\n"text": 1\n}\n{\n"text": 2\n}\n', { format: 'posts' })).rejects.toThrow('(`jq -c .`)');
});

it.each([
  ['d0cf11e0a1b11ae1', 'is an old Excel workbook'],
  ['255044462d312e34', 'is a PDF'],
  [
    '53514c69746520666f726d6174',
    'is an SQLite database; export its posts as CSV, or an annotation store by `earshot annotations export`',
  ],
  ['fffe000074000000', 'is in UTF-32'],
])('names a file that begins with %s', async (bytes, name) => {
  const folder = temporaryFolder({ file: Buffer.from(bytes, 'hex') });
  await expect(collect(importThreads('csv', { paths: [`${folder}/file`] }))).rejects.toThrow(`file ${name}`);
});
