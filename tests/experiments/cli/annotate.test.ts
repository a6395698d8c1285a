import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../src/data/fixtures.ts';
import { earshot, start, startProcess, threadLines, until } from './command-line.ts';
import { saveDetector } from './saved-detector.ts';

const files = { 'threads.jsonl': threadLines(6), 'labelled.jsonl': threadLines(12, { prefix: 'l' }) };
const saved = { threads: 'labelled.jsonl', path: 'made/mine.json' };
const judge = ['annotate', 'threads.jsonl', '--store', 'judged.sqlite', '--detector', 'made/mine.json'];

describe('annotate', () => {
  it('judges every prefix, and stores each judgement once', async () => {
    const cwd = temporaryFolder(files);
    const missing = await earshot(judge, { cwd });
    expect(missing).toMatchObject({ code: 1, out: '' });
    expect(missing.errors).toBe(
      'earshot: there is no detector made/mine.json; give a detector file (.yaml), or the policy/detector.json of a run\n',
    );
    await saveDetector(cwd, saved);
    const first = await earshot(judge, { cwd });
    expect(first).toMatchObject({
      code: 0,
      out: '6 threads, 24 prefixes: asked 24, cached 0, failed 0\nAnnotations: judged.sqlite\n',
    });
    expect(first.errors).toMatch(/threads\.jsonl: judging prefixes: 24\/24 prefixes/);
    const again = await earshot([...judge, '--json'], { cwd });
    const counts = { threads: 6, asked: 24, cached: 0, failed: 0 };
    expect(JSON.parse(again.out)).toMatchObject({ store: 'judged.sqlite', detector: 'made/mine.json', ...counts });

    const few = await earshot([...judge, '--schedule', 'step:3', '--max-posts', '3', '--json'], { cwd });
    expect(JSON.parse(few.out)).toMatchObject({ asked: 12, cached: 0 });
  });

  it('says what is wrong with an option, a file or a line', async () => {
    const cwd = temporaryFolder({ ...files, 'bad.jsonl': `x\n${threadLines(2)}` });
    for (const which of ['step:0', 'geometric:'])
      expect((await earshot([...judge, '--schedule', which], { cwd })).errors).toContain(
        'Write it as every, step:5 (1 post, then every fifth) or geometric:1.5',
      );
    expect((await earshot([...judge, '--max-posts', 'x'], { cwd })).errors).toContain(
      'It must be a whole number above 0.',
    );
    await saveDetector(cwd, saved);
    const bad = await earshot(['annotate', 'bad.jsonl', ...judge.slice(2)], { cwd });
    expect(bad.code).toBe(1);
    expect(bad.errors).toMatch(/^earshot: bad\.jsonl:1: is not JSON/);
  });

  it('keeps what was answered when Ctrl-C or a full disk stops it', async () => {
    const cwd = temporaryFolder({ ...files, 'many.jsonl': manyThreads });
    const all = ['annotate', 'many.jsonl', ...judge.slice(2)];
    await saveDetector(cwd, saved);
    const full = await startProcess([...all, '--json'], { cwd, fileKilobytes: 200 }).outcome;
    expect(full.code, full.errors).toBe(1);
    expect(full.errors).toMatch(/earshot: the annotation store judged\.sqlite: .*\n$/);

    const command = start([...all, '--store', 'other.sqlite'], { cwd });
    await until(() => existsSync(join(cwd, 'other.sqlite-wal')));
    command.interrupt();
    const stopped = await command.outcome;
    expect(stopped, stopped.errors).toMatchObject({ code: 130, out: '' });
    const [, kept, total] =
      /earshot: stopped with (\d+) of (\d+) prefixes judged, all kept in other\.sqlite; give the same command again to go on\n$/.exec(
        stopped.errors,
      )!;
    expect(Number(kept)).toBeLessThan(Number(total));

    for (const [store, least] of [
      ['judged.sqlite', 0],
      ['other.sqlite', Number(kept)],
    ] as const) {
      const stored = async () =>
        JSON.parse((await earshot(['annotations', 'stats', store, '--json'], { cwd })).out).annotations;
      expect(await stored()).toBeGreaterThanOrEqual(least);
      expect((await earshot([...all, '--store', store], { cwd })).code).toBe(0);
      expect(await stored()).toBeGreaterThanOrEqual(Number(total));
    }
  });
});

/** No two prefixes read alike. */
const manyThreads = threadLines(100, { prefix: 'm', posts: 12 })
  .split('\n')
  .map((line, index) => line.replaceAll('"text":"', `"text":"number ${index} `))
  .join('\n');

describe('annotations', () => {
  it('counts, exports and merges', async () => {
    const cwd = temporaryFolder(files);
    await saveDetector(cwd, saved);
    await earshot(judge, { cwd });
    const annotations = (...words: string[]) => earshot(['annotations', ...words], { cwd });
    const stats = await annotations('stats', 'judged.sqlite');
    expect(stats.out).toMatch(/^8 annotations in judged\.sqlite, 0\.\d MB, from \d{4}-.*Z\n\ndetector /);
    expect(stats.out).toMatch(/^local +8 /m);
    expect(JSON.parse((await annotations('stats', 'judged.sqlite', '--json')).out)).toMatchObject({
      store: 'judged.sqlite',
      annotations: 8,
      byDetector: [{ detector: 'local' }],
    });
    expect((await annotations('export', 'judged.sqlite', 'out.jsonl.gz')).out).toBe('8 annotations: out.jsonl.gz\n');
    expect((await annotations('import', 'merged.sqlite', 'out.jsonl.gz')).out).toBe(
      '8 annotations read, 8 of them new: merged.sqlite\n',
    );
    expect(JSON.parse((await annotations('import', 'merged.sqlite', 'out.jsonl.gz', '--json')).out)).toEqual({
      store: 'merged.sqlite',
      file: 'out.jsonl.gz',
      read: 8,
      added: 0,
    });
  });

  it('makes no store of a mistyped path', async () => {
    const cwd = temporaryFolder(files);
    const stats = await earshot(['annotations', 'stats', 'juged.sqlite'], { cwd });
    expect(stats).toMatchObject({
      code: 1,
      errors: 'earshot: there is no juged.sqlite; this folder has labelled.jsonl, threads.jsonl\n',
    });
    expect(existsSync(join(cwd, 'juged.sqlite'))).toBe(false);
    const imported = await earshot(['annotations', 'import', 'new.sqlite', 'none.jsonl'], { cwd });
    expect(imported.errors).toBe('earshot: there is no none.jsonl; this folder has labelled.jsonl, threads.jsonl\n');
    expect(existsSync(join(cwd, 'new.sqlite'))).toBe(false);
    const foreign = await earshot(['annotations', 'stats', 'threads.jsonl'], { cwd });
    expect(foreign.code).toBe(1);
    expect(foreign.errors).toMatch(
      /^earshot: the annotation store threads\.jsonl: it is damaged or not an SQLite file/,
    );
  });
});
