import { createHash } from 'node:crypto';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadPolicy } from '../../../checkpoints/policy/load-policy.ts';
import { synthesizeThreads } from '../../../src/data/synthetic/stream.ts';
import { sourceOf } from '../../checkpoints/policy/small-bundle.ts';
import type { Outcome } from '../../child-output.ts';
import { temporaryFolder } from '../../src/data/fixtures.ts';
import { tinyModelFiles, writeModel } from '../../src/text/tiny-model.ts';
import { earshot, tiny, writeExperiment } from './command-line.ts';

const run = 'runs/tiny/agent/seed-1';
const threads = synthesizeThreads(tiny.data.synthetic);

let cwd: string;
/** Of the bundle that several tests look at. */
let exported: Outcome;
const exportTo = (out: string, ...words: string[]) => earshot(['export', run, '--out', out, ...words], { cwd });

beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'earshot-export-'));
  writeFileSync(join(cwd, 'threads.jsonl'), threads.map((thread) => `${JSON.stringify(thread)}\n`).join(''));
  const state = { student: true, studentOptions: tiny.detector };
  writeExperiment(join(cwd, 'tiny.yaml'), { data: { threads: 'threads.jsonl' }, state });
  const trained = await earshot(['train', 'tiny.yaml'], { cwd });
  expect(trained.code, trained.errors).toBe(0);
  exported = await exportTo('bundle');
});
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

describe('export', () => {
  it('writes a bundle that says what it is and decides as the checkpoint does', async () => {
    const { code, out, errors } = exported;
    expect({ code, errors }).toEqual({ code: 0, errors: '' });
    expect(out).toMatch(
      /^The ONNX file decides as the checkpoint does: \d+ golden, 1024 random, \d+ extreme states in batches of 1, 7, 1024, scores at most \d\.\de-\d+ apart\nSystem: stop agent\nGolden threads: (?:1[5-9]|20)\n\nPolicy: bundle\n$/,
    );
    const folder = join(cwd, 'bundle');
    const manifest = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8'));
    const others = readdirSync(folder).filter((name) => name !== 'manifest.json' && name !== 'README.md');
    expect(Object.keys(manifest.files).sort()).toEqual(others.sort());
    for (const name of others) {
      const hash = createHash('sha256')
        .update(readFileSync(join(folder, name)))
        .digest('hex');
      expect(manifest.files[name], name).toBe(hash);
    }
    expect(manifest).toMatchObject({
      format: 'earshot-bundle',
      encoder: { name: 'hashing', dimensions: 32 },
      state: {
        columns: 36,
        fields: [
          { name: 'posts', from: 0, count: 32 },
          { name: 'student', from: 32, count: 4 },
        ],
      },
      limits: { maxPosts: 1000, deadline: { posts: null, hours: null } },
      system: 'stop agent',
      student: 'student.json',
      detector: 'detector.json',
      readsTexts: true,
      training: { seed: 1, step: 4, experiment: { name: 'tiny' } },
      measures: { threads: 16 },
    });
    const [agent] = manifest.measures.systems;
    expect(agent).toMatchObject({ name: 'stop agent', macroF1Interval: [expect.any(Number), expect.any(Number)] });
    // Loading decides every golden thread again.
    const policy = await loadPolicy(sourceOf(folder));
    expect(policy.manifest.parity.largestDifference).toBeLessThan(1e-5);
  });

  it('writes a score that any server of ONNX files gives: states in, stop probabilities out', async () => {
    const folder = join(cwd, 'bundle');
    const session = await InferenceSession.create(readFileSync(join(folder, 'policy.onnx')));
    expect(session.inputMetadata).toEqual([{ name: 'state', isTensor: true, type: 'float32', shape: ['batch', 36] }]);
    expect(session.outputMetadata).toEqual([
      { name: 'stop_probability', isTensor: true, type: 'float32', shape: ['batch'] },
    ]);
    const golden = readFileSync(join(folder, 'golden.jsonl'), 'utf8').trimEnd().split('\n');
    for (const line of golden) {
      const { states, scores } = JSON.parse(line);
      const state = new Float32Array(Uint8Array.from(Buffer.from(states, 'base64')).buffer);
      const found = await session.run({ state: new Tensor('float32', state, [state.length / 36, 36]) });
      const answered = Array.from<unknown, number>(found.stop_probability.data, Number);
      expect(answered).toHaveLength(scores.length);
      for (const [post, score] of scores.entries()) expect(answered[post]).toBeCloseTo(score, 5);
    }
    await session.release();
  });

  it('writes a card that tells use, data, measures, limits and risks', () => {
    const card = readFileSync(join(cwd, 'bundle/README.md'), 'utf8');
    for (const heading of ['Use', 'State', 'Data', 'Measures', 'Limits and risks'])
      expect(card).toContain(`\n## ${heading}\n`);
    expect(card).toContain('| stop agent ');
    expect(card).toContain('detector 20, demonstrations 12, environment 12, test 16');
    expect(card).toContain('**Stopping early**');
    expect(card).toContain('**Stopping late**');
    expect(card).toContain('only their texts and order.');
  });

  it('is the same for the same run, byte for byte', async () => {
    await exportTo('again');
    const names = readdirSync(join(cwd, 'bundle'));
    expect(readdirSync(join(cwd, 'again'))).toEqual(names);
    for (const name of names)
      expect(readFileSync(join(cwd, 'bundle', name)).equals(readFileSync(join(cwd, 'again', name))), name).toBe(true);
  });

  it('writes over its own earlier folder when it is told to, and over nothing else', async () => {
    expect((await exportTo('mine', '--system', 'after 1 h')).code).toBe(0);
    const again = await exportTo('mine');
    expect([again.code, again.errors]).toEqual([
      1,
      expect.stringContaining('mine holds a bundle already; write over it with --force'),
    ]);
    writeFileSync(join(cwd, 'mine/notes.txt'), 'mine');
    const beside = await exportTo('mine', '--force');
    expect([beside.code, beside.errors]).toEqual([1, expect.stringContaining('a bundle and notes.txt beside it')]);
    expect(readFileSync(join(cwd, 'mine/notes.txt'), 'utf8')).toBe('mine');
    rmSync(join(cwd, 'mine/notes.txt'));
    const forced = await exportTo('mine', '--force');
    expect([forced.code, forced.errors]).toEqual([0, '']);
    expect(readdirSync(join(cwd, 'mine'))).toEqual(readdirSync(join(cwd, 'bundle')));
    expect(JSON.parse(readFileSync(join(cwd, 'mine/manifest.json'), 'utf8')).system).toBe('stop agent');
    expect((await exportTo('runs', '--force')).errors).toContain('runs is not empty (');
    expect(readdirSync(cwd).filter((name) => /unfinished|earlier/.test(name))).toEqual([]);
  });

  it('says what is wrong with the folder, the run or the system', async () => {
    expect((await exportTo('runs')).errors).toContain('runs is not empty (');
    expect((await earshot(['export', 'nowhere', '--out', 'x'], { cwd })).errors).toContain('there is no nowhere');
    cpSync(join(cwd, run), join(cwd, 'begun'), { recursive: true });
    rmSync(join(cwd, 'begun/policy'), { recursive: true });
    expect((await earshot(['export', 'begun', '--out', 'x'], { cwd })).errors).toMatch(
      /begun holds no policy: .*a run of a stop agent has one when it is finished/,
    );
    const here = await earshot(['export', join(cwd, run), '--out', '.'], { cwd: temporaryFolder() });
    expect([here.code, here.errors]).toEqual([1, expect.stringContaining('the bundle . (EBUSY): it is in use, as a')]);
    expect((await exportTo('x', '--system', 'after 7 h')).errors).toContain(
      'has no system "after 7 h" that can be deployed; did you mean "after 1 h"?',
    );
  });
});

