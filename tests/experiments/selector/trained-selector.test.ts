import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { evaluateSelectorRun } from '../../../experiments/selector/trained-selector.ts';
import { workContext } from '../../../src/work-context.ts';
import { earshot } from '../cli/command-line.ts';
import { lines, tinyFolder, tinyThreads, trainHere } from './tiny-selector.ts';

const run = 'runs/tiny/agent/seed-1';

describe('evaluate on a run of a selector', () => {
  it('scores both tasks on other threads, as the selector reads them and with all posts', async () => {
    const { train, test } = tinyThreads();
    const evaluation = { beside: [], heldOutShare: 0 };
    const cwd = tinyFolder(
      { evaluation },
      { 'other.jsonl': lines(test), 'seen.jsonl': lines([...train.slice(0, 3), ...test]) },
    );
    await trainHere(cwd);
    const evaluated = await earshot(['evaluate', run, '--data', 'other.jsonl', '--out', 'scores.json'], { cwd });
    expect(evaluated.code, evaluated.errors).toBe(0);
    expect(evaluated.out).toMatch(/^12 threads of other\.jsonl\n\nsystem .*stance(.*\n)+selector +0\.\d{3} /);
    expect(evaluated.out).toMatch(/\nits task models, reading all posts +0\./);
    // The planted test threads are those that the run was tested on.
    const { systems } = JSON.parse(readFileSync(join(cwd, 'scores.json'), 'utf8'));
    const [{ trials }] = JSON.parse((await earshot(['report', 'tiny.yaml', '--json'], { cwd })).out);
    expect(systems[0].scores).toEqual(trials[0].systems[0].tests.planted);

    const notes: string[] = [];
    const context = workContext({ onNote: (line) => notes.push(line) });
    const data = join(cwd, 'seen.jsonl');
    const settings = { run: join(cwd, run), runs: join(cwd, 'runs'), data, skipInvalid: false, context };
    expect((await evaluateSelectorRun({ ...settings, includeTrained: false })).threads).toBe(12);
    expect((await evaluateSelectorRun({ ...settings, includeTrained: true })).threads).toBe(15);
    const known = `the run was trained on 3 of the 15 threads of ${data}`;
    expect(notes).toEqual(expect.arrayContaining([`${known}; they are left out`, `${known}; they are not left out`]));
  });

  it('needs labels', async () => {
    const { test } = tinyThreads();
    const bare = test.map((thread) => ({
      ...thread,
      veracity: null,
      posts: thread.posts.map((post) => ({ ...post, stance: null })),
    }));
    const cwd = tinyFolder({}, { 'bare.jsonl': lines(bare) });
    await trainHere(cwd, { evaluation: { beside: [] } });
    const refused = await earshot(['evaluate', run, '--data', 'bare.jsonl'], { cwd });
    expect(refused.code).toBe(1);
    expect(refused.errors).toContain(
      'none of the 12 threads of bare.jsonl has a veracity or a reply with a stance; give labelled threads',
    );
  });
});
