import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { importThreads } from '../../../src/data/import-threads.ts';
import type { ImportOptions } from '../../../src/data/importers/importer.ts';
import type { Thread } from '../../../src/data/thread.ts';
import { collect, temporaryFolder } from './fixtures.ts';

const claim = '500308076004929537';
const reply = '500308200000000000';
const answer = '500308300000000000';

function tweet(text: string, more: object = {}): object {
  return { text, created_at: 'Thu Aug 14 13:00:00 +0000 2014', user: { screen_name: 'someone' }, ...more };
}

/** Imports a made-up folder; `paths` are relative to it. */
async function importFrom(
  format: string,
  options: { files: Record<string, unknown>; paths: string[]; more?: ImportOptions },
): Promise<{ threads: Thread[]; notes: string[]; skipped: string[]; folder: string }> {
  const folder = temporaryFolder(options.files);
  const notes: string[] = [];
  const skipped: string[] = [];
  const more = { ...options.more };
  const threads = await collect(
    importThreads(format, {
      ...more,
      ...(more.texts === undefined ? {} : { texts: join(folder, more.texts) }),
      paths: options.paths.map((path) => join(folder, path)),
      onNote: (note) => notes.push(note),
      onSkipped: (line) => skipped.push(line),
    }),
  );
  return { threads, notes, skipped, folder };
}

describe('any format', () => {
  it('names the nearest format and all formats', async () => {
    await expect(importFrom('phemme', { files: {}, paths: [''] })).rejects.toThrow(
      'there is no format "phemme"; did you mean pheme? Formats: threads, csv, posts, parquet, eard, pheme, rumoureval2017, rumoureval2019',
    );
  });

  it('says when a path is missing or holds nothing of the format', async () => {
    await expect(importFrom('pheme', { files: {}, paths: ['no'] })).rejects.toThrow(/there is no .*no\. pheme expects/);
    await expect(importFrom('pheme', { files: { 'a.txt': 'x' }, paths: [''] })).rejects.toThrow(
      /no pheme threads found/,
    );
  });

  it('refuses options that mean nothing to it', async () => {
    await expect(importFrom('eard', { files: {}, paths: [''], more: { sort: true } })).rejects.toThrow(
      '--sort means nothing to the format eard; only to threads',
    );
  });

  it('leaves out exact copies of a thread with a count, and refuses those that differ', async () => {
    const line = JSON.stringify({ id: 'a', posts: [{ id: 'a', text: 'x' }] });
    const files = { 'a.jsonl': line, 'b.jsonl': line, 'c.jsonl': line.replace('"x"', '"y"') };
    const copied = await importFrom('threads', { files, paths: ['a.jsonl', 'b.jsonl'] });
    expect(copied.threads).toHaveLength(1);
    expect(copied.notes).toEqual(['1 threads are exact copies of earlier ones and were left out']);
    const paths = ['a.jsonl', 'b.jsonl', 'c.jsonl'];
    await expect(importFrom('threads', { files, paths })).rejects.toThrow(
      /a\.jsonl, .*c\.jsonl: thread 3, id: repeats the id of an earlier thread, and differs from it; found "a"/,
    );
    const kept = await importFrom('threads', { files, paths, more: { skipInvalid: true } });
    expect(kept.threads).toHaveLength(1);
    expect(kept.skipped).toHaveLength(1);
  });

  it('refuses an encoding that no decoder has', async () => {
    const more = { encoding: 'utf-9' };
    await expect(importFrom('threads', { files: { 'a.jsonl': '{}' }, paths: ['a.jsonl'], more })).rejects.toThrow(
      '--encoding utf-9 is not known; give a name such as gbk',
    );
  });
});

