import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadThreads } from '../../../src/data/thread-file.ts';
import { makeThread, temporaryFolder } from '../../src/data/fixtures.ts';
import { earshot } from './command-line.ts';

/** Paths are absolute here, so that any folder will do. */
const data = (...words: string[]) => earshot(['data', ...words], { cwd: tmpdir() });

const lines = (count: number) =>
  Array.from({ length: count }, (_, index) => JSON.stringify(makeThread(`t${index}`, { rumor: index % 2 === 0 }))).join(
    '\n',
  );

describe('data import', () => {
  it('writes a threads file and says where', async () => {
    const folder = temporaryFolder({ 'a.jsonl': lines(3) });
    const out = join(folder, 'out.jsonl.gz');
    const run = await data('import', 'threads', join(folder, 'a.jsonl'), '--sort', '--out', out);
    expect(run.out).toBe(
      `note: the replies of 0 threads were out of time order and are now sorted\n3 threads, 9 posts: ${out}\n`,
    );
    expect(run.code).toBe(0);
    expect(await loadThreads(out)).toHaveLength(3);
  });

  it('says that a file cannot be written, whatever the reason', async () => {
    const folder = temporaryFolder({ 'a.jsonl': lines(3) });
    const run = await data('import', 'threads', join(folder, 'a.jsonl'), '-o', join(folder, 'x'.repeat(300)));
    expect([run.code, run.errors]).toEqual([
      1,
      expect.stringMatching(/^earshot: cannot write threads to .*ENAMETOOLONG/),
    ]);
  });

  it('refuses two labels for one value', async () => {
    const map = ['--label-map', 'fake=rumor', '--label-map', 'Fake=non-rumor'];
    const run = await data('import', 'csv', 'x.csv', '-o', 'y.jsonl', ...map);
    expect(run.code).toBe(1);
    expect(run.errors).toContain("argument 'Fake=non-rumor' is invalid. Write it as fake=rumor, each value once.");
  });

  it('skips, shows and counts bad items when asked, and writes nothing otherwise', async () => {
    const folder = temporaryFolder({ 'a.jsonl': `${'x\n'.repeat(7)}${lines(1)}` });
    const out = join(folder, 'out.jsonl');
    const failed = await data('import', 'threads', join(folder, 'a.jsonl'), '-o', out);
    expect(failed.code).toBe(1);
    expect(failed.errors).toMatch(/^earshot: .*a\.jsonl:1: is not JSON .*found "x"\. Fix it, or leave such items out/);
    expect(existsSync(out)).toBe(false);
    const run = await data('import', 'threads', join(folder, 'a.jsonl'), '-o', out, '--skip-invalid', '--json');
    expect(JSON.parse(run.out)).toEqual({
      format: 'threads',
      out,
      threads: 1,
      posts: 3,
      skipped: 7,
      notes: [],
      warnings: [],
    });
    expect(run.errors.trim().split('\n')).toHaveLength(6);
    expect(run.errors).toContain('skipped 2 more');
  });

  it('takes labels of conversations by name, and refuses a name that there is not', async () => {
    const folder = temporaryFolder({
      'corpus/utterances.jsonl': { id: 'a', conversation_id: 'a', timestamp: 1400000000, text: 'one' },
      'corpus/conversations.json': { a: { meta: { attack: true, pages: 3 } } },
    });
    const out = join(folder, 'out.jsonl');
    const words = ['import', 'convokit', join(folder, 'corpus'), '-o', out];
    const run = await data(...words, '--label', 'attack,pages');
    expect(run.out).toBe(`1 threads, 1 posts: ${out}\n`);
    expect((await loadThreads(out))[0].labels).toEqual({ attack: true, pages: 3 });
    const failed = await data(...words, '--label', 'atack');
    expect(failed.errors).toContain('no conversation has metadata called "atack" (--label); there is attack, pages');
  });

  it('warns where labels or times are missing, and says what that costs', async () => {
    const folder = temporaryFolder({ 'a.csv': 'thread,text\nt1,x\nt1,y\n' });
    const run = await data('import', 'csv', join(folder, 'a.csv'), '-o', join(folder, 'out.jsonl'));
    expect(run.out).toContain('warning: no thread has a label: nothing can be trained or tested on them');
    expect(run.out).toContain('warning: no thread has times: replies keep the order of the file');
  });

  it('says of times that some posts lack what that means, and only of those', async () => {
    const rows =
      'thread,text,time\nt1,x,2024-01-01T00:00:00Z\nt1,y,\nt2,z,2024-01-01T00:00:00Z\nt2,z,2024-01-02T00:00:00Z\n';
    const folder = temporaryFolder({ 'a.csv': rows, 'b.csv': `${rows}t3,x,\n` });
    const out = join(folder, 'out.jsonl');
    const some = await data('import', 'csv', join(folder, 'a.csv'), '-o', out);
    expect(some.out).toContain(
      'warning: 1 of 2 threads lack some of their times: a post without a time stays behind the one before it, the others are put in the order of time, and its delay in hours is not known\n',
    );
    expect(some.out).not.toContain('no thread has times');
    const both = await data('import', 'csv', join(folder, 'b.csv'), '-o', out);
    expect(both.out).toContain('warning: 1 of 3 threads lack times: replies keep the order of the file');
    expect(both.out).toContain('warning: 1 of 3 threads lack some of their times');
  });

  it('takes words that mean nothing, quotes that do, and warns of the future', async () => {
    const folder = temporaryFolder({
      'a.tsv': 'thread\ttext\tlabel\ttime\nt1\t"x\tNA\t1900-01-01T00:00:00Z\nt2\ty"\ta\t9999-01-01T00:00:00Z\n',
    });
    const out = join(folder, 'out.jsonl');
    const words = ['import', 'csv', join(folder, 'a.tsv'), '-o', out, '--json'];
    expect((await data(...words)).errors).toContain('a quoted field of 2 lines contains what look like rows');
    const run = await data(...words, '--quote', 'none', '--null', 'NA', '--null', 'none');
    expect(JSON.parse(run.out)).toMatchObject({
      threads: 2,
      notes: expect.arrayContaining(['column "label": "NA" is read as nothing (1 row)']),
      warnings: [
        expect.stringMatching(/^1 times lie before 1997, such as 1900-01-01T00:00:00\.000Z/),
        expect.stringMatching(/^1 times lie in the future, such as 9999-01-01T00:00:00\.000Z/),
        expect.stringMatching(/^1 of 2 threads lack a label/),
      ],
    });
    expect((await loadThreads(out)).map(({ posts: [post] }) => post.text)).toEqual(['"x', 'y"']);
  });

  it('reads posts that stand one by one, and a table in another encoding', async () => {
    const folder = temporaryFolder({
      'a.jsonl': '{"id": 1669700650467246081, "conversation_id": 1669700650467246081, "text": "x", "is_rumor": true}\n',
      'a.csv': Buffer.concat([Buffer.from('thread,text\nt,'), Buffer.from('d2a5d1d4', 'hex')]),
    });
    const out = join(folder, 'out.jsonl');
    const posts = await data('import', 'posts', join(folder, 'a.jsonl'), '-o', out);
    expect(posts.out).toContain('1 threads, 1 posts');
    expect(await loadThreads(out)).toMatchObject([{ id: '1669700650467246081', rumor: true }]);
    await data('import', 'csv', join(folder, 'a.csv'), '-o', out, '--encoding', 'gbk');
    expect(await loadThreads(out)).toMatchObject([{ posts: [{ text: '谣言' }] }]);
    const refused = await data('import', 'pheme', folder, '-o', out, '--encoding', 'gbk');
    expect(refused.errors).toContain('--encoding means nothing to the format pheme; only to threads, csv, posts, ');
  });

  it('names the nearest format', async () => {
    const run = await data('import', 'twiter1516', 'x', '-o', 'y');
    expect(run).toMatchObject({ code: 1, out: '' });
    expect(run.errors).toContain('there is no format "twiter1516"; did you mean twitter1516?');
    expect((await data('import', '--help')).out).toMatch(/Formats:[\s\S]*rumoreval-s[\s\S]*Examples:/);
  });
});

