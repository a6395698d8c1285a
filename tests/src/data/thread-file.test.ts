import { execFileSync } from 'node:child_process';
import { existsSync, lstatSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { Thread } from '../../../src/data/thread.ts';
import { loadThreads, readThreads, threadsOfStream, writeThreads } from '../../../src/data/thread-file.ts';
import { InputError } from '../../../src/errors.ts';
import { makeThread, temporaryFolder } from './fixtures.ts';

const line = (value: unknown) => `${JSON.stringify(value)}\n`;
const good = line(makeThread('a'));
const post = (id: string, time: string | null = null) => ({ id, text: 'text', time });

async function failure(content: string | Buffer, name = 'threads.jsonl'): Promise<string> {
  const folder = temporaryFolder({ [name]: content });
  const error = await loadThreads(join(folder, name)).catch((error: unknown) => error);
  expect(error).toBeInstanceOf(InputError);
  return error instanceof Error ? error.message.replaceAll(`${folder}/`, '') : '';
}

describe('reading threads', () => {
  it('reads plain and gzip files, by what they hold, the same', async () => {
    const folder = temporaryFolder({ 'a.jsonl': good, 'b.jsonl.gz': gzipSync(good), 'c.jsonl': gzipSync(good) });
    for (const name of ['a.jsonl', 'b.jsonl.gz', 'c.jsonl'])
      expect(await loadThreads(join(folder, name))).toEqual([makeThread('a')]);
  });

  it('passes over blank lines, CRLF and a missing last line end', async () => {
    const folder = temporaryFolder({ 'a.jsonl': `\n${good.trim()}\r\n\n${line(makeThread('b')).trim()}` });
    expect((await loadThreads(join(folder, 'a.jsonl'))).map(({ id }) => id)).toEqual(['a', 'b']);
  });

  it('keeps characters that stand across two chunks of the file', async () => {
    const text = '谣言'.repeat(50_000);
    const folder = temporaryFolder({ 'a.jsonl': line({ id: 'a', posts: [{ id: 'a', text }] }) });
    expect((await loadThreads(join(folder, 'a.jsonl')))[0].posts[0].text).toBe(text);
  });

  it.each<[string, Buffer]>([
    ['a mark', Buffer.from(`\ufeff${good}`, 'utf16le')],
    ['a mark, the high bytes first', Buffer.from(`\ufeff${good}`, 'utf16le').swap16()],
    ['no mark', Buffer.from(good, 'utf16le')],
    ['a mark, packed', gzipSync(Buffer.from(`\ufeff${good}`, 'utf16le'))],
  ])('reads UTF-16 with %s', async (_, content) => {
    const folder = temporaryFolder({ 'a.jsonl': content });
    expect(await loadThreads(join(folder, 'a.jsonl'))).toEqual([makeThread('a')]);
  });

  it('can be left before the end', async () => {
    const folder = temporaryFolder({ 'a.jsonl.gz': gzipSync(good + line(makeThread('b'))) });
    for await (const thread of readThreads(join(folder, 'a.jsonl.gz'))) {
      expect(thread.id).toBe('a');
      break;
    }
  });

  it('says line, place, value and reason of a bad line', async () => {
    expect(await failure(good + line({ id: 'b', posts: [post('b'), { ...post('c'), time: 'yesterday' }] }))).toBe(
      'threads.jsonl:2 posts.1.time: must be an ISO 8601 date and time, such as 2014-08-09T22:33:06Z; ' +
        'found "yesterday". Fix it, or leave such items out with --skip-invalid (in an experiment: data.skipInvalid: true)',
    );
    expect(await failure(`${good}{"id": "b"`)).toMatch(
      /^threads\.jsonl:2: is not JSON \(.*\); found "{\\"id\\": \\"b\\""/,
    );
    for (const other of [`[${good.trim()}]`, `[\n${good}]`, `{\n  "id": "b"\n}`])
      expect(await failure(other)).toMatch(
        /^threads\.jsonl:1: is not one whole object, and each line has to be one \(JSON Lines\); `earshot data import threads` reads/,
      );
    expect(await failure(line({ id: 'b', posts: [post('b')], rumor: 'maybe' }))).toContain(
      'threads.jsonl:1 rumor: must be true, false or null, without quotes; found "maybe"',
    );
  });

  it('says what to do about numbers and labels of another kind', async () => {
    const messages: [unknown, string][] = [
      [{ id: 12, posts: [post('b')] }, '1 id: must be a text, "12" in quotes; `earshot data import threads` puts'],
      [
        { id: 'b', posts: [{ id: 2 ** 60, text: 'x' }] },
        '1: the number 1152921504606847000 has so many digits that it loses the last ones; write it in quotes',
      ],
      [{ id: 'b', posts: [{ ...post('b'), parent: 7 }] }, '1 posts.0.parent: must be a text, "7" in quotes'],
      [{ id: 'b', rumor: 1, posts: [post('b')] }, '1 rumor: must be true, false or null, without quotes; found 1'],
      [{ id: 'b', veracity: false, posts: [post('b')] }, '1 veracity: must be a text, "false" in quotes; found false'],
      [{ posts: [post('b')] }, '1 id: expected string; found nothing'],
    ];
    for (const [value, message] of messages) expect(await failure(line(value))).toContain(`threads.jsonl:${message}`);
  });

  it('says of a time without a zone that it names none, and of an impossible day that it is none', async () => {
    const at = (time: string) => line({ id: 'b', posts: [{ ...post('b'), time }] });
    expect(await failure(at('2025-01-01T00:00:00'))).toContain(
      'threads.jsonl:1 posts.0.time: names no time zone: write Z behind it for UTC, or an offset such as +02:00; found "2025-01-01T00:00:00"',
    );
    expect(await failure(at('2023-02-29T00:00:00Z'))).toContain('is on a day that its month does not have');
  });

  it('refuses a thread of no post and takes one of a single post', async () => {
    expect(await failure(line({ id: 'b', posts: [] }))).toContain(
      'threads.jsonl:1 posts: a thread needs at least one post, the claim; found []',
    );
    const folder = temporaryFolder({ 'a.jsonl': line({ id: 'b', posts: [post('b')] }) });
    const [thread] = await loadThreads(join(folder, 'a.jsonl'));
    expect(thread).toMatchObject({ rumor: null, veracity: null, event: null, posts: [{ id: 'b', stance: null }] });
  });

  it('refuses replies out of order and tells what sorts them', async () => {
    const posts = [post('b'), post('c', '2020-01-02T00:00:00Z'), post('d', '2020-01-01T00:00:00Z')];
    expect(await failure(line({ id: 'b', posts }))).toMatch(
      /posts\.2\.time: 2020-01-01T00:00:00Z is earlier than 2020-01-02T00:00:00Z.*earshot data import threads --sort/,
    );
  });

  it('refuses ids that repeat, of threads and of posts', async () => {
    expect(await failure(good + line(makeThread('b')) + good)).toContain(
      'threads.jsonl:3 id: repeats the thread id of line 1; ids are unique within a file (`earshot data import threads` leaves out exact copies); found "a"',
    );
    expect(await failure(line({ id: 'b', posts: [post('b'), post('b')] }))).toContain('repeats the id "b" of posts.0');
  });

  it('names the key that an unknown one was meant for', async () => {
    const thread = { id: 'b', posts: [post('b')] };
    const messages: [unknown, string][] = [
      [
        { ...thread, label: 'rumor' },
        'threads.jsonl:1 label: unknown key, did you mean rumor (true or false), veracity, or labels ({"name": value})?; ' +
          'found "rumor"',
      ],
      [{ ...thread, rumuor: true }, 'threads.jsonl:1 rumuor: unknown key, did you mean rumor?; found true'],
      [{ ...thread, isRumor: true }, 'threads.jsonl:1 isRumor: unknown key, did you mean rumor?; found true'],
      [
        { ...thread, source_url: 'x' },
        'threads.jsonl:1 source_url: unknown key, known are id, event, veracity, rumor, split, labels, chosen, posts; found "x"',
      ],
      [
        { id: 'b', posts: [post('b'), { ...post('c'), created_at: '2020-01-01' }] },
        'threads.jsonl:1 posts.1.created_at: unknown key, did you mean time?; found "2020-01-01"',
      ],
    ];
    for (const [value, message] of messages) expect(await failure(line(value))).toContain(message);
  });

  it('tells of an unknown key before it tells of what is missing for it', async () => {
    expect(await failure(line({ id: 'b', tweets: [post('b')] }))).toContain(
      'threads.jsonl:1 tweets: unknown key, did you mean posts? (and 1 more in this item); found [',
    );
    expect(await failure(line({ id: 'b', toppic: 'x', posts: [{ ...post('b'), body: 'y' }] }))).toContain(
      'threads.jsonl:1 toppic: unknown key',
    );
  });

  it('names the importer for single posts', async () => {
    expect(await failure(line({ id: 'b', text: 'hello', labels: {} }))).toContain('earshot data import articles');
    // It would lose the replies.
    expect(await failure(line({ id: 'b', text: 'hello', replies: [post('c')] }))).toContain(
      'threads.jsonl:1 text: unknown key, did you mean posts (the claim is the first of them)?',
    );
    expect(await failure(line({ id: 'b', posts: [{ ...post('b'), replies: [post('c')] }] }))).toContain(
      'posts.0.replies: unknown key, did you mean parent (posts are one list, ',
    );
  });

  it('counts bad lines and goes on when asked', async () => {
    const folder = temporaryFolder({
      'a.jsonl': `${good}nonsense\n${line({ id: 'c', posts: [] })}${line(makeThread('d'))}`,
    });
    const skipped: string[] = [];
    const threads = await loadThreads(join(folder, 'a.jsonl'), {
      skipInvalid: true,
      onSkipped: (line) => skipped.push(line),
    });
    expect(threads.map(({ id }) => id)).toEqual(['a', 'd']);
    expect(skipped.map((line) => line.split(': ')[0])).toEqual([
      `skipped ${folder}/a.jsonl:2`,
      `skipped ${folder}/a.jsonl:3 posts`,
    ]);
    const bad = temporaryFolder({ 'a.jsonl': 'x\ny\n' });
    await expect(loadThreads(join(bad, 'a.jsonl'), { skipInvalid: true })).rejects.toThrow(
      'holds no threads: all 2 lines are invalid',
    );
  });

  it('says what is wrong with a file as a whole', async () => {
    const folder = temporaryFolder();
    await expect(loadThreads(join(folder, 'none.jsonl'))).rejects.toThrow(/^there is no .*none\.jsonl$/);
    await expect(loadThreads(folder)).rejects.toThrow('is a directory; a file is needed here');
    expect(await failure('')).toContain('threads.jsonl is empty (0 bytes)');
    expect(await failure('\n\n')).toContain('threads.jsonl holds no threads');
    expect(await failure(good, 'a.jsonl.gz')).toContain(
      'a.jsonl.gz ends in .gz but is not gzip: it starts with the bytes 7b22',
    );
    const many = gzipSync(Array.from({ length: 500 }, (_, index) => line(makeThread(`t${index}`))).join(''));
    expect(await failure(many.subarray(0, many.length - 20), 'a.jsonl.gz')).toMatch(
      /a\.jsonl\.gz: the gzip data breaks off after line \d+ \(unexpected end of file\)/,
    );
    expect(await failure(Buffer.from([0x7b, 0xff, 0xfe, 0x0a]))).toContain(
      'the text is not UTF-8; `earshot data import` and `select` take --encoding ',
    );
    await expect(loadThreads('https://example.org/a.jsonl')).rejects.toThrow('is an address: download it first');
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    await expect(loadThreads(pipe)).rejects.toThrow('is a pipe or a device, which can be read only once');
  });

  it.each<[string, Buffer]>([
    ['is a zip archive or a spreadsheet; unpack it, or save the sheet as "CSV UTF-8"', Buffer.from('PK\u0003\u0004')],
    ['is a Parquet file; `earshot data import parquet` reads', Buffer.from('PAR1')],
    ['is packed with bzip2, which is not read; unpack it', Buffer.from('BZh91AY')],
    ['is packed with xz,', Buffer.from('fd377a585a00', 'hex')],
    ['is packed with zstd,', Buffer.from('28b52ffd', 'hex')],
  ])('says that a file %s', async (message, content) => {
    expect(await failure(content)).toContain(`threads.jsonl ${message}`);
  });

  it('says which command reads a table', async () => {
    expect(await failure('a,b\n', 'posts.csv')).toMatch(
      /^posts\.csv is a table; make threads of it first: `earshot data import csv posts\.csv --out threads\.jsonl`$/,
    );
    expect(await failure('a\tb\n', 'my posts.tsv.gz')).toContain("data import csv '");
    expect(await failure('PAR1', 'posts.parquet')).toContain('`earshot data import parquet posts.parquet --out');
  });

  it('shows all digits of a number that is no exact one', async () => {
    expect(await failure('{"id": 1669700650467246081, "posts": [{"id": "1", "text": "x"}]}')).toMatch(
      /^threads\.jsonl:1: the number 1669700650467246081 has so many digits that it loses the last ones; write it in quotes/,
    );
    expect(await failure('{"id": 1669700650467246081, "text": "x"}')).toMatch(
      /^threads\.jsonl:1: has a text but no posts\. Where it is a post, `earshot data import posts threads\.jsonl --out threads\.jsonl` puts .*found \{"id":"1669700650467246081"/,
    );
  });
});

describe('writing threads', () => {
  it('gives back what was written, plain and gzip', async () => {
    const folder = temporaryFolder();
    const threads = [makeThread('a'), makeThread('b', { rumor: null, event: 'flood' })];
    for (const name of ['out/a.jsonl', 'out/a.jsonl.gz']) {
      expect(await writeThreads(join(folder, name), threads)).toBe(2);
      expect(await loadThreads(join(folder, name))).toEqual(threads);
    }
    expect(readFileSync(join(folder, 'out/a.jsonl.gz'))[0]).toBe(0x1f);
  });

  it('leaves the old file and nothing else behind when writing fails', async () => {
    const folder = temporaryFolder({ 'a.jsonl': good });
    async function* broken(): AsyncGenerator<Thread> {
      yield makeThread('b');
      throw new Error('the source failed');
    }
    await expect(writeThreads(join(folder, 'a.jsonl'), broken())).rejects.toThrow('the source failed');
    await expect(writeThreads(join(folder, 'a.jsonl'), [])).rejects.toThrow('there are no threads to write');
    expect(readFileSync(join(folder, 'a.jsonl'), 'utf8')).toBe(good);
    expect(readdirSync(folder)).toEqual(['a.jsonl']);
  });

  it('writes through symbolic links, also to a file that is not there yet', async () => {
    const folder = temporaryFolder({ 'old.jsonl': good });
    symlinkSync('old.jsonl', join(folder, 'to-old'));
    symlinkSync('new.jsonl', join(folder, 'to-new'));
    for (const [link, file] of [
      ['to-old', 'old.jsonl'],
      ['to-new', 'new.jsonl'],
    ]) {
      await writeThreads(join(folder, link), [makeThread('b')]);
      expect(lstatSync(join(folder, link)).isSymbolicLink()).toBe(true);
      expect(await loadThreads(join(folder, file))).toEqual([makeThread('b')]);
    }
  });

  it.skipIf(process.platform === 'win32')('writes into a pipe, and leaves it there', async () => {
    const folder = temporaryFolder({});
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    const [text] = await Promise.all([readFile(pipe, 'utf8'), writeThreads(pipe, [makeThread('b')])]);
    expect(text).toBe(line(makeThread('b')));
    expect(lstatSync(pipe).isFIFO()).toBe(true);
  });

  it.skipIf(!existsSync('/dev/full'))('says that the disk is full, and leaves the device there', async () => {
    await expect(writeThreads('/dev/full', [makeThread('b')])).rejects.toThrow(
      new InputError(
        'cannot write threads to /dev/full (ENOSPC): the disk is full; free some space or choose a folder on another disk',
      ),
    );
    expect(lstatSync('/dev/full').isCharacterDevice()).toBe(true);
    // Full while there is more to write: the stream's error reaches what makes the threads, whose fault it is not.
    const many = Array.from({ length: 2000 }, (_, index) => makeThread(`t${index}`));
    await expect(writeThreads('/dev/full', many)).rejects.toThrow(/^cannot write threads to \/dev\/full \(ENOSPC\)/);
  });

  it('says that a path is a folder', async () => {
    await expect(writeThreads(temporaryFolder({}), [makeThread('b')])).rejects.toThrow(/EISDIR.*it is a folder/);
  });
});

describe('threads of a stream', () => {
  const chinese = makeThread('t', { posts: 2 });
  chinese.posts[0].text = '谣言 😱';
  const name = 'standard input';

  it('come one by one, whatever the chunks, and may come again', async () => {
    const bytes = Buffer.from(`${line(chinese)}\n${line(chinese).trim()}`);
    const single = Array.from(bytes, (byte) => Buffer.of(byte));
    for (const chunks of [[bytes], single, [bytes.toString()]]) {
      const found: Thread[] = [];
      for await (const thread of threadsOfStream(Readable.from(chunks), { name })) found.push(thread);
      expect(found).toEqual([chinese, chinese]);
    }
  });

  it('are given out before the stream ends', async () => {
    const threads = threadsOfStream(
      (async function* () {
        yield good;
        await new Promise(() => {});
      })(),
      { name },
    );
    expect((await threads.next()).value).toEqual(makeThread('a'));
  });

  it('are refused with the number of the line', async () => {
    const read = async (content: Buffer) => {
      for await (const thread of threadsOfStream(Readable.from([content]), { name })) expect(thread.id).toBe('a');
    };
    await expect(read(Buffer.from(`${good}{"i`))).rejects.toThrow(/^standard input:2: .*is not JSON/);
    await expect(read(Buffer.from([...Buffer.from(good), 0xff]))).rejects.toThrow(
      'standard input: the text after line 1 is not UTF-8',
    );
  });
});
