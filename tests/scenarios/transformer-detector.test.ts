import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { synthesizeThreads } from '../../src/data/synthetic/stream.ts';
import { earshot, tiny, writeExperiment } from '../experiments/cli/command-line.ts';
import { tinyModelFiles, writeModel } from '../src/text/tiny-model.ts';

/** Detector and student read vectors of a transformer, the agent those of the hashing encoder. */
const run = 'runs/tiny/agent/seed-1';
/** Threads in the few words that the tiny model knows, which tell the label. */
const toldByWords = (count: number, seed: number) =>
  synthesizeThreads({ threads: count, seed }).map((thread) => ({
    ...thread,
    posts: thread.posts.map((post) => ({ ...post, text: thread.rumor ? 'stop now' : 'continue .' })),
  }));

let cwd: string;
beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'earshot-transformer-detector-'));
  for (const [name, count, seed] of [['threads', 60, 1] as const, ['fresh', 8, 5] as const])
    writeFileSync(
      join(cwd, `${name}.jsonl`),
      toldByWords(count, seed)
        .map((thread) => `${JSON.stringify({ ...thread, id: `${name}-${thread.id}` })}\n`)
        .join(''),
    );
  await writeModel(join(cwd, 'model'), tinyModelFiles());
  const model = { ...tiny.detector, encoder: { name: 'transformers', model: './model' } };
  writeExperiment(join(cwd, 'tiny.yaml'), {
    data: { threads: 'threads.jsonl' },
    detector: model,
    state: { student: true, studentOptions: model },
  });
  const { code, errors } = await earshot(['train', 'tiny.yaml'], { cwd });
  expect(code, errors).toBe(0);
});
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

it('is read again by the commands that come after training, with stored vectors', async () => {
  const again = await earshot(['train', 'tiny.yaml', '--json'], { cwd });
  expect(again.code, again.errors).toBe(0);
  const decided = await earshot(['decide', 'fresh.jsonl', '--policy', run], { cwd });
  expect(decided.code, decided.errors).toBe(0);
  const lines = decided.out.trim().split('\n');
  expect(lines).toHaveLength(8);
  for (const line of lines) expect(JSON.parse(line).prediction.label).toMatch(/^(non-)?rumor$/);
  const evaluated = await earshot(['evaluate', run, '--data', 'fresh.jsonl'], { cwd });
  expect(evaluated.code, evaluated.errors).toBe(0);
  // One folder an encoder.
  expect(readdirSync(join(cwd, 'runs/cache/embeddings')).filter((name) => name.endsWith('.sqlite'))).toHaveLength(2);
});

it('travels with the policy, of which other programs read no texts', async () => {
  const { code, errors } = await earshot(['export', run, '--out', 'bundle'], { cwd });
  expect(code, errors).toBe(0);
  expect(readdirSync(join(cwd, 'bundle'))).toContain('student.json');
  const manifest = JSON.parse(readFileSync(join(cwd, 'bundle/manifest.json'), 'utf8'));
  expect(manifest).toMatchObject({ student: null, detector: null, readsTexts: false });
  const [ofRun, ofBundle] = await Promise.all(
    [run, 'bundle'].map((policy) => earshot(['decide', 'fresh.jsonl', '--policy', policy], { cwd })),
  );
  expect(ofBundle.out).toBe(ofRun.out);
});