describe('data synth', () => {
  it('writes the same stream for the same seed and tells the best rule', async () => {
    const folder = temporaryFolder();
    const [a, b] = [join(folder, 'a.jsonl'), join(folder, 'b.jsonl')];
    const run = await data('synth', '--threads', '20', '--seed', '4', '--delay-cost', '0.01', '-o', a);
    expect(run.out).toMatch(
      /best stopping rule at 0\.01 a post: reward 0\.8336, .*\n20 threads \(\d+ rumors\), \d+ posts: .*a\.jsonl\n$/,
    );
    const json = await data('synth', '--threads', '20', '--seed', '4', '--delay-cost', '0.01', '-o', b, '--json');
    expect(JSON.parse(json.out)).toMatchObject({ threads: 20, optimal: { expectedReward: expect.closeTo(0.8336, 4) } });
    expect(await loadThreads(a)).toEqual(await loadThreads(b));
  });

  it('says which option is wrong', async () => {
    expect((await data('synth', '-o', 'x', '--seed', 'one')).errors).toContain(
      "'--seed <number>' argument 'one' is invalid",
    );
    const run = await data('synth', '-o', 'x', '--neutral-share', '2');
    expect(run).toMatchObject({ code: 1 });
    expect(run.errors).toContain('synthetic stream neutralShare: Too big');
  });
});

