import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { importThreads } from '../../../src/data/import-threads.ts';
import type { ImportOptions } from '../../../src/data/importers/importer.ts';
import { InputError } from '../../../src/errors.ts';
import { collect, temporaryFolder } from './fixtures.ts';
import { zipped } from './zip.ts';

const lines = (...values: object[]) => values.map((value) => `${JSON.stringify(value)}\n`).join('');

/** Two conversations whose utterances lie between each other, the first out of time order. */
const utterances = lines(
  { id: 'a1', conversation_id: 'a', speaker: 'Ann', 'reply-to': 'a', timestamp: 1400000200, text: 'late', meta: {} },
  { id: 'b', conversation_id: 'b', speaker: 'Bob', 'reply-to': null, timestamp: null, text: 'other', vectors: [] },
  { id: 'a', conversation_id: 'a', speaker: 'Bob', 'reply-to': null, timestamp: 1400000000, text: 'claim' },
  { id: 'a2', conversation_id: 'a', speaker: 'Cid', 'reply-to': 'gone', timestamp: '1400000100.5', text: 'early' },
);
const conversations = {
  a: { meta: { attack: true, 'number of 😀': 3, split: 'train' }, vectors: [] },
  b: { meta: { attack: false, 'number of 😀': null, pages: ['x'] } },
};
const corpus = { 'utterances.jsonl': utterances, 'conversations.json': JSON.stringify(conversations) };

async function importFrom(
  files: Record<string, unknown>,
  { path = '', ...more }: ImportOptions & { path?: string } = {},
) {
  const folder = temporaryFolder(files);
  const notes: string[] = [];
  const paths = [join(folder, path)];
  const threads = await collect(importThreads('convokit', { ...more, paths, onNote: (note) => notes.push(note) }));
  return { threads, notes };
}

