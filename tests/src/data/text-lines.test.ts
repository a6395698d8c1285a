import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { importThreads } from '../../../src/data/import-threads.ts';
import { linesOf, readLines, readWholeText } from '../../../src/data/text-lines.ts';
import { loadThreads, threadsOfStream } from '../../../src/data/thread-file.ts';
import { collect, makeThread, temporaryFolder } from './fixtures.ts';

afterEach(() => vi.unstubAllEnvs());

/** A stream of chunks of so many bytes. */
async function* chunks(text: string, size: number) {
  const bytes = Buffer.from(text);
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

describe('lines of JSON', () => {
  const text = '{"a": 1}\r\n\n{"b": 2}\n{"c": 3}\r{"d": 4}\r\r\n{"e": 5}';

  it('end with a line feed, a carriage return or both, wherever chunks end', async () => {
    for (const size of [1, 2, 3, 7, 100]) {
      const lines = await collect(linesOf(chunks(text, size), { path: 'a' }));
      expect(lines.map((line) => [line.number, line.text])).toEqual([
        [1, '{"a": 1}'],
        [3, '{"b": 2}'],
        [4, '{"c": 3}'],
        [5, '{"d": 4}'],
        [7, '{"e": 5}'],
      ]);
    }
  });

  it('are threads, whatever ends them', async () => {
    const threads = [makeThread('a'), makeThread('b')];
    for (const end of ['\n', '\r\n', '\r']) {
      const folder = temporaryFolder({
        'a.jsonl': threads.map((thread) => `${JSON.stringify(thread)}${end}`).join(''),
      });
      expect(await loadThreads(`${folder}/a.jsonl`)).toEqual(threads);
      expect(await collect(importThreads('threads', { paths: [`${folder}/a.jsonl`] }))).toEqual(threads);
    }
  });

  it('keep a carriage return in other files', async () => {
    const folder = temporaryFolder({ 'a.txt': 'a\rb\nc' });
    const lines = await collect(readLines(`${folder}/a.txt`));
    expect(lines.map((line) => line.text)).toEqual(['a\rb', 'c']);
  });
});

describe('a line above the limit', () => {
  const thread = JSON.stringify(makeThread('b'));
  const long = JSON.stringify({ ...makeThread('a'), event: 'é'.repeat(600_000) });

  it('is refused with its number, and others are read where bad ones are left out', async () => {
    vi.stubEnv('EARSHOT_MAX_LINE_MB', '1');
    const folder = temporaryFolder({ 'a.jsonl.gz': gzipSync(`${thread}\n${long}\n${thread.replace('"b"', '"c"')}\n`) });
    const path = `${folder}/a.jsonl.gz`;
    await expect(loadThreads(path)).rejects.toThrow(
      /a\.jsonl\.gz:2: the line has more than 1 MB, which is too much to hold at once\. If it is meant to be so long, set EARSHOT_MAX_LINE_MB to more megabytes/,
    );
    const skipped: string[] = [];
    const read = await loadThreads(path, { skipInvalid: true, onSkipped: (line) => skipped.push(line) });
    expect(read.map(({ id }) => id)).toEqual(['b', 'c']);
    expect(skipped).toHaveLength(1);
    const stream = threadsOfStream(chunks(`${long}\n${thread}`, 65_536), { name: 'stdin', skipInvalid: true });
    expect((await collect(stream)).map(({ id }) => id)).toEqual(['b']);
  });

  it('is not held', async () => {
    let read = 0;
    async function* endless() {
      // One line of 300 MB.
      for (read = 0; read < 300; read++) yield Buffer.alloc(2 ** 20, 'x');
    }
    const before = process.memoryUsage().arrayBuffers;
    const [line] = await collect(linesOf(endless(), { path: 'a', mostBytes: 2 ** 21 }));
    expect([line.isCut, line.text.length, read]).toEqual([true, 4096, 300]);
    // It is told at once, and its end is not waited for.
    for await (const { isCut } of linesOf(endless(), { path: 'a', mostBytes: 2 ** 21 })) {
      expect([isCut, read]).toEqual([true, 2]);
      break;
    }
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(400 * 2 ** 20);
    const folder = temporaryFolder({ 'a.txt': 'short\na line that is longer' });
    await expect(collect(readLines(`${folder}/a.txt`, { mostBytes: 10 }))).rejects.toThrow(
      /a\.txt:2: the line has more than \S+ MB/,
    );
  });

  it('may have the limit that is given', async () => {
    vi.stubEnv('EARSHOT_MAX_LINE_MB', '2');
    const folder = temporaryFolder({ 'a.jsonl': `${long}\n` });
    expect(await loadThreads(`${folder}/a.jsonl`)).toHaveLength(1);
    for (const wrong of ['many', '0', '501', '-1']) {
      vi.stubEnv('EARSHOT_MAX_LINE_MB', wrong);
      await expect(loadThreads(`${folder}/a.jsonl`)).rejects.toThrow(
        `EARSHOT_MAX_LINE_MB is "${wrong}"; it must be a number of megabytes up to 500`,
      );
    }
  });

  it.each<[string, string, Record<string, string>]>([
    ['posts', 'a.json', { 'a.json': `[${JSON.stringify({ id: 1, conversation_id: 1, text: 'x'.repeat(200) })}]` }],
    [
      'eard',
      'a.json',
      { 'a.json': JSON.stringify({ a: { label: 1, seq: { timeline: [1], texts: ['x'.repeat(200)] } } }) },
    ],
  ])('is a whole text of %s', async (format, name, files) => {
    const folder = temporaryFolder(files);
    const read = (mostBytes: number) => collect(importThreads(format, { paths: [`${folder}/${name}`], mostBytes }));
    await expect(read(100)).rejects.toThrow(
      /a\.json must be read whole and has more than \S+ MB; write it as JSON Lines/,
    );
    expect(await read(1000)).toHaveLength(1);
  });

  it.each([
    ['a field in quotes', `t,"${'x\n'.repeat(100)}",0\n`],
    ['a row without an end', `t,${'x'.repeat(200)}`],
    ['a quote without an end', `t,"${'x,y,z\n'.repeat(100)}`],
  ])('is %s of a table', async (_, row) => {
    const folder = temporaryFolder({ 'a.csv': `thread,text,time\nt,short,0\n${row}` });
    const read = collect(importThreads('csv', { paths: [`${folder}/a.csv`], mostBytes: 100, skipInvalid: true }));
    await expect(read).rejects.toThrow(/a\.csv:3: the row has more than \S+ MB, .* --quote none/);
  });

  it('is a line or a text of any file', async () => {
    const folder = temporaryFolder({ 'a.txt': 'x'.repeat(200) });
    await expect(collect(readLines(`${folder}/a.txt`, { mostBytes: 100 }))).rejects.toThrow(
      /a\.txt:1: the line has more than/,
    );
    await expect(readWholeText(`${folder}/a.txt`, { mostBytes: 100 })).rejects.toThrow(/must be read whole/);
  });
});
