import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exportPolicy } from '../../../experiments/stop-agent/policy/export-policy.ts';
import { synthesizeThreads } from '../../../src/data/synthetic/stream.ts';
import type { Thread } from '../../../src/data/thread.ts';
import { earshot, start, tiny, writeExperiment } from './command-line.ts';

const run = 'runs/tiny/agent/seed-1';
const fresh = synthesizeThreads({ threads: 80, seed: 5 }).map((thread) => ({ ...thread, id: `fresh-${thread.id}` }));
const other = { id: 'other', posts: [{ id: '1', text: 'Wetterbericht: morgen Schnee in den Alpen' }] };

let cwd: string;
const calibrate = (agent: string, ...words: string[]) =>
  earshot(['calibrate', agent, '--quiet', '0', ...words], { cwd });
const json = (text: string) => JSON.parse(text);
const lines = (text: string) => text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));
const linesOf = (threads: readonly object[]) => threads.map((thread) => `${JSON.stringify(thread)}\n`).join('');
const unlabelled = (thread: Thread) => ({ ...thread, rumor: null, veracity: null });

beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'earshot-calibrate-'));
  writeFileSync(join(cwd, 'fresh.jsonl'), linesOf(fresh.map(unlabelled)));
  writeFileSync(join(cwd, 'labelled.jsonl'), linesOf(fresh));
  writeExperiment(join(cwd, 'tiny.yaml'), {
    backend: 'onnx',
    agent: {
      ...tiny.agent,
      algorithm: 'exact-policy-gradient',
      task: { delayCost: 0.3, learningRate: 0.02 },
      iterations: 60,
    },
  });
  const trained = await earshot(['train', 'tiny.yaml'], { cwd });
  expect(trained.code, trained.errors).toBe(0);
});
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

