import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { Thread } from '../../../src/data/thread.ts';
import { indexThreadFile, loadIndexed, sourceOfThreads } from '../../../src/data/thread-source.ts';
import { collect, makeThread, temporaryFolder } from './fixtures.ts';

// Characters of several bytes before and within lines, so that a count of characters would go wrong.
const threads = Array.from({ length: 40 }, (_, index): Thread => {
  const thread = makeThread(`谣言-${index}`, { posts: 1 + (index % 7), event: index % 2 === 0 ? 'flood' : null });
  return { ...thread, posts: thread.posts.map((post) => ({ ...post, text: `${post.text} 😀é`.repeat(index * 10) })) };
});
const lines = threads.map((thread) => JSON.stringify(thread));
const text = `\ufeff${lines.slice(0, 5).join('\n')}\n\n  \nno thread\r\n${lines.slice(5).join('\r\n')}`;

describe.each(['plain', 'gzip', 'UTF-16'] as const)('a %s file whose threads do not stay in memory', (form) => {
  const write = () => {
    const forms = { plain: text, gzip: gzipSync(text), 'UTF-16': Buffer.from(`\ufeff${text}`, 'utf16le') };
    const folder = temporaryFolder({ 'threads.jsonl': forms[form] });
    return join(folder, 'threads.jsonl');
  };
  const index = (path: string) => indexThreadFile(path, { skipInvalid: true, keptCharacters: 0 });

  it('gives any of them whole, in the order asked for', async () => {
    const source = await index(write());
    expect(source.threads).toEqual(
      threads.map(({ id, event, rumor, veracity }, place) => ({ id, event, rumor, veracity, place })),
    );
    const wanted = [39, 0, 5, 4, 17, 38].map((place) => source.threads[place]);
    expect(await loadIndexed(source, wanted)).toEqual([39, 0, 5, 4, 17, 38].map((place) => threads[place]));
    expect(await collect(source.read(wanted))).toEqual([0, 4, 5, 17, 38, 39].map((place) => threads[place]));
    expect(await loadIndexed(source, source.threads)).toEqual(threads);
    expect(await loadIndexed(source, [])).toEqual([]);
  });

  it('is the same to a split and a hash as one that does', async () => {
    const told: Thread[] = [];
    const shaped = (thread: Thread) => ({ ...thread, posts: thread.posts.slice(0, 2) });
    const options = { skipInvalid: true, shaped };
    const path = write();
    const large = await indexThreadFile(path, {
      ...options,
      keptCharacters: 0,
      onThread: (thread) => told.push(thread),
    });
    const small = await indexThreadFile(path, options);
    expect(large.threads).toEqual(small.threads);
    expect(large.threads).toEqual(sourceOfThreads(threads).threads);
    expect(told).toEqual(threads.map(shaped));
    for (const source of [large, small]) expect(await loadIndexed(source, source.threads)).toEqual(told);
  });

  it('is refused once it was written again', async () => {
    const path = write();
    const source = await index(path);
    appendFileSync(path, '\n');
    await expect(loadIndexed(source, source.threads.slice(3))).rejects.toThrow(
      'threads.jsonl was changed while it was in use; give the command again',
    );
  });
});

it('names bad lines as a reading of all threads does', async () => {
  const folder = temporaryFolder();
  const path = join(folder, 'threads.jsonl');
  writeFileSync(path, `${lines[0]}\n${lines[0]}\n`);
  await expect(indexThreadFile(path, { keptCharacters: 0 })).rejects.toThrow(
    'threads.jsonl:2 id: repeats the thread id of line 1; ids are unique within a file',
  );
});
