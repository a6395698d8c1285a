import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadPolicy } from '../../checkpoints/policy/load-policy.ts';
import { readTensorFile } from '../../checkpoints/tensor-file.ts';
import { synthesizeThreads } from '../../src/data/synthetic/stream.ts';
import { sourceOf } from '../checkpoints/policy/small-bundle.ts';
import { earshot, tiny, writeExperiment } from '../experiments/cli/command-line.ts';

/** Agents that see the mean of the posts, their sum over √k, or their mean beside a student. */
const states = {
  mean: { posts: 'mean' },
  sqrt: { posts: 'sqrt' },
  student: { posts: 'mean', student: true, studentOptions: tiny.detector },
};
/** Numbers that each network reads. */
const widths = { mean: 32 + 1, sqrt: 32 + 1, student: 32 + 1 + 4 };
const names = ['mean', 'sqrt', 'student'] as const;
const runOf = (name: string) => `runs/tiny/${name}/seed-1`;
const fresh = synthesizeThreads({ threads: 10, seed: 3 });
const parsed = (text: string) => text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));

let cwd: string;
async function succeed(...words: string[]): Promise<string> {
  const { code, out, errors } = await earshot(words, { cwd });
  expect(code, errors).toBe(0);
  return out;
}
beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'earshot-pooled-'));
  writeFileSync(join(cwd, 'fresh.jsonl'), fresh.map((thread) => `${JSON.stringify(thread)}\n`).join(''));
  const variants = Object.fromEntries(names.map((name) => [name, { state: states[name] }]));
  writeExperiment(join(cwd, 'tiny.yaml'), { variants });
  await succeed('train', 'tiny.yaml');
});
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

describe.each(names)('an agent whose states are pooled (%s)', (name) => {
  it('decides alike from its run and from its bundle', async () => {
    await succeed('export', runOf(name), '--out', name);
    const byRun = parsed(await succeed('decide', 'fresh.jsonl', '--policy', runOf(name)));
    const byBundle = parsed(await succeed('decide', 'fresh.jsonl', '--policy', name));
    expect(byRun).toHaveLength(10);
    expect(byBundle).toEqual(byRun);
    const { manifest } = await loadPolicy(sourceOf(join(cwd, name)));
    expect(manifest.state).toMatchObject({
      columns: widths[name],
      pooling: states[name].posts,
      fields: [
        { name: 'posts', count: 32 },
        { name: 'posts seen', from: 32, count: 1 },
        ...(name === 'student' ? [{ name: 'student' }] : []),
      ],
    });
  });

  it('reads a growing thread from the bundle as it decides a whole one', async () => {
    const policy = await loadPolicy(sourceOf(join(cwd, name)));
    const [{ posts }] = fresh;
    const decision = await policy.decide({ posts });
    const growing = policy.open();
    for (const { text } of posts) await growing.read(text);
    expect(growing.end()).toMatchObject({ postsUsed: decision.postsUsed, scores: decision.scores });
  });

  it('learns from as many numbers as it says, and is finished when the command is given again', async () => {
    const { w1 } = readTensorFile(join(cwd, name, 'policy.safetensors')).arrays;
    expect(w1.shape).toEqual([widths[name], 8]);
    expect(await succeed('train', 'tiny.yaml')).toContain(`\n${name} `);
  });
});