describe('data describe', () => {
  it('prints tables, or everything as JSON', async () => {
    const folder = temporaryFolder({ 'a.jsonl': lines(4), 'b.jsonl': lines(2), 'bad.jsonl': `x\n${lines(1)}` });
    const [a, b, bad] = ['a.jsonl', 'b.jsonl', 'bad.jsonl'].map((name) => join(folder, name));
    const table = (await data('describe', a, b)).out;
    expect(table).toMatch(/^rumor +rumor 2, non-rumor 2 +rumor 1, non-rumor 1$/m);
    expect(table).toMatch(/^a\.jsonl {2}b\.jsonl +2 +2$/m);
    expect((await data('describe', a, b, a, b)).out).toMatch(/^ +a\.jsonl +b\.jsonl +a\.jsonl\n(.*\n)+\n +b\.jsonl\n/);
    const json = JSON.parse((await data('describe', bad, '--skip-invalid', '--json')).out);
    expect(json).toMatchObject({ files: [{ path: bad, skipped: 1, threads: 1, posts: 3 }], overlaps: [] });
    expect((await data('describe', join(folder, 'none'))).errors).toContain('earshot: there is no ');
  });
});

describe('data split', () => {
  it('does not write over the file that it reads', async () => {
    const folder = temporaryFolder({ 'a.jsonl': lines(4) });
    const path = join(folder, 'a.jsonl');
    const run = await data('split', path, '-p', 'a=2', '-p', 'b=rest', '-o', folder);
    expect([run.code, run.errors]).toEqual([
      1,
      expect.stringContaining(`${path} would be written over, and is read for it`),
    ]);
    expect(await loadThreads(path)).toHaveLength(4);
    expect(existsSync(join(folder, 'b.jsonl'))).toBe(false);
  });

  it('takes any name for a part', async () => {
    const folder = temporaryFolder({ 'a.jsonl': lines(4) });
    const names = ['-p', '__proto__=2', '-p', 'constructor=rest'];
    const run = await data('split', join(folder, 'a.jsonl'), ...names, '-o', folder, '--json');
    const parts = JSON.parse(run.out).parts.map(({ part, threads }: Record<string, unknown>) => [part, threads]);
    expect(parts).toEqual([
      ['__proto__', 2],
      ['constructor', 2],
    ]);
  });

  it('writes disjoint, stratified parts', async () => {
    const folder = temporaryFolder({ 'a.jsonl': lines(20) });
    const run = await data(
      'split',
      join(folder, 'a.jsonl'),
      '-p',
      'train=8',
      '-p',
      'test=0.5',
      '-o',
      join(folder, 'parts'),
    );
    expect(run.out).toMatch(/^train +8 +4 +4 /m);
    expect(run.out).toContain('2 of 20 threads are in no part\n2 parts: ');
    const train = await loadThreads(join(folder, 'parts/train.jsonl'));
    const test = await loadThreads(join(folder, 'parts/test.jsonl'));
    expect(new Set([...train, ...test].map(({ id }) => id)).size).toBe(18);
    const json = await data(
      'split',
      join(folder, 'a.jsonl'),
      '-p',
      'all=rest',
      '--gzip',
      '--json',
      '-o',
      join(folder, 'z'),
    );
    expect(JSON.parse(json.out)).toEqual({
      parts: [
        { part: 'all', out: join(folder, 'z/all.jsonl.gz'), threads: 20, labels: { rumor: 10, 'non-rumor': 10 } },
      ],
      unused: 0,
      skipped: 0,
    });
  });

  it('says what is wrong with a part', async () => {
    const folder = temporaryFolder({ 'a.jsonl': lines(2) });
    const split = (...words: string[]) => data('split', join(folder, 'a.jsonl'), '-o', folder, ...words);
    expect(await split('-p', 'a=30')).toMatchObject({ code: 1 });
    expect((await split('-p', 'a=30')).errors).toContain('the parts need 30 threads (a: 30) but there are 2');
    for (const wrong of ['a', 'a=many', 'a=0'])
      expect((await split('-p', wrong)).errors).toContain(
        `argument '${wrong}' is invalid. Write it as train=100 (a count), train=0.2 (a share) or test=rest`,
      );
    expect((await split('-p', 'a=1', '-p', 'a=1')).errors).toContain("argument 'a=1' is invalid. Write it as");
    expect((await split('--hold-out', 'x')).errors).toContain('Write it as test=ferguson,sydneysiege.');
    expect((await split('-p', 'a=1', '--stratify', 'x')).errors).toContain('there are rumor, veracity, rumor-veracity');
  });
});
