import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { RunDirectory } from '../../../checkpoints/run-directory.ts';
import { selectorPages } from '../../../experiments/selector/report/selector-pages.ts';
import { readSelectorResult } from '../../../experiments/selector/result.ts';
import type { Thread } from '../../../src/data/thread.ts';
import { InputError } from '../../../src/errors.ts';
import { earshot } from '../cli/command-line.ts';
import { lines, tinyFolder, tinyThreads, trainHere, withoutReplies } from './tiny-selector.ts';

const { train, test, pretraining } = tinyThreads();
const without = (veracity: Thread['veracity']) =>
  train.map((thread) => (thread.veracity === veracity ? { ...thread, veracity: null } : thread));
const files = {
  'train.jsonl': lines(train),
  'test.jsonl': lines(test),
  'unlabelled.jsonl': lines(train.map((thread) => ({ ...thread, veracity: null }))),
  'alone.jsonl': lines(train.map(withoutReplies)),
  'half-alone.jsonl': lines(train.map((thread, index) => (index % 2 === 0 ? withoutReplies(thread) : thread))),
  'no-false.jsonl': lines(without('false')),
  'foreign.jsonl': lines(pretraining.map((item) => ({ ...item, labels: { stance: 'neutral' } }))),
};

describe('an experiment of a selector that is wrong', () => {
  it('has its unknown keys and wrong values named', async () => {
    const cwd = tinyFolder({
      seedShaer: 0.2,
      selector: { epoch: 3, postReward: 'gian' },
      stanceModel: { name: 'local', classifer: {} },
      veracityModel: { name: 'caht' },
    });
    const {
      code,
      out,
      errors: wrong,
    } = await earshot(['train', 'tiny.yaml', '--set', 'selector.learningRate=-1'], { cwd });
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(wrong).not.toMatch(/^ {4}at |this is a defect/m);
    expect(wrong).toContain('tiny.yaml is not a valid experiment:\n');
    expect(wrong).toContain('  seedShaer: unknown key; did you mean seedShare?');
    expect(wrong).toContain('  selector.epoch: unknown key; did you mean epochs?');
    expect(wrong).toContain('  stanceModel.classifer: unknown key; did you mean classifier?');
    expect(wrong).toMatch(/ {2}selector\.postReward: .*"claim"\|"reward-to-go"\|"counterfactual" \(found "gian"\)/);
    expect(wrong).toMatch(/ {2}selector\.learningRate: .* \(found -1\)/);
    expect(wrong).toMatch(/ {2}veracityModel(\.name)?: /);
    await expect(trainHere(tinyFolder({ data: { heldOutEvents: ['fire'] } }))).rejects.toThrow(
      'data.heldOutEvents (fire) are given without data.train, and planted threads are of no event',
    );
    await expect(trainHere(tinyFolder({ kind: 'selecter' }))).rejects.toThrow(
      'tiny.yaml: kind is "selecter"; it must be stop-agent (the default), selector or detectors',
    );
  });
});

describe('threads that a selector cannot learn from', () => {
  it.each<[string, { train?: string; stancePretraining?: string; tests?: Record<string, string> }, RegExp]>([
    ['are missing', { train: 'none.jsonl' }, /there is no .*none\.jsonl/],
    [
      'have no veracity',
      { train: 'unlabelled.jsonl' },
      /none of the 24 claims of .*unlabelled\.jsonl has a veracity label .*or raise seedShare \(now 0\.5\)/,
    ],
    ['have no reply', { train: 'alone.jsonl' }, /none of the 24 threads of .*alone\.jsonl has a reply/],
    [
      'are all among the tests',
      { train: 'train.jsonl', tests: { same: 'train.jsonl' } },
      /nothing is left to train on: of the threads of .*train\.jsonl, 24 are also among the tests, .* give other threads$/,
    ],
    ['are there to test on only', { tests: { held: 'test.jsonl' } }, /data\.tests: given without data\.train/],
    [
      'have no known stance to learn first',
      { train: 'train.jsonl', stancePretraining: 'foreign.jsonl' },
      /none of the 60 items of .*foreign\.jsonl has a labels\.stance that is known \(support, deny, query, comment, favor, against\)/,
    ],
  ])('are named where they %s', async (_, { tests = {}, ...data }, message) => {
    const cwd = tinyFolder({}, files);
    const within = (paths: Record<string, string>) =>
      Object.fromEntries(Object.entries(paths).map(([name, path]) => [name, join(cwd, path)]));
    const failure = trainHere(cwd, { data: { protocol: 'ids', ...within(data), tests: within(tests) } });
    await expect(failure).rejects.toThrow(InputError);
    await expect(failure).rejects.toThrow(message);
    // Once the input is mended, the same command runs: nothing wrong was made a run.
    expect(existsSync(join(cwd, 'runs/tiny'))).toBe(false);
  });

  it('are learnt from where some are alone, or a class is missing', async () => {
    for (const [name, notes] of [
      ['half-alone', []],
      ['no-false', ['no labelled claim is false: the veracity model learns nothing about such claims']],
    ] as const) {
      const cwd = tinyFolder({ evaluation: { beside: ['supervised'], room: false } }, files);
      const data = { protocol: 'ids', train: join(cwd, `${name}.jsonl`), tests: { held: join(cwd, 'test.jsonl') } };
      expect(await trainHere(cwd, { data })).toEqual(notes);
      const { claims, systems } = resultOf(cwd);
      expect(claims.labelled).toBe(name === 'no-false' ? 9 : 12);
      expect(systems).toEqual(['selector', 'selector-all-posts', 'untuned', 'supervised']);
    }
  });

  it('are learnt from where nothing is tested, and no other system is trained for it', async () => {
    const cwd = tinyFolder({ data: { train: 'train.jsonl' } }, files);
    const { code, out, errors } = await earshot(['train', 'tiny.yaml'], { cwd });
    expect(code, errors).toBe(0);
    expect(out).toBe('tiny: Nothing was tested, because the experiment names no `data.tests`.\n');
    expect(readFileSync(join(cwd, 'runs/tiny/report.md'), 'utf8')).toContain('\n## The last epoch\n');
    expect(errors).not.toMatch(/(random|everything|supervised): /);
    expect(resultOf(cwd)).toMatchObject({ systems: ['selector'], tests: [] });
    const compared = await earshot(['compare', 'runs/tiny/agent', 'runs/tiny/agent'], { cwd });
    expect(compared).toMatchObject({ code: 1, errors: expect.stringContaining('runs/tiny/agent tested nothing') });
  });

  it('are shown on the page as far as they can still be read', async () => {
    const cwd = tinyFolder({}, files);
    const path = join(cwd, 'train.jsonl');
    await trainHere(cwd, { data: { train: path } });
    writeFileSync(path, lines(train.slice(1)));
    const [, { blocks }] = await selectorPages([{ variant: 'agent', trials: [resultOf(cwd)] }]);
    expect(blocks).toContain(
      `Texts are missing: 1 training threads of ${cwd}/runs/tiny/agent/seed-1 are missing or were changed since (${train[0].id}), in ${path}`,
    );
    const shown = JSON.stringify(blocks);
    expect(shown).toContain(JSON.stringify(train[1].posts[0].text));
    expect(shown).not.toContain(JSON.stringify(train[0].posts[0].text));
  });
});

function resultOf(cwd: string) {
  return readSelectorResult(RunDirectory.open(join(cwd, 'runs/tiny/agent/seed-1')));
}