describe('threads', () => {
  const unsorted = {
    id: 'a',
    posts: [
      { id: 'a', text: 'claim', time: '2020-01-01T12:00:00Z' },
      { id: 'late', text: 'x', time: '2020-01-03T00:00:00Z' },
      { id: 'unknown', text: 'x', time: null },
      { id: 'early', text: 'x', time: '2020-01-02T00:00:00+01:00' },
    ],
  };
  const files = { 'a.jsonl': JSON.stringify(unsorted) };

  it('sorts replies when asked; those without time stay behind their neighbour', async () => {
    await expect(importFrom('threads', { files, paths: ['a.jsonl'] })).rejects.toThrow(/posts\.3\.time/);
    const { threads, notes } = await importFrom('threads', { files, paths: ['a.jsonl'], more: { sort: true } });
    expect(threads[0].posts.map(({ id }) => id)).toEqual(['a', 'early', 'late', 'unknown']);
    expect(notes).toEqual(['the replies of 1 threads were out of time order and are now sorted']);
  });

  it('puts numbers that are ids into quotes, those of 64 bits with all their digits', async () => {
    const posts = [
      { id: 7, text: 'claim' },
      { id: 8, parent: 7, author: 3, text: 'reply' },
    ];
    const lines = `${JSON.stringify({ id: 7, posts })}\n{"id": 524922729485848577, "posts": [{"id": "1", "text": "x"}]}`;
    const { threads, skipped } = await importFrom('threads', {
      files: { 'a.jsonl': lines },
      paths: ['a.jsonl'],
      more: { skipInvalid: true },
    });
    expect(threads.map(({ id }) => id)).toEqual(['7', '524922729485848577']);
    expect(threads[0].posts).toMatchObject([
      { id: '7', parent: null },
      { id: '8', parent: '7', author: '3' },
    ]);
    expect(skipped).toEqual([]);
    const rounded = { 'a.jsonl': '{"id": 5.24922729485848577e17, "posts": [{"id": "1", "text": "x"}]}' };
    await expect(importFrom('threads', { files: rounded, paths: ['a.jsonl'] })).rejects.toThrow(
      'a.jsonl:1 id: must be a text, in quotes: as a number it has lost',
    );
  });

  it('reads a list of threads, and one that stands over several lines', async () => {
    const list = [unsorted, { ...unsorted, id: 'b' }].map(({ id, posts: [claim] }) => ({ id, posts: [claim] }));
    for (const text of [JSON.stringify(list), JSON.stringify(list, null, 2), JSON.stringify(list[0], null, 2)]) {
      const { threads } = await importFrom('threads', { files: { 'a.json': text }, paths: ['a.json'] });
      expect(threads.map(({ id }) => id)).toEqual(text.startsWith('[') ? ['a', 'b'] : ['a']);
    }
  });

  it('leaves saying what is wrong with a broken thread to the schema', async () => {
    const broken = { 'a.jsonl': JSON.stringify({ id: 'a', posts: 'none' }) };
    await expect(importFrom('threads', { files: broken, paths: ['a.jsonl'], more: { sort: true } })).rejects.toThrow(
      'a.jsonl:1 posts: expected array; found "none"',
    );
  });
});

describe('articles', () => {
  it('makes threads of one post and keeps labels', async () => {
    const lines = [
      { id: 'a', title: 'Title', text: null, labels: { veracity: 'fake' }, split: 'train' },
      { id: 'b', text: 'Text', labels: { claim: 1, source: null, ['__proto__']: 'x' } },
    ];
    const { threads, notes } = await importFrom('articles', {
      files: { 'a.jsonl': lines.map((line) => JSON.stringify(line)).join('\n') },
      paths: ['a.jsonl'],
    });
    expect(threads.map(({ posts }) => posts.map(({ text }) => text))).toEqual([['Title'], ['Text']]);
    expect(threads[0]).toMatchObject({ labels: { veracity: 'fake' }, split: 'train', rumor: null });
    expect(threads[1].labels).toEqual({ claim: 1, source: null, ['__proto__']: 'x' });
    expect(notes).toEqual(['1 articles have a title only']);
  });

  it('says when there is nothing to read or no label', async () => {
    const files = { 'a.jsonl': '{"id":"a","text":"","labels":{}}', 'b.jsonl': '{"id":"a","text":"x"}' };
    await expect(importFrom('articles', { files, paths: ['a.jsonl'] })).rejects.toThrow(
      'has neither a text nor a title',
    );
    await expect(importFrom('articles', { files, paths: ['b.jsonl'] })).rejects.toThrow(
      'b.jsonl:1 labels: expected record',
    );
  });
});

