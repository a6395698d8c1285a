import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { readAudits } from '../../../experiments/stop-agent/audit-file.ts';
import { synthesizeThreads } from '../../../src/data/synthetic/stream.ts';
import { smallGuarantee } from '../../checkpoints/policy/small-bundle.ts';
import { temporaryFolder } from '../../src/data/fixtures.ts';
import { mixedBundle } from '../serve/small-server.ts';
import { earshot } from './command-line.ts';

const threads = synthesizeThreads({ threads: 400, seed: 11 });

async function prepared() {
  const cwd = temporaryFolder({ 'threads.jsonl': threads.map((thread) => `${JSON.stringify(thread)}\n`).join('') });
  const bundle = await mixedBundle({ guarantee: smallGuarantee(0.5) });
  return { cwd, bundle, run: (...words: string[]) => earshot(words, { cwd }) };
}

describe('audits from decide to monitor', () => {
  it('are the same share of threads at every run, change no decision, and raise the alarm of a violated guarantee', async () => {
    const { cwd, bundle, run } = await prepared();
    const plain = await run('decide', 'threads.jsonl', '--policy', bundle);
    const audited = await run('decide', 'threads.jsonl', '--policy', bundle, '--audit', '50%');
    expect([audited.code, audited.out]).toEqual([0, plain.out]);
    const file = join(cwd, 'audits.jsonl');
    const audits = await readAudits([file]);
    expect(audits.length).toBeGreaterThan(160);
    expect(audits.length).toBeLessThan(240);
    await run('decide', 'threads.jsonl', '--policy', bundle, '--audit', '0.5');
    expect((await readAudits([file])).map(({ threadId }) => threadId)).toEqual(audits.map(({ threadId }) => threadId));

    const found = await run('monitor', bundle, 'audits.jsonl');
    expect(found.errors).toMatch(/the guarantee of .* is violated: \d+ of the first \d+ audited predictions changed/);
    expect(found.code).toBe(4);
    expect(found.out).toMatch(/^Reads 50% of the posts; with 90% confidence at most 5% of predictions would change\./);
    const json = await run('monitor', bundle, 'audits.jsonl', '--json');
    expect(JSON.parse(json.out)).toMatchObject({ level: 0.05, now: { items: audits.length }, waiting: 0, others: 0 });

    // What a crash cut off, even within a character, is no audit, and the next one begins a line of its own.
    for (const bytes of [0, 1, 2]) {
      appendFileSync(file, Buffer.concat([Buffer.from('{"threadId":"'), Buffer.from('日').subarray(0, bytes)]));
      expect(await readAudits([file])).toHaveLength(audits.length);
      await run('decide', 'threads.jsonl', '--policy', bundle, '--audit', '0.5');
      expect(await readAudits([file])).toHaveLength(audits.length);
    }
  });

  it('give another threshold, which decide uses from then on', async () => {
    const { bundle, run } = await prepared();
    await run('decide', 'threads.jsonl', '--policy', bundle, '--audit', '0.5');
    const before = JSON.parse(readFileSync(join(bundle, 'manifest.json'), 'utf8')).guarantee;
    const again = await run('monitor', bundle, 'audits.jsonl', '--recalibrate');
    expect(again.code, again.errors).toBe(0);
    const { guarantee } = JSON.parse(readFileSync(join(bundle, 'manifest.json'), 'utf8'));
    expect(guarantee.threshold).toBeGreaterThan(before.threshold);
    const quiet = await run('monitor', bundle, 'audits.jsonl');
    expect([quiet.code, quiet.out]).toEqual([0, expect.stringContaining('No audit counts yet')]);

    await run('decide', 'threads.jsonl', '--policy', bundle, '--audit', '1', '--audits', 'later.jsonl');
    const moved = await run('monitor', bundle, 'later.jsonl', '--adapt');
    expect(moved.errors).toContain('in the long run, on average, 5% of predictions would change');
    const text = await run('monitor', bundle, 'later.jsonl');
    expect(text.out).toContain('400 audits moved it so far');
  });

  it('are read packed, with a byte-order mark, and from files that hold none yet', async () => {
    const { cwd, bundle, run } = await prepared();
    await run('decide', 'threads.jsonl', '--policy', bundle, '--audit', '0.5');
    const audits = readFileSync(join(cwd, 'audits.jsonl'));
    writeFileSync(join(cwd, 'packed.jsonl.gz'), gzipSync(audits));
    writeFileSync(join(cwd, 'marked.jsonl'), `\ufeff${audits}`);
    writeFileSync(join(cwd, 'empty.jsonl'), '');
    const plain = await run('monitor', bundle, 'audits.jsonl');
    expect(plain.out).toContain(' audits: ');
    expect(await run('monitor', bundle, 'packed.jsonl.gz')).toEqual(plain);
    expect(await run('monitor', bundle, 'empty.jsonl', 'marked.jsonl')).toEqual(plain);
  });

  it('are appended to audits alone, also behind a last line without its end', async () => {
    const { cwd, bundle, run } = await prepared();
    const one = ['decide', 'one.jsonl', '--policy', bundle, '--audit', '1', '--audits'];
    const files = { 'one.jsonl': JSON.stringify(threads[0]), 'packed.gz': gzipSync('{}\n'), 'notes.txt': 'a\nb' };
    for (const [name, content] of Object.entries(files)) writeFileSync(join(cwd, name), content);
    for (const [name, content] of Object.entries(files)) {
      const { code, errors } = await run(...one, name);
      expect([code, errors]).toEqual([1, expect.stringContaining(`${name} holds no audits, and new ones would be`)]);
      expect(readFileSync(join(cwd, name))).toEqual(Buffer.from(content));
    }
    const file = join(cwd, 'audits.jsonl');
    expect((await run(...one, 'audits.jsonl')).code).toBe(0);
    writeFileSync(file, readFileSync(file, 'utf8').trimEnd());
    expect(await readAudits([file])).toHaveLength(1);
    writeFileSync(join(cwd, 'one.jsonl'), JSON.stringify(threads[1]));
    expect((await run(...one, 'audits.jsonl')).code).toBe(0);
    expect(await readAudits([file])).toHaveLength(2);
  });

  it('are refused without a guarantee, and where a line is no audit', async () => {
    const { cwd, bundle, run } = await prepared();
    const plain = await mixedBundle();
    const none = await run('monitor', plain, 'audits.jsonl');
    expect([none.code, none.errors]).toEqual([1, expect.stringContaining('has no guarantee to monitor')]);
    writeFileSync(join(cwd, 'bad.jsonl'), '{}\n');
    const bad = await run('monitor', bundle, 'bad.jsonl');
    expect([bad.code, bad.errors]).toEqual([1, expect.stringContaining('line 1 of bad.jsonl is no audit')]);
  });

  it('have no file where no thread was read', async () => {
    const { cwd, bundle, run } = await prepared();
    writeFileSync(join(cwd, 'bad.jsonl'), '{"id": "a"}\n');
    for (const [path, problem] of [
      ['nowhere.jsonl', 'there is no nowhere.jsonl'],
      ['bad.jsonl', 'bad.jsonl'],
    ]) {
      const { code, errors } = await run('decide', path, '--policy', bundle, '--audit', '1');
      expect([code, errors]).toEqual([1, expect.stringContaining(problem)]);
    }
    expect(existsSync(join(cwd, 'audits.jsonl'))).toBe(false);
    writeFileSync(join(cwd, 'one.jsonl'), `${JSON.stringify(threads[0])}\n`);
    await run('decide', 'one.jsonl', '--policy', bundle, '--audit', '0.00001');
    const { code, out } = await run('monitor', bundle, 'audits.jsonl');
    expect([code, out]).toEqual([0, expect.stringContaining('No audit counts yet')]);
  });

  it('end with the queries that they may take', async () => {
    const { cwd, bundle, run } = await prepared();
    const capped = ['--audit', '1', '--audits', 'capped.jsonl', '--audit-queries', '30'];
    const { code, errors } = await run('decide', 'threads.jsonl', '--policy', bundle, ...capped);
    expect([code, errors]).toEqual([
      0,
      expect.stringMatching(/the audits took 3\d queries, as many as --audit-queries/),
    ]);
    expect((await readAudits([join(cwd, 'capped.jsonl')])).length).toBeLessThan(60);
  });
});
