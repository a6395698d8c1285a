import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder, writeFiles } from '../../src/data/fixtures.ts';
import { earshot, start, threadLines, tiny, until, writeExperiment } from './command-line.ts';

const settled = { ...tiny.agent, algorithm: 'settled', iterations: 10, behaviorCloning: { epochs: 8 } };

/** An experiment without parts: 60 labelled threads whose texts tell the label, and others without one. */
function folderWith(parts: Record<string, unknown> = {}, unlabelled = 160): string {
  const cwd = temporaryFolder();
  writeFiles(cwd, {
    'threads.jsonl': `${threadLines(60)}${threadLines(unlabelled, { labelled: false, prefix: 'new-' })}`,
  });
  writeExperiment(join(cwd, 'mine.yaml'), {
    name: 'mine',
    split: undefined,
    data: { threads: 'threads.jsonl' },
    agent: settled,
    state: { posts: 'none', observesDetector: true },
    ...parts,
  });
  return cwd;
}

const linesOf = (path: string) =>
  readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
const words = (text: string) => text.replaceAll(/\s+/g, ' ');

it('tests every labelled thread once a seed, ships what learned from all, and decides with it', async () => {
  const cwd = folderWith();
  const trained = await earshot(['train', 'mine.yaml', '--seeds', '1,2'], { cwd });
  expect(trained.code, trained.errors).toBe(0);
  expect(words(trained.out)).toMatch(
    /^mine: Reads \d+% of the posts; with 90% confidence at most 5% of predictions would change\. /,
  );
  expect(words(trained.out)).toContain('cross-validated over 60 labelled threads');
  expect(words(trained.out)).toContain('Labels: in the folds of seed 1, macro-F1 after all posts is');
  expect(trained.errors).toContain('Policy: runs/mine/policy');
  expect(trained.errors).toContain(
    'Next: npx earshot decide threads.jsonl --policy runs/mine/policy --include-trained # or new threads',
  );
  const variant = join(cwd, 'runs/mine/agent');
  for (const seed of ['seed-1', 'seed-2']) {
    const agent = linesOf(join(variant, seed, 'decisions.jsonl')).filter(({ system }) => system === 'stop agent');
    expect(agent.map(({ item }) => item)).toEqual(Array.from({ length: 60 }, (_, index) => `t${index}`));
  }
  // The first seed ships.
  expect(existsSync(join(variant, 'seed-1/shipped/result.json'))).toBe(true);
  expect(existsSync(join(variant, 'seed-2/shipped'))).toBe(false);
  const policy = join(cwd, 'runs/mine/policy');
  const manifest = JSON.parse(readFileSync(join(policy, 'manifest.json'), 'utf8'));
  expect(manifest.guarantee).toMatchObject({ level: 0.05, confidence: 0.9, threads: 107 });
  // It learned from every label, and from the unlabelled threads of the environment.
  expect(JSON.parse(readFileSync(join(policy, 'trained.json'), 'utf8'))).toHaveLength(60 + 53);

  // One number under one name.
  const { heldOut } = JSON.parse(
    (
      await earshot(
        [
          'detect',
          'threads.jsonl',
          '--train',
          '--json',
          '--set',
          'folds=2',
          '--set',
          'characterWeights=[1]',
          '--set',
          'l2=[0.001]',
          '--set',
          'timing=false',
        ],
        { cwd },
      )
    ).out,
  );
  const result = JSON.parse(readFileSync(join(variant, 'seed-1/result.json'), 'utf8'));
  expect(result.detector).toEqual(heldOut);
  expect(result.learningCurve.map(({ labels }: { labels: number }) => labels)).toEqual([16, 30, 60]);

  // Every row, from a run of any seed, is exported as it learned from all labels.
  const rule = await earshot(['export', 'runs/mine/agent/seed-2', '--system', 'first post', '--out', 'rule'], { cwd });
  expect(rule.code, rule.errors).toBe(0);
  expect(readFileSync(join(cwd, 'rule/detector.json'))).toEqual(readFileSync(join(policy, 'detector.json')));
  const decided = await earshot(
    ['decide', 'threads.jsonl', '--policy', 'runs/mine/agent/seed-2', '--include-trained'],
    { cwd },
  );
  expect(decided.errors).toContain('runs/mine/agent/seed-1/policy was trained on ');
  rmSync(policy, { recursive: true });
  const again = await earshot(['train', 'mine.yaml', '--seeds', '1,2', '--json'], { cwd });
  expect(JSON.parse(again.out)[0].trials).toHaveLength(2);
  expect(again.errors).toContain('Policy: runs/mine/policy');
});