describe('eard', () => {
  const seq = { timeline: [1407600000, 1407603600.5, 1407601800], tids: ['1', '2', '3'], texts: ['claim', 'b', 'c'] };

  it('reads labels, times in seconds, and sorts', async () => {
    const { threads } = await importFrom('eard', {
      files: {
        'a.json': { '1': { label: 1, seq }, '9': { label: 'non-rumor', seq: { timeline: [0], texts: ['x'] } } },
      },
      paths: ['a.json'],
    });
    expect(threads.map(({ id, rumor, veracity }) => [id, rumor, veracity])).toEqual([
      ['1', true, null],
      ['9', false, 'non-rumor'],
    ]);
    expect(threads[0].posts.map(({ id, time }) => [id, time])).toEqual([
      ['1', '2014-08-09T16:00:00.000Z'],
      ['3', '2014-08-09T16:30:00.000Z'],
      ['2', '2014-08-09T17:00:00.500Z'],
    ]);
    expect(threads[1].posts[0].id).toBe('9');
  });

  it('says what is wrong, and where', async () => {
    const fail = (entry: unknown) => importFrom('eard', { files: { 'a.json': { x: entry } }, paths: ['a.json'] });
    await expect(fail({ seq })).rejects.toThrow(/a\.json x label: the label must be 1 or "rumor".*; found nothing/);
    await expect(fail({ label: 0, seq: { ...seq, texts: [] } })).rejects.toThrow('a thread needs at least one post');
    await expect(fail({ label: 0, seq: { ...seq, tids: ['1'] } })).rejects.toThrow(
      'x seq.tids: must have one entry for each of the 3 texts, and has 1; found ["1"]',
    );
    await expect(fail({ label: 0, seq: { ...seq, timeline: ['noon', 1, 2] } })).rejects.toThrow(
      /seq\.timeline\.0: must be a time: ISO 8601 .*, or Unix seconds .*; found "noon"/,
    );
    await expect(importFrom('eard', { files: { 'a.json': '[1' }, paths: ['a.json'] })).rejects.toThrow('is not JSON');
  });
});

