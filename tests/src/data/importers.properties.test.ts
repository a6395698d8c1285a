import { rmSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { describe, expect, it } from 'vitest';
import { importers, importThreads } from '../../../src/data/import-threads.ts';
import { sortReplies } from '../../../src/data/importers/assemble-thread.ts';
import { type Thread, threadSchema } from '../../../src/data/thread.ts';
import { readThreads, writeThreads } from '../../../src/data/thread-file.ts';
import { InputError } from '../../../src/errors.ts';
import { collect, temporaryFolder, writeFiles } from './fixtures.ts';

const text = fc.string({ unit: 'binary', maxLength: 12 });
const filled = fc.string({ unit: 'binary', minLength: 1, maxLength: 8 });
const time = fc
  .date({ min: new Date(0), max: new Date('9999-12-31'), noInvalidDate: true })
  .map((date) => date.toISOString());
const orNull = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null });

const post = fc.record({
  id: filled,
  time: orNull(time),
  author: orNull(text),
  parent: orNull(text),
  text,
  stance: fc.constantFrom('support' as const, 'deny' as const, 'query' as const, 'comment' as const, null),
});
const label = fc.oneof(text, fc.boolean(), fc.integer());
const thread: fc.Arbitrary<Thread> = fc
  .record(
    {
      id: filled,
      event: orNull(text),
      veracity: fc.constantFrom('true' as const, 'false' as const, 'unverified' as const, 'non-rumor' as const, null),
      rumor: orNull(fc.boolean()),
      posts: fc.uniqueArray(post, { minLength: 1, maxLength: 5, selector: ({ id }) => id }),
      split: text,
      labels: fc.dictionary(text, label, { maxKeys: 3, noNullPrototype: true }),
    },
    { requiredKeys: ['id', 'event', 'veracity', 'rumor', 'posts'], noNullPrototype: true },
  )
  .map((drawn) => ({ ...drawn, posts: sortReplies(drawn.posts) }));
const threads = fc.uniqueArray(thread, { minLength: 1, maxLength: 5, selector: ({ id }) => id });

