import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { exportSelectorRun } from '../../../experiments/selector/export.ts';
import { workContext } from '../../../src/work-context.ts';
import { earshot } from '../cli/command-line.ts';
import { lines, tinyFolder, tinySelector, tinyThreads, trainHere } from './tiny-selector.ts';

const run = 'runs/tiny/agent/seed-1';

/** A folder with a trained run of each variant. */
async function trained(variants: Record<string, unknown> = {}) {
  const cwd = tinyFolder({ evaluation: { beside: [], picturePoints: 0 }, variants: { agent: {}, ...variants } });
  await trainHere(cwd);
  const exporting = (options: { run?: string; out: string; data?: string | null }) =>
    exportSelectorRun({
      run: join(cwd, options.run ?? run),
      out: join(cwd, options.out),
      data: options.data ?? null,
      runs: join(cwd, 'runs'),
      context: workContext(),
    });
  const manifestOf = (folder: string) => JSON.parse(readFileSync(join(cwd, folder, 'manifest.json'), 'utf8'));
  return { cwd, exporting, manifestOf };
}
const { selector } = tinySelector;

describe('export, of a selector', () => {
  it('writes both levels, held against the checkpoint in another runtime', async () => {
    const { cwd, manifestOf } = await trained();
    const { code, out, errors } = await earshot(['export', run, '--out', 'selector', '--json'], { cwd });
    expect(code, errors).toBe(0);
    const { parity, goldenItems } = JSON.parse(out);
    // 16 threads with 4 replies each.
    expect(goldenItems).toBe(16 * 5);
    expect(parity.posts.rows).toEqual({ 'golden posts': 64, 'random posts': 1024, 'extreme posts': 6 });
    expect(parity.claims.largestDifference).toBeLessThan(1e-6);
    const { levels, training, measures, files } = manifestOf('selector');
    expect(levels.posts).toMatchObject({
      onnx: 'posts.onnx',
      columns: 96,
      classes: ['support', 'deny', 'query', 'comment'],
    });
    expect(levels.claims.fields.map(({ from }: { from: number }) => from)).toEqual([0, 32, 64]);
    expect(training).toMatchObject({ seed: 1, epochs: 3, claims: { labelled: 12, unlabelled: 12 } });
    expect(measures.systems.length).toBeGreaterThan(0);
    expect(Object.keys(files).sort()).toEqual([
      'README.md',
      'claims.onnx',
      'earshot_selector.py',
      'golden.jsonl',
      'posts.onnx',
      'selector.safetensors',
      'trained.json',
    ]);
    expect(readFileSync(join(cwd, 'selector/README.md'), 'utf8')).toMatch(
      /12 claims with known veracity and 12 without/,
    );
  });

  it('writes the level that decides, hidden layer and distribution included, on golden states of other threads', async () => {
    const options = { ...selector, hidden: 5, showDistribution: true, retain: { claims: 'all' } };
    const { cwd, exporting, manifestOf } = await trained({ hidden: { selector: options } });
    const { test } = tinyThreads();
    writeFileSync(join(cwd, 'other.jsonl'), lines(test));
    const own = { run: 'runs/tiny/hidden/seed-1', out: 'hidden', data: join(cwd, 'other.jsonl') };
    const { parity } = await exporting(own);
    expect(Object.keys(parity)).toEqual(['posts']);
    expect(manifestOf('hidden').levels.posts).toMatchObject({ columns: 100 });
    await expect(exporting(own)).rejects.toThrow(/hidden is not empty/);
  });

  it('refuses a selector that decides nothing, and a bundle of one where an agent is needed', async () => {
    const retain = { claims: 'all', posts: 'all' };
    const { cwd, exporting } = await trained({ all: { selector: { ...selector, retain } } });
    await expect(exporting({ run: 'runs/tiny/all/seed-1', out: 'all' })).rejects.toThrow(
      /retains all posts and claims, so there is nothing to export/,
    );
    await exporting({ out: 'again' });
    const decided = await earshot(['decide', '--bundle', 'again'], { cwd });
    expect([decided.code, decided.errors]).toEqual([
      1,
      expect.stringContaining('manifest.json is not what this Earshot reads'),
    ]);
  });
});