describe('pheme', () => {
  const root = 'all-rnr-annotated-threads/ferguson-all-rnr-threads';
  const rumor = `${root}/rumours/${claim}`;
  const files = {
    [`${rumor}/source-tweets/${claim}.json`]: tweet('claim', { created_at: 'Sat Aug 09 22:33:06 +0000 2014' }),
    [`${rumor}/source-tweets/._${claim}.json`]: 'a leaving of macOS',
    [`${rumor}/reactions/${answer}.json`]: tweet('answer', { created_at: 'Sat Aug 09 23:33:06 +0000 2014' }),
    [`${rumor}/reactions/${reply}.json`]: tweet('reply', { created_at: 'Sat Aug 09 22:43:06 +0000 2014' }),
    [`${rumor}/structure.json`]: { [claim]: { [reply]: { [answer]: [] } } },
    [`${rumor}/annotation.json`]: { is_rumour: 'rumour', misinformation: 0, true: '1' },
    [`${root}/non-rumours/7/source-tweet/7.json`]: { text: 'news' },
  };

  it('reads claim, tree, times, event and veracity', async () => {
    const { threads } = await importFrom('pheme', { files, paths: ['all-rnr-annotated-threads'] });
    expect(threads.map(({ id, event, veracity, rumor }) => [id, event, veracity, rumor])).toEqual([
      ['7', 'ferguson', 'non-rumor', false],
      [claim, 'ferguson', 'true', true],
    ]);
    expect(threads[1].posts.map(({ id, parent, time }) => [id, parent, time])).toEqual([
      [claim, null, '2014-08-09T22:33:06.000Z'],
      [reply, claim, '2014-08-09T22:43:06.000Z'],
      [answer, reply, '2014-08-09T23:33:06.000Z'],
    ]);
    expect(threads[0].posts[0].time).toBeNull();
  });

  it('reads a tree that is deeper than calls may be', async () => {
    const depth = 20_000;
    const chain = `${'{"a":'.repeat(depth)}{"${reply}":[]}${'}'.repeat(depth)}`;
    const deep = { ...files, [`${rumor}/structure.json`]: `{"${claim}":${chain}}` };
    const { threads } = await importFrom('pheme', { files: deep, paths: [root] });
    expect(threads[1].posts.map(({ id, parent }) => [id, parent])).toContainEqual([reply, claim]);
  });

  it('takes an event folder and gives times from ids where the tweet has none', async () => {
    const timeless = { ...files, [`${rumor}/source-tweets/${claim}.json`]: { full_text: 'claim' } };
    const { threads } = await importFrom('pheme', { files: timeless, paths: [root] });
    expect(threads[1].posts[0]).toMatchObject({ text: 'claim', time: '2014-08-15T15:48:35.251Z', author: null });
  });

  it.each([
    [{ misinformation: 1, true: 0 }, 'false'],
    [{ misinformation: '0', true: 0 }, 'unverified'],
    [{ misinformation: 1 }, 'false'],
    [{ misinformation: 0 }, 'unverified'],
    [{ true: 1 }, null],
  ])('reads the flags %j as %s', async (annotation, veracity) => {
    const { threads } = await importFrom('pheme', {
      files: { ...files, [`${rumor}/annotation.json`]: annotation },
      paths: [root],
    });
    expect(threads[1].veracity).toBe(veracity);
  });

  it('says which annotation contradicts itself, and which thread has no claim', async () => {
    const contradictory = { ...files, [`${rumor}/annotation.json`]: { misinformation: 1, true: 1 } };
    await expect(importFrom('pheme', { files: contradictory, paths: [root] })).rejects.toThrow(
      /annotation\.json: misinformation and true are both 1.*found {"misinformation":1,"true":1}/,
    );
    const { threads, skipped } = await importFrom('pheme', {
      files: { ...contradictory, [`${root}/rumours/8/structure.json`]: {} },
      paths: [root],
      more: { skipInvalid: true },
    });
    expect(threads).toHaveLength(1);
    expect(skipped[1]).toContain(': has no post in source-tweet/ or source-tweets/; found ');
  });

  it('leaves out a thread with a file that is not UTF-8, and reads no wrong characters', async () => {
    const broken = { ...files, [`${rumor}/reactions/${reply}.json`]: Buffer.from('{"text": "\xe9t\xe9"}', 'latin1') };
    const more = { skipInvalid: true };
    const { threads, skipped } = await importFrom('pheme', { files: broken, paths: [root], more });
    expect(threads.map(({ id }) => id)).toEqual(['7']);
    expect(skipped).toEqual([expect.stringMatching(/\.json: the text is not UTF-8; .*in formats of folders, convert/)]);
    await expect(importFrom('pheme', { files: broken, paths: [root] })).rejects.toThrow(/UTF-8\. Fix it, or leave/);
  });
});

describe('rumoureval2017', () => {
  const data = `semeval2017-task8-dataset/rumoureval-data/ferguson/${claim}`;
  const keys = 'semeval2017-task8-dataset/traindev';
  const files = {
    [`${data}/source-tweet/${claim}.json`]: tweet('claim'),
    [`${data}/replies/${reply}.json`]: tweet('reply', { in_reply_to_status_id_str: claim }),
    [`${data}/structure.json`]: { [claim]: [] },
    [`${keys}/rumoureval-subtaskA-train.json`]: { [claim]: 'support', [reply]: 'query' },
    [`${keys}/rumoureval-subtaskB-train.json`]: { [claim]: 'unverified' },
    'semeval2017-task8-test-data/5/source-tweet/5.json': tweet('test claim'),
    'subtaskb.json': { 5: ['false', 0.9] },
  };

  it('reads stance, veracity, parts and events', async () => {
    const { threads, notes } = await importFrom('rumoureval2017', {
      files,
      paths: ['semeval2017-task8-dataset', 'semeval2017-task8-test-data', 'subtaskb.json'],
    });
    expect(threads.map(({ id, event, veracity, split }) => [id, event, veracity, split])).toEqual([
      [claim, 'ferguson', 'unverified', 'train'],
      ['5', null, 'false', 'test'],
    ]);
    expect(threads[0].posts.map(({ stance, parent }) => [stance, parent])).toEqual([
      ['support', null],
      ['query', claim],
    ]);
    expect(notes).toEqual(['1 posts have no stance in the label files; theirs is null']);
  });

  it('says which thread has no label, and when there are no labels or a broken key', async () => {
    await expect(importFrom('rumoureval2017', { files, paths: ['semeval2017-task8-test-data'] })).rejects.toThrow(
      /1 threads but no label files, such as train-key\.json .*; rumoureval2017 expects semeval2017/,
    );
    await expect(
      importFrom('rumoureval2017', { files, paths: ['semeval2017-task8-dataset', 'semeval2017-task8-test-data'] }),
    ).rejects.toThrow(/test-data\/5: has no veracity in the 2 label files given; found "5"/);
    const broken = { ...files, 'subtaskb.json': { 5: 'perhaps' } };
    await expect(importFrom('rumoureval2017', { files: broken, paths: [''] })).rejects.toThrow(
      /the label file .*subtaskb\.json 5: .*found "perhaps"/,
    );
  });
});