describe('a thread file', () => {
  it('gives back every thread that was written, whatever its texts', async () => {
    const folder = temporaryFolder();
    await fc.assert(
      fc.asyncProperty(threads, fc.constantFrom('a.jsonl', 'a.jsonl.gz'), async (threads, name) => {
        const path = join(folder, name);
        expect(await writeThreads(path, threads)).toBe(threads.length);
        expect(await collect(readThreads(path))).toEqual(threads);
        expect(await collect(importThreads('threads', { paths: [path] }))).toEqual(threads);
      }),
      { seed: 24, numRuns: 60 },
    );
  });

  it('is the same after its replies were shuffled and sorted again, as far as their times tell', async () => {
    const folder = temporaryFolder();
    const timed = fc.uniqueArray(time, { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(timed, fc.nat(), async (times, turn) => {
        const posts = [...times].sort().map((time, index) => ({ id: `${index}`, time, text: '' }));
        const sorted = threadSchema.parse({ id: 'a', posts });
        const [claim, ...replies] = sorted.posts;
        const at = turn % Math.max(1, replies.length);
        const turned = { ...sorted, posts: [claim, ...replies.slice(at), ...replies.slice(0, at)] };
        writeFiles(folder, { 'a.jsonl': JSON.stringify(turned) });
        const paths = [join(folder, 'a.jsonl')];
        expect(await collect(importThreads('threads', { paths, sort: true }))).toEqual([sorted]);
      }),
      { seed: 25, numRuns: 40 },
    );
  });
});

/** For each format a small release that imports, file by file. */
const tweet = { text: 'one', created_at: 'Sat Aug 09 22:33:06 +0000 2014', user: { screen_name: 'a' } };
const releases: Record<string, Record<string, unknown>> = {
  threads: { 'a.jsonl': { id: 'a', rumor: true, posts: [{ id: 'a', text: 'one', time: '2020-01-01T00:00:00Z' }] } },
  csv: { 'posts.csv': 'thread,text,time,label\na,"one, two",2020-01-01T00:00:00Z,rumor\na,three,1577836801,\n' },
  posts: {
    'posts.jsonl':
      '{"id": 1669700650467246081, "conversation_id": "a", "text": "one", "user": {"id": 5}}\n{"id": 7, "conversation_id": "a", "text": "two", "created_at": 1577836801}\n',
    'list.json': { messages: [{ id: 1, conversation_id: 'b', text: ['one', { type: 'link', text: 'two' }] }] },
  },
  parquet: {
    'posts.parquet': Buffer.from(
      parquetWriteBuffer({
        columnData: [
          { name: 'thread', data: ['a', 'a'], type: 'STRING' },
          { name: 'text', data: ['one', 'two'], type: 'STRING' },
          { name: 'time', data: [new Date(0), new Date(1)], type: 'TIMESTAMP' },
        ],
      }),
    ),
  },
  eard: { 'a.json': { a: { label: 1, seq: { timeline: [1400000000, 1400000001], texts: ['one', 'two'] } } } },
  articles: { 'a.jsonl': { id: 'a', title: 'one', text: 'two', labels: { stance: 'favor' } } },
  checkthat4a: { 'ct_train.tsv': 'index\ttext\tlabels\n0\t"one\ttwo"\t[0.0, 1.0, 0.0]\n' },
  convokit: {
    'corpus/utterances.jsonl':
      '{"id": "a", "conversation_id": "a", "speaker": "b", "reply-to": null, "timestamp": 1400000000, "text": "one"}\n{"id": "c", "conversation_id": "a", "reply-to": "a", "timestamp": "1400000001.5", "text": "two"}\n',
    'corpus/conversations.json': { a: { meta: { split: 'train', attack: true }, vectors: [] } },
  },
  erisk: {
    'chunk1/subject1_1.xml':
      '<INDIVIDUAL><ID>subject1</ID><WRITING><TITLE>a &amp; b</TITLE><DATE>2016-03-10 12:32:43</DATE><TEXT>one</TEXT></WRITING></INDIVIDUAL>',
    'chunk2/subject1_2.xml':
      '<INDIVIDUAL><ID>subject1</ID><WRITING><DATE>2016-03-11 12:32:43</DATE><TEXT>two</TEXT></WRITING></INDIVIDUAL>',
    'truth.txt': 'subject1 1\n',
  },
  fakenewsnet: {
    'politifact_fake.csv': 'id,news_url,title,tweet_ids\np1,x,"one, two",498248415223246848\t498248415223246849\n',
    'gossipcop/real/g1/news content.json': { title: 'one', text: 'two', publish_date: 1400000000 },
  },
  pheme: {
    'flood/rumours/1/source-tweet/1.json': tweet,
    'flood/rumours/1/reactions/2.json': { ...tweet, in_reply_to_status_id_str: '1' },
    'flood/rumours/1/structure.json': { 1: { 2: [] } },
    'flood/rumours/1/annotation.json': { misinformation: 0, true: '1' },
  },
  rumoureval2017: {
    'data/flood/1/source-tweet/1.json': tweet,
    'data/flood/1/replies/2.json': tweet,
    'rumoureval-subtaskA-train.json': { 1: 'support', 2: 'deny' },
    'rumoureval-subtaskB-train.json': { 1: 'true' },
  },
  rumoureval2019: {
    'reddit-training-data/1/source-tweet/1.json': {
      data: { children: [{ data: { title: 'one', created_utc: 1400000000 } }] },
    },
    'reddit-training-data/1/replies/2.json': { data: { body: 'two', created_utc: 1400000001, parent_id: 't3_1' } },
    'train-key.json': { subtaskaenglish: { 1: 'support', 2: 'deny' }, subtaskbenglish: { 1: 'false' } },
  },
  'rumoreval-s': {
    'ClaimLabel.txt': 'claimID:123456\tTR\n',
    'StanceLabel.txt': 'claimID:123456\treplyID:123457\tS\n',
    '123456.txt': 'claimID:123456\tone\nreplyID:123457\ttwo\n',
  },
  twitter1516: {
    'label.txt': 'unverified:498248415223246848\n',
    'source_tweets.txt': '498248415223246848\tone\n',
    'tree/498248415223246848.txt':
      "['ROOT', 'ROOT', '0.0']->['1', '498248415223246848', '0.0']\n['1', '498248415223246848', '0.0']->['2', '5', '1.5']\n",
  },
};

/** Bytes with some of them replaced. */
function damagedBytes(original: Buffer): fc.Arbitrary<Buffer> {
  return fc
    .tuple(fc.nat(original.length), fc.nat(12), fc.uint8Array({ maxLength: 12 }))
    .map(([from, length, piece]) =>
      Buffer.concat([original.subarray(0, from), piece, original.subarray(from + length)]),
    );
}

/** A text with some of it replaced by something else, which is how files break. */
function damaged(original: string): fc.Arbitrary<string | Buffer> {
  const spliced = fc
    .tuple(
      fc.nat(original.length),
      fc.nat(12),
      fc.oneof(fc.string({ unit: 'binary' }), fc.json(), fc.double().map(String)),
    )
    .map(([from, length, piece]) => original.slice(0, from) + piece + original.slice(from + length));
  return fc.oneof(
    { weight: 3, arbitrary: spliced },
    fc.string({ unit: 'binary' }),
    fc.uint8Array().map((bytes) => Buffer.from(bytes)),
  );
}

/** JSON with the value at one place replaced, or any JSON at all. */
function damagedJson(original: unknown): fc.Arbitrary<string | Buffer> {
  const places: string[][] = [];
  const walk = (value: unknown, path: string[]) => {
    places.push(path);
    if (typeof value === 'object' && value !== null)
      for (const [key, member] of Object.entries(value)) walk(member, [...path, key]);
  };
  walk(original, []);
  const replace = (value: unknown, path: readonly string[], piece: unknown): unknown => {
    if (path.length === 0) return piece;
    const [key, ...rest] = path;
    const members = Object.entries(value as object).map(([name, member]) => [
      name,
      name === key ? replace(member, rest, piece) : member,
    ]);
    return Array.isArray(value) ? members.map(([, member]) => member) : Object.fromEntries(members);
  };
  const piece = fc.oneof(fc.jsonValue(), fc.constantFrom(1e300, -1e300, '1e300', 1e17, '', '0', null));
  return fc.oneof(
    {
      weight: 4,
      arbitrary: fc
        .tuple(fc.constantFrom(...places), piece)
        .map(([path, value]) => JSON.stringify(replace(original, path, value))),
    },
    damaged(JSON.stringify(original)),
  );
}

describe('a time beyond the calendar', () => {
  const edge = (minutes: string) => `['1', '498248415223246848', '0.0']->['2', '5', '${minutes}']\n`;
  it.each<[string, string, unknown]>([
    ['fakenewsnet', 'gossipcop/real/g1/news content.json', { title: 'one', publish_date: 1e300 }],
    ['rumoureval2019', 'reddit-training-data/1/replies/2.json', { data: { body: 'two', created_utc: 1e14 } }],
    ['twitter1516', 'tree/498248415223246848.txt', edge('1e300')],
    ['eard', 'a.json', { a: { label: 1, seq: { timeline: [1e300], texts: ['one'] } } }],
  ])('is a bad item of %s', async (format, name, content) => {
    const folder = temporaryFolder({ ...releases[format], [name]: content });
    const paths = [format === 'eard' ? join(folder, name) : folder];
    await expect(collect(importThreads(format, { paths }))).rejects.toThrow(/Fix it, or leave such items out/);
  });
});

describe('every importer', () => {
  it('has a release in this test', () => {
    expect(Object.keys(releases).sort()).toEqual(importers.map(({ name }) => name).sort());
  });

  it.each(Object.entries(releases))(
    '%s reads its release whole and fails on a damaged one by message only',
    async (format, release) => {
      const folder = temporaryFolder(release);
      // Twitter15/16 and PHEME take folders, the others take them or their files.
      const isFiles = Object.keys(release).every((name) => !name.includes('/')) && format !== 'rumoreval-s';
      const paths = isFiles ? Object.keys(release).map((name) => join(folder, name)) : [folder];
      const read = (skipInvalid: boolean) => collect(importThreads(format, { paths, skipInvalid }));
      expect(await read(false)).not.toHaveLength(0);
      const damage = fc
        .constantFrom(...Object.entries(release))
        .chain(([name, content]) =>
          fc.tuple(
            fc.constant(name),
            typeof content === 'string'
              ? damaged(content)
              : Buffer.isBuffer(content)
                ? damagedBytes(content)
                : damagedJson(content),
          ),
        );
      await fc.assert(
        fc.asyncProperty(damage, fc.boolean(), async ([name, content], skipInvalid) => {
          rmSync(folder, { recursive: true });
          writeFiles(folder, { ...release, [name]: content });
          try {
            for (const thread of await read(skipInvalid)) expect(threadSchema.parse(thread)).toEqual(thread);
          } catch (error) {
            expect(error).toBeInstanceOf(InputError);
          }
        }),
        { seed: 26, numRuns: 50 },
      );
    },
  );
});