describe('export of an agent whose encoder is a transformer', () => {
  it('says that texts are not read without the encoder, and decides with it', async () => {
    const model = join(cwd, 'model');
    await writeModel(model, tinyModelFiles());
    writeExperiment(join(cwd, 'transformer.yaml'), { name: 'transformer', encoder: { name: 'transformers', model } });
    const trained = await earshot(['train', 'transformer.yaml'], { cwd });
    expect(trained.code, trained.errors).toBe(0);
    const own = 'runs/transformer/agent/seed-1';
    const { code, errors } = await earshot(['export', own, '--out', 'of-transformer'], { cwd });
    expect(code, errors).toBe(0);
    expect(errors).toContain('the states need an encoder that cannot be exported, so earshot_policy.py decides');
    expect(readFileSync(join(cwd, 'of-transformer/README.md'), 'utf8')).toContain('an encoder that is not part of');
    const policy = await loadPolicy(sourceOf(join(cwd, 'of-transformer')));
    await expect(policy.decide({ posts: [{ text: 'now' }] })).rejects.toThrow('give `embed`');
    writeFileSync(join(cwd, 'one.jsonl'), JSON.stringify({ id: 'x', posts: [{ id: '1', text: 'stop now' }] }));
    const [ofRun, ofBundle] = await Promise.all(
      [
        ['--policy', own],
        ['--policy', 'of-transformer'],
      ].map((agent) => earshot(['decide', 'one.jsonl', ...agent], { cwd })),
    );
    expect(ofBundle.code, ofBundle.errors).toBe(0);
    const [first, second] = [JSON.parse(ofRun.out), JSON.parse(ofBundle.out)];
    expect(second).toEqual(first);
  });
});