describe('rumoureval2019', () => {
  const comment = (body: string | undefined, parent: string) => ({
    kind: 't1',
    data: { body, author: 'x', created_utc: 1450729969, parent_id: parent, replies: '' },
  });
  const thing = { title: 'Did it?', selftext: 'I ask.', created_utc: 1450724683, author: 'y' };
  const reddit = 'training/reddit-training-data/3xqilx';
  const files = {
    [`training/twitter-english/ferguson/${claim}/source-tweet/${claim}.json`]: tweet('claim'),
    [`${reddit}/source-tweet/3xqilx.json`]: { kind: 'Listing', data: { children: [{ kind: 't3', data: thing }] } },
    [`${reddit}/replies/aa.json`]: comment('no', 't3_3xqilx'),
    [`${reddit}/replies/bb.json`]: comment('yes', 't1_aa'),
    [`${reddit}/replies/cc.json`]: comment(undefined, 't1_aa'),
    [`${reddit}/raw.json`]: [],
    'training/train-key.json': { subtaskaenglish: { '3xqilx': 'query' }, subtaskbenglish: { [claim]: 'true' } },
    'training/dev-key.json': { subtaskaenglish: { aa: 'deny' }, subtaskbenglish: { '3xqilx': 'false' } },
    'test/twitter-en-test-data/storm/6/source-tweet/6.json': tweet('test'),
    'test/twitter-da-test-data/storm/7/source-tweet/7.json': tweet('dansk'),
    'final-eval-key.json': { subtaskaenglish: {}, subtaskbenglish: { 6: 'unverified' }, subtaskbdanish: { 7: 'true' } },
  };

  it('reads Twitter and Reddit, and leaves the other languages alone', async () => {
    const { threads, notes } = await importFrom('rumoureval2019', { files, paths: [''] });
    const seen = threads.map(({ id, event, veracity, split }) => [id, event, veracity, split]);
    expect(seen).toEqual([
      ['6', 'storm', 'unverified', 'test'],
      ['3xqilx', 'reddit', 'false', 'dev'],
      [claim, 'ferguson', 'true', 'train'],
    ]);
    expect(threads[1].posts).toMatchObject([
      { text: 'Did it?\nI ask.', stance: 'query', time: '2015-12-21T19:04:43.000Z' },
      { id: 'aa', stance: 'deny', parent: '3xqilx', author: 'x' },
      { id: 'bb', parent: 'aa' },
    ]);
    expect(notes).toContain('1 replies are stubs without text and were dropped');
  });

  it('says which key lacks which task', async () => {
    await expect(
      importFrom('rumoureval2019', { files: { ...files, 'final-eval-key.json': {} }, paths: [''] }),
    ).rejects.toThrow(/the label file .*final-eval-key\.json subtaskaenglish/);
  });
});