it('goes on to the same bytes where it was stopped in a fold', async () => {
  const names = [
    'decisions.jsonl',
    'judged.jsonl',
    'stop-probabilities.jsonl',
    'result.json',
    'shipped/threshold.json',
  ];
  const bytes = (cwd: string) => names.map((name) => readFileSync(join(cwd, 'runs/mine/agent/seed-1', name), 'utf8'));
  const whole = folderWith();
  await earshot(['train', 'mine.yaml'], { cwd: whole });
  const cut = folderWith();
  const run = join(cut, 'runs/mine/agent/seed-1');
  const stopped = start(['train', 'mine.yaml'], { cwd: cut });
  await until(() => existsSync(join(run, 'fold-2/config.json')));
  stopped.interrupt();
  expect((await stopped.outcome).code).toBe(130);
  expect(existsSync(join(run, 'result.json'))).toBe(false);
  expect(readdirSync(run)).not.toContain('shipped');
  expect((await earshot(['train', 'mine.yaml'], { cwd: cut })).code).toBe(0);
  expect(bytes(cut)).toEqual(bytes(whole));
});

it('finds a guarantee on average where hardly any thread is without a label', async () => {
  const cwd = folderWith({}, 8);
  const trained = await earshot(['train', 'mine.yaml'], { cwd });
  expect(trained.code, trained.errors).toBe(0);
  expect(words(trained.out)).toMatch(
    /^mine: Reads \d+% of the posts; on average at most 5% of predictions would change\. The agent is recommended/,
  );
  const { guarantee } = JSON.parse(readFileSync(join(cwd, 'runs/mine/policy/manifest.json'), 'utf8'));
  expect(guarantee).toMatchObject({ confidence: null, threads: 60 });
  expect(guarantee.bound).toBeLessThanOrEqual(0.05);
});

it('says which level cannot be shown, and trains', async () => {
  const cwd = folderWith({ guarantee: { level: 0.01 } }, 8);
  const trained = await earshot(['train', 'mine.yaml'], { cwd });
  expect(trained.code, trained.errors).toBe(0);
  expect(words(trained.out)).toMatch(/^mine: No guarantee could be shown\. /);
  expect(words(trained.out)).toContain(
    '60 labelled threads cannot show that at most 1% of predictions would change on average. Label more, give at least 150 threads without labels, or allow more with guarantee.level',
  );
});

it('recommends nothing, and ships nothing, where the detector guesses', async () => {
  const cwd = folderWith();
  // Labels that the texts do not tell.
  const mute = threadLines(60)
    .trim()
    .split('\n')
    .map((line, index) => `${line.replace(/"rumor":\w+/, `"rumor":${index % 4 > 1}`)}\n`);
  writeFiles(cwd, { 'threads.jsonl': mute.join('') });
  const trained = await earshot(['train', 'mine.yaml'], { cwd });
  expect(trained.code, trained.errors).toBe(0);
  expect(words(trained.out)).toMatch(
    /The detector .*; (?:if it guesses, )?no stopping rule can help\. Next: label more/,
  );
  expect(trained.out).not.toContain('is recommended');
  expect(trained.errors).toContain('Next: npx earshot train mine.yaml --restart # once more threads are labelled');
  expect(existsSync(join(cwd, 'runs/mine/policy'))).toBe(false);
  const best = await earshot(['export', 'runs/mine/agent/seed-1', '--system', 'best', '--out', 'policy'], { cwd });
  expect(best.errors).toMatch(/runs\/mine\/agent\/seed-1 recommends nothing\. The detector /);
});

it('is refused by a sweep, which needs a development part', async () => {
  const cwd = folderWith();
  writeFiles(cwd, {
    'sweep.yaml': JSON.stringify({
      kind: 'sweep',
      name: 's',
      experiment: 'mine.yaml',
      space: { 'agent.hidden': [4, 8] },
    }),
  });
  const { errors } = await earshot(['sweep', 'sweep.yaml'], { cwd });
  expect(errors).toContain('cross-fitting has none; name parts in split');
});