describe('calibrate', () => {
  it('is not needed to see that threads are unlike those that were learnt from', async () => {
    expect((await earshot(['export', run, '--out', 'uncalibrated'], { cwd })).code).toBe(0);
    writeFileSync(join(cwd, 'strange.jsonl'), linesOf([other]));
    for (const agent of [
      ['--policy', run],
      ['--policy', 'uncalibrated'],
    ]) {
      const like = await earshot(['decide', 'fresh.jsonl', ...agent], { cwd });
      expect(lines(like.out).filter(({ outOfDistribution }) => outOfDistribution.isFlagged).length).toBeLessThanOrEqual(
        8,
      );
      expect(like.errors).not.toContain('out of distribution');
      const { out, errors } = await earshot(['decide', 'strange.jsonl', ...agent], { cwd });
      expect(lines(out)[0].outOfDistribution.isFlagged).toBe(true);
      expect(errors).toContain('1 of the 1 decided threads are out of distribution');
      expect(errors).toContain('threads like its training threads');
    }
  });

  it('chooses a threshold that a run, its bundle and a bundle calibrated by itself decide by', async () => {
    expect((await earshot(['export', run, '--out', 'plain'], { cwd })).code).toBe(0);
    const found = await calibrate(run, '--threads', 'fresh.jsonl', '--risk-level', '0.2', '--json');
    expect(found.code, found.errors).toBe(0);
    const guarantee = json(found.out);
    expect(guarantee).toMatchObject({ loss: 'disagreement', level: 0.2, confidence: 0.9, threads: 80 });
    expect(guarantee.bound).toBeLessThanOrEqual(0.2);
    expect(guarantee.losses / 80).toBeLessThan(guarantee.bound);
    expect(guarantee.confidenceRule.bound).toBeLessThanOrEqual(0.2);
    // A guarantee that reads everything, or stops where one half does, would show nothing.
    expect(guarantee.threshold).not.toBe(1);
    expect(guarantee.threshold).not.toBeCloseTo(0.5, 2);

    const decided = lines((await earshot(['decide', 'fresh.jsonl', '--policy', run], { cwd })).out);
    for (const { scores, postsUsed, posts } of decided) {
      const first = scores.findIndex((own: number) => own > guarantee.threshold);
      expect(postsUsed).toBe(first < 0 ? posts : first + 1);
    }
    const er = decided.reduce((sum, own) => sum + own.earliness, 0) / decided.length;
    expect(er).toBeCloseTo(guarantee.er, 9);
    expect(decided.filter(({ outOfDistribution }) => outOfDistribution.isFlagged).length).toBeLessThanOrEqual(8);

    expect((await earshot(['export', run, '--out', 'guaranteed'], { cwd })).code).toBe(0);
    const again = await calibrate('plain', '--threads', 'fresh.jsonl', '--risk-level', '0.2', '--json');
    expect(json(again.out)).toMatchObject({
      threshold: guarantee.threshold,
      losses: guarantee.losses,
      confidenceRule: guarantee.confidenceRule,
    });
    // A second guarantee replaces the first, which is kept.
    expect((await calibrate('plain', '--threads', 'fresh.jsonl', '--risk-level', '0.2')).code).toBe(0);
    const [earlier] = lines(readFileSync(join(cwd, 'plain/earlier-guarantees.jsonl'), 'utf8'));
    expect(earlier).toMatchObject({ threshold: guarantee.threshold, replaced: expect.any(String) });
    for (const bundle of ['guaranteed', 'plain']) {
      const same = await earshot(['decide', 'fresh.jsonl', '--policy', bundle], { cwd });
      expect(lines(same.out).map(({ postsUsed }) => postsUsed)).toEqual(decided.map(({ postsUsed }) => postsUsed));
      const card = readFileSync(join(cwd, bundle, 'README.md'), 'utf8');
      expect(card).toContain(`exceeds ${guarantee.threshold}`);
      expect(card).toContain('with 90% confidence at most 20% of predictions would change');
    }
  });

  it('is known to the policy: decide says so, and audits leave its threads out', async () => {
    cpSync(join(cwd, 'plain'), join(cwd, 'knowing-them'), { recursive: true });
    const more = synthesizeThreads({ threads: 20, seed: 8 }).map((thread) => ({ ...thread, id: `more-${thread.id}` }));
    writeFileSync(join(cwd, 'mixed.jsonl'), linesOf([...fresh.map(unlabelled), ...more]));
    for (const policy of [run, 'knowing-them']) {
      await calibrate(policy, '--threads', 'fresh.jsonl', '--risk-level', '0.2');
      const file = `${policy.replaceAll('/', '-')}.jsonl`;
      const decided = await earshot(['decide', 'mixed.jsonl', '--policy', policy, '--audit', '1', '--audits', file], {
        cwd,
      });
      expect(lines(decided.out)).toHaveLength(100);
      expect(decided.errors).toContain(
        `the guarantee of ${policy === run ? `${run}/policy` : policy} was found on 80 of the 100 threads; it holds on these by construction, so audits leave them out`,
      );
      const audits = lines(readFileSync(join(cwd, file), 'utf8')).map(({ threadId }) => threadId);
      expect(audits).toEqual(more.map(({ id }) => id));
      const other = await earshot(['decide', 'labelled.jsonl', '--policy', policy], { cwd });
      expect(other.errors).toContain('was found on 80 of the 80 threads');
      writeFileSync(join(cwd, 'new.jsonl'), linesOf(more));
      expect((await earshot(['decide', 'new.jsonl', '--policy', policy], { cwd })).errors).not.toContain(
        'was found on',
      );
    }
    // Lines that a program of one's own wrote.
    const marked = readFileSync(join(cwd, 'knowing-them.jsonl'), 'utf8').replaceAll(
      '"isOutOf',
      '"isCalibration":true,"isOutOf',
    );
    writeFileSync(join(cwd, 'marked.jsonl'), marked);
    const { out } = await earshot(['monitor', 'knowing-them', 'marked.jsonl'], { cwd });
    expect(out).toContain('No audit counts yet.\nNot counted: 20 are of threads that the guarantee was found on.');
  });

  it('puts the second guarantee of a bundle in the place of the first', async () => {
    cpSync(join(cwd, 'plain'), join(cwd, 'twice'), { recursive: true });
    const harm = await calibrate('twice', '--threads', 'labelled.jsonl', '--risk-level', '0.3', '--loss', 'harm');
    expect(harm.code, harm.errors).toBe(0);
    expect(harm.out).toContain('at most 30% of predictions would be right if the thread were read to its end');
    const card = readFileSync(join(cwd, 'twice', 'README.md'), 'utf8');
    expect(card.match(/^Guarantee: /gm)).toHaveLength(1);
    expect(card).toContain('at most 30%');
    expect((await earshot(['decide', 'fresh.jsonl', '--policy', 'twice'], { cwd })).code).toBe(0);
  });

  it('is kept where a training ships the same policy again, and goes with another one', async () => {
    const out = join(cwd, 'shipped');
    const ship = (system?: string) => exportPolicy({ run: join(cwd, run), system, out, force: true, keepsSame: true });
    await ship('first post');
    expect((await calibrate('shipped', '--threads', 'fresh.jsonl', '--risk-level', '0.5')).code).toBe(0);
    const guarantee = () => json(readFileSync(join(out, 'manifest.json'), 'utf8')).guarantee;
    const before = guarantee();
    expect(before).toMatchObject({ level: 0.5 });
    await ship('first post');
    expect(guarantee()).toEqual(before);
    await ship('first 4 posts');
    expect(guarantee()).toBeNull();
    // What is no policy is left alone.
    writeFileSync(join(out, 'manifest.json'), json(readFileSync(join(out, 'manifest.json'), 'utf8')).sha256);
    await expect(ship('first post')).rejects.toThrow('is not empty');
  });

  it('says of a thread whose claim looks unlike the calibration threads that nothing is guaranteed', async () => {
    await calibrate(run, '--threads', 'fresh.jsonl', '--risk-level', '0.2');
    writeFileSync(join(cwd, 'other.jsonl'), linesOf([other]));
    const { out, errors } = await earshot(['decide', 'other.jsonl', '--policy', run], { cwd });
    expect(lines(out)[0].outOfDistribution.isFlagged).toBe(true);
    expect(errors).toContain('1 of the 1 decided threads are out of distribution for the guarantee');
  });

  it('shows the curve and writes nothing', async () => {
    const before = readFileSync(join(cwd, run, 'policy/manifest.json'), 'utf8');
    const { out, code } = await calibrate(run, '--threads', 'fresh.jsonl', '--curve', '--json');
    expect(code).toBe(0);
    const curve: { level: number; kept: { er: number } | null }[] = json(out).curve;
    expect(curve.map(({ kept }) => kept === null)).toEqual([true, true, false, false, false, false]);
    const rates = curve.flatMap(({ kept }) => kept?.er ?? []);
    expect(rates).toEqual([...rates].sort((a, b) => b - a));
    expect(readFileSync(join(cwd, run, 'policy/manifest.json'), 'utf8')).toBe(before);
    const shown = await calibrate(run, '--threads', 'fresh.jsonl', '--curve');
    expect(shown.out).toContain('more threads needed');
  });

  it('prints JSON where it only counts what it would ask', async () => {
    const counted = await calibrate(run, '--threads', 'fresh.jsonl', '--dry-run', '--json');
    expect(json(counted.out)).toEqual({ agent: run, dryRun: true, cost: null });
  });

  it('writes no guarantee once it is told to stop', async () => {
    const before = readFileSync(join(cwd, run, 'policy/manifest.json'), 'utf8');
    const begun = start(['calibrate', run, '--threads', 'fresh.jsonl', '--risk-level', '0.3'], { cwd });
    begun.interrupt();
    expect((await begun.outcome).code).toBe(130);
    expect(readFileSync(join(cwd, run, 'policy/manifest.json'), 'utf8')).toBe(before);
  });

  it('leaves out what the agent learnt from or was tested on, and refuses too few threads, with the number', async () => {
    const { parts } = json(readFileSync(join(cwd, run, 'parts.json'), 'utf8'));
    const known = new Set(Object.values<{ id: string }[]>(parts).flatMap((items) => items.map(({ id }) => id)));
    const trainedOn = synthesizeThreads(tiny.data.synthetic).filter(({ id }) => known.has(id));
    expect(trainedOn.length).toBeGreaterThan(50);
    writeFileSync(join(cwd, 'few.jsonl'), linesOf([...trainedOn, ...fresh.slice(0, 30)]));
    const before = existsSync(join(cwd, run, 'policy/manifest.json'));
    const few = await calibrate(run, '--threads', 'few.jsonl');
    expect(few.code).toBe(1);
    const leftOut = (policy: string) => `${trainedOn.length} threads that ${policy} learnt from or was tested on`;
    expect(few.errors).toContain(`left out: ${leftOut(join(run, 'policy'))}`);
    expect(few.errors).toContain(
      'threads cannot show that at most 5% of predictions would change, with 90% confidence: that takes 45',
    );
    expect(existsSync(join(cwd, run, 'policy/manifest.json'))).toBe(before);
    // Its bundle knows them, too; one of an earlier version those alone that it learnt from.
    expect((await earshot(['export', run, '--out', 'knowing'], { cwd })).code).toBe(0);
    const ofBundle = await calibrate('knowing', '--threads', 'few.jsonl');
    expect(ofBundle.errors).toContain(`left out: ${leftOut('knowing')}`);
    writeFileSync(join(cwd, 'known.jsonl'), linesOf(trainedOn));
    const none = await calibrate(run, '--threads', 'known.jsonl');
    expect([none.code, none.errors]).toEqual([
      1,
      expect.stringContaining('no thread of known.jsonl is left to calibrate on'),
    ]);
  });

  it('takes labels for harm, and shares between 0 and 1', async () => {
    const harm = await calibrate(run, '--threads', 'fresh.jsonl', '--loss', 'harm');
    expect(harm.code).toBe(1);
    expect(harm.errors).toContain('left out: 80 threads without a label, which --loss harm needs');
    const one = await calibrate(run, '--threads', 'fresh.jsonl', '--confidence', '1');
    expect([one.code, one.errors]).toEqual([1, expect.stringContaining('It must be a share between 0 and 1')]);
    const [share, percent] = await Promise.all(
      ['0.2', '20%'].map((level) =>
        calibrate(run, '--threads', 'fresh.jsonl', '--curve', '--json', '--confidence', '90%', '--risk-level', level),
      ),
    );
    expect([percent.code, percent.out]).toEqual([0, share.out]);
    writeFileSync(join(cwd, 'unlabelled.jsonl'), linesOf([{ ...fresh[0], rumor: null, veracity: null }]));
    const unlabelled = await calibrate(run, '--threads', 'unlabelled.jsonl', '--loss', 'harm');
    expect(unlabelled.errors).toContain('left out: 1 thread without a label');
    expect(unlabelled.errors).toContain('give finished threads with labels that');
  });
});