describe('rumoreval-s', () => {
  const files = {
    'ClaimLabel.txt': `claimID:${claim}\tFR\nclaimID:111111\tNR\n`,
    'Label/StanceLabel.txt': `claimID:${claim}\treplyID:${claim}\tS\nclaimID:${claim}\treplyID:${reply}\tQ\n`,
    [`Tweets/${claim}.txt`]: `claimID:${claim}\tthe claim\ngoes on\nreplyID:${reply}\tis it so?\n${answer}\tno\n`,
  };

  it('reads labels, stances and texts', async () => {
    const { threads, notes } = await importFrom('rumoreval-s', { files, paths: [''] });
    expect(threads).toHaveLength(1);
    expect(threads[0]).toMatchObject({ id: claim, veracity: 'false', rumor: true });
    expect(threads[0].posts.map(({ text, stance }) => [text, stance])).toEqual([
      ['the claim\ngoes on', 'support'],
      ['is it so?', 'query'],
      ['no', null],
    ]);
    expect(notes).toEqual(['1 labelled claims have no text file and were left out']);
  });

  it('says which label is none, and which file lacks its claim', async () => {
    await expect(
      importFrom('rumoreval-s', { files: { ...files, 'ClaimLabel.txt': 'claimID:1\tXX' }, paths: [''] }),
    ).rejects.toThrow(/ClaimLabel\.txt:1: must hold claimID:<id> and TR, FR, NR or UR; found "claimID:1\\tXX"/);
    await expect(
      importFrom('rumoreval-s', { files: { ...files, [`Tweets/${claim}.txt`]: `${reply} x` }, paths: [''] }),
    ).rejects.toThrow(`does not hold its claim ${claim}; found ["${reply}"]`);
    await expect(importFrom('rumoreval-s', { files: { 'a.txt': 'x' }, paths: [''] })).rejects.toThrow(
      'no StanceLabel.txt among the 1 files given',
    );
  });
});

describe('twitter1516', () => {
  const node = (user: string, id: string, minutes: string) => `['${user}', '${id}', '${minutes}']`;
  const root = node('u', claim, '0.0');
  const files = {
    'twitter15/label.txt': `unverified:${claim}\n`,
    'twitter15/source_tweets.txt': `${claim}\tthe claim\n`,
    [`twitter15/tree/${claim}.txt`]: [
      `${node('ROOT', 'ROOT', '0.0')}->${root}`,
      `${root}->${node('v', reply, '1.5')}`,
      `${root}->${node('v', reply, '1.5')}`,
      `${root}->${node('w', claim, '2.0')}`,
      `${node('v', reply, '1.5')}->${node('x', '77', '3.0')}`,
    ].join('\n'),
    'texts.tsv': `${reply}\ta reply\n77\ta second\n`,
  };

  it('says that replies have no text and gives claims alone', async () => {
    const { threads, notes } = await importFrom('twitter1516', { files, paths: ['twitter15'] });
    expect(threads[0]).toMatchObject({ event: 'twitter15', veracity: 'unverified', rumor: true });
    expect(threads[0].posts).toMatchObject([{ id: claim, author: 'u', text: 'the claim' }]);
    expect(notes).toEqual([
      '1 retweets, which have no text of their own, were dropped',
      '2 of 2 replies have no text and were dropped: every thread is its claim alone. Give the texts as lines id<TAB>text with --texts',
    ]);
  });

  it('takes texts from a file, times from ids or delays, parents from the tree', async () => {
    const { threads } = await importFrom('twitter1516', { files, paths: ['twitter15'], more: { texts: 'texts.tsv' } });
    expect(threads[0].posts.map(({ id, parent, time }) => [id, parent, time])).toEqual([
      [claim, null, '2014-08-15T15:48:35.251Z'],
      [reply, claim, '2014-08-15T15:49:04.813Z'],
      ['77', reply, '2014-08-15T15:51:35.251Z'],
    ]);
  });

  it('says which label, text, edge or file is wrong', async () => {
    const fail = (more: Record<string, unknown>) =>
      importFrom('twitter1516', { files: { ...files, ...more }, paths: ['twitter15'] });
    await expect(fail({ 'twitter15/label.txt': 'maybe:5' })).rejects.toThrow(
      'label.txt:1: must be label:id with a label of true, false, unverified, non-rumor; found "maybe:5"',
    );
    await expect(fail({ 'twitter15/source_tweets.txt': '5\tother' })).rejects.toThrow(
      `label.txt:1: this claim has no text in source_tweets.txt; found "${claim}"`,
    );
    await expect(fail({ [`twitter15/tree/${claim}.txt`]: 'a->b' })).rejects.toThrow(
      /\.txt:1: must be an edge .*found "a->b"/,
    );
    await expect(fail({ [`twitter15/tree/${claim}.txt`]: '' })).rejects.toThrow(/tree\/.*\.txt is empty/);
    await expect(importFrom('twitter1516', { files: { 'a/label.txt': 'x' }, paths: ['a'] })).rejects.toThrow(
      /a has no source_tweets\.txt/,
    );
  });
});