describe('convokit', () => {
  it('reads utterances that are packed or in UTF-16', async () => {
    const { threads } = await importFrom(corpus);
    for (const file of [gzipSync(utterances), Buffer.from(`\ufeff${utterances}`, 'utf16le')])
      expect((await importFrom({ 'utterances.jsonl': file })).threads).toEqual(
        threads.map(({ split: _, ...thread }) => thread),
      );
  });

  it('reads conversations, each with its last utterance, in time order with labels as they are', async () => {
    const { threads, notes } = await importFrom(corpus, { label: ['attack', 'number of 😀'] });
    expect(threads.map(({ id, labels, split }) => ({ id, labels, split }))).toEqual([
      { id: 'b', labels: { attack: false }, split: undefined },
      { id: 'a', labels: { attack: true, 'number of 😀': 3 }, split: 'train' },
    ]);
    expect(threads[1].posts).toMatchObject([
      { id: 'a', parent: null, author: 'Bob', time: '2014-05-13T16:53:20.000Z', text: 'claim' },
      { id: 'a2', parent: null, author: 'Cid', time: '2014-05-13T16:55:00.500Z' },
      { id: 'a1', parent: 'a', author: 'Ann', time: '2014-05-13T16:56:40.000Z' },
    ]);
    expect(threads[0].posts[0].time).toBeNull();
    expect(notes).toEqual([
      '1 conversations have no value for number of 😀',
      '1 utterances answer one that is not in their conversation; their parent is null',
    ]);
  });

  it('reads a zip archive, and what older releases call root, user and no meta', async () => {
    const old = {
      'old-corpus/utterances.jsonl': lines(
        { id: 'a', root: 'a', user: 'Ann', timestamp: 1400000000, text: 'claim' },
        { id: 'a1', root: 'a', user: 'Bob', reply_to: 'a', timestamp: 1400000001, text: null },
      ),
      'old-corpus/conversations.json': JSON.stringify({ a: { outcome: 'verdict: guilty' } }),
      '__MACOSX/old-corpus/utterances.jsonl': 'rubbish',
    };
    const { threads } = await importFrom({ 'old.zip': zipped(old) }, { path: 'old.zip', label: ['outcome'] });
    expect(threads).toMatchObject([
      { id: 'a', labels: { outcome: 'verdict: guilty' }, posts: [{ author: 'Ann' }, { parent: 'a', text: '' }] },
    ]);
  });

  it('sorts the utterances that have a time, and reads times as texts', async () => {
    const utterance = (id: string, timestamp: number | string | null, reply: string | null) => ({
      ...{ id, conversation_id: 'c', 'reply-to': reply, timestamp, text: id },
    });
    const orderOf = async (...utterances: object[]) =>
      (await importFrom({ 'utterances.jsonl': lines(...utterances) })).threads[0].posts.map(({ id }) => id).join(' ');
    const [late, early, untimed] = [utterance('l', 300, 'c'), utterance('e', 100, 'c'), utterance('u', null, 'c')];
    expect(await orderOf(utterance('c', 0, null), late, untimed, early)).toBe('c e l u');
    expect(await orderOf(untimed, late, utterance('c', 0, null), early)).toBe('c u e l');
    expect(await orderOf(late, { ...early, timestamp: '' }, { ...untimed, timestamp: '50' })).toBe('u l e');
    // The claim is the earliest of those that answer none, with or without a time beside it.
    const roots = [late, untimed, early].map((own) => ({ ...own, 'reply-to': null }));
    expect(await orderOf(...roots)).toBe('e l u');
    const texts = lines(utterance('c', '2019-01-01 10:00:00', null), utterance('d', '2019-01-01T09:00:00+00', 'c'));
    const { threads, notes } = await importFrom({ 'utterances.jsonl': texts });
    expect(threads[0].posts.map(({ time }) => time)).toEqual(['2019-01-01T10:00:00.000Z', '2019-01-01T09:00:00.000Z']);
    expect(notes).toContainEqual(expect.stringMatching(/^1 times name no zone and are taken for UTC/));
    const inMilliseconds = await importFrom({ 'utterances.jsonl': lines(utterance('c', 1_400_000_000_000, null)) });
    expect(inMilliseconds.threads[0].posts[0].time).toBe('2014-05-13T16:53:20.000Z');
    await expect(importFrom({ 'utterances.jsonl': lines(utterance('c', '3/4/24', null)) })).rejects.toThrow(
      /utterances\.jsonl:1 timestamp: could be 3 April 2024 or 4 March 2024/,
    );
  });

  it('reads words that mean nothing by the rule of all formats', async () => {
    const corpusOf = (...outcomes: unknown[]) => ({
      'utterances.jsonl': lines(...outcomes.map((_, id) => ({ id: `${id}`, conversation_id: `${id}`, text: 'x' }))),
      'conversations.json': JSON.stringify(
        Object.fromEntries(outcomes.map((outcome, id) => [id, { meta: { outcome } }])),
      ),
    });
    const { threads, notes } = await importFrom(corpusOf('none', 'NA', '', null, 'a\u200b'), {
      label: ['outcome'],
      nulls: ['NA'],
    });
    expect(threads.map(({ labels }) => labels?.outcome ?? null)).toEqual(['none', null, null, null, 'a']);
    expect(notes).toContainEqual(
      'column "outcome": "none" is read as a word (1 row), "NA" is read as nothing (1 row); to read such words as nothing, add --null none',
    );
  });

  it('names the metadata where no label was asked for, or one that there is not', async () => {
    const { threads, notes } = await importFrom(corpus);
    expect(threads[0].labels).toBeUndefined();
    expect(notes[0]).toBe(
      'no label was taken; conversations have the metadata attack, number of 😀, split, pages, and --label names those to take',
    );
    await expect(importFrom(corpus, { label: ['attacks'] })).rejects.toThrow(
      /conversations\.json: no conversation has metadata called "attacks" \(--label\); there is attack, number of 😀, split, pages/,
    );
    const { 'utterances.jsonl': alone } = corpus;
    await expect(importFrom({ 'utterances.jsonl': alone }, { label: ['attack'] })).rejects.toThrow(
      'has no conversations.json',
    );
    expect((await importFrom({ 'utterances.jsonl': alone })).threads).toHaveLength(2);
    await expect(importFrom(corpus, { label: ['pages'] })).rejects.toThrow(
      'b pages: is no text, number or boolean; found ["x"]',
    );
  });

  it('refuses what is no corpus, a repeated id and a damaged archive', async () => {
    await expect(importFrom({ 'a.txt': 'x' })).rejects.toThrow('has no utterances.jsonl; convokit expects');
    await expect(importFrom({ 'a.txt': 'x' }, { path: 'a.txt' })).rejects.toThrow(
      'is neither a folder nor a zip archive',
    );
    const twice = lines({ id: 'a', conversation_id: 'a', text: 'x' }, { id: 'a', conversation_id: 'a', text: 'y' });
    await expect(importFrom({ 'utterances.jsonl': twice })).rejects.toThrow(
      'conversation a posts.1.id: repeats the id "a" of posts.0',
    );
    await expect(importFrom({ 'utterances.jsonl': lines({ id: 'a', text: 'x' }) })).rejects.toThrow(
      'utterances.jsonl:1 conversation_id: names no conversation',
    );
    const archive = zipped(corpus);
    const cut = { 'cut.zip': archive.subarray(0, archive.length - 30) };
    await expect(importFrom(cut, { path: 'cut.zip' })).rejects.toThrow(
      'cut.zip is a zip archive that has no list of its files',
    );
    archive[60] ^= 0xff;
    await expect(importFrom({ 'a.zip': archive }, { path: 'a.zip' })).rejects.toThrow('has a damaged utterances.jsonl');
  });

  it('fails on a damaged archive by message only', async () => {
    const whole = zipped(corpus);
    const damage = fc.tuple(fc.nat(whole.length), fc.nat(30), fc.uint8Array({ maxLength: 30 }));
    await fc.assert(
      fc.asyncProperty(damage, async ([from, length, piece]) => {
        const bytes = Buffer.concat([whole.subarray(0, from), piece, whole.subarray(from + length)]);
        await importFrom({ 'a.zip': bytes.length > 0 ? bytes : Buffer.from('x') }, { path: 'a.zip' }).catch(
          (error: unknown) => expect(error).toBeInstanceOf(InputError),
        );
      }),
      { seed: 27, numRuns: 200 },
    );
  });
});
