import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { resolveDetectorsExperiment } from '../../../experiments/detectors/experiment.ts';
import { startServer } from '../../experts/llm/service.ts';
import { lastMessage } from '../../llm-server/scripted-rule.ts';
import { makeThread, temporaryFolder } from '../../src/data/fixtures.ts';
import { earshot } from '../cli/command-line.ts';

const threads = Array.from({ length: 24 }, (_, index) =>
  makeThread(`t${index}`, { posts: 4, rumor: index % 2 === 0, event: index < 12 ? 'a' : 'b' }),
);

/** Three models behind one address: one is right from the second reply on, one says yes, one cannot be read of the first post. */
async function folder(more: object = {}) {
  const server = await startServer((body) => {
    const asked = lastMessage(body);
    const isRumor = / of t\d*[02468]\n/.test(asked);
    if (body.model === 'yes') return 'Yes';
    if (body.model === 'mumbles') return /text 2 of/.test(asked) ? 'Yes' : 'Who knows?';
    return isRumor === /text 2 of/.test(asked) ? 'Yes' : 'No';
  });
  const endpoint = (model: string) => ({
    baseURL: server.baseURL,
    model,
    prices: { inputPerMillion: 1 },
    logprobs: 'off',
  });
  const experiment = {
    kind: 'detectors',
    name: 'panel',
    data: { threads: 'threads.jsonl' },
    endpoints: { right: endpoint('right'), yes: endpoint('yes'), mumbles: endpoint('mumbles') },
    detector: { name: 'single-prompt', model: 'right' },
    replies: [0, 2],
    variants: { right: {}, yes: { detector: { model: 'yes' } } },
    ...more,
  };
  const cwd = temporaryFolder({
    'threads.jsonl': threads.map((thread) => JSON.stringify(thread)).join('\n'),
    'panel.yaml': experiment,
  });
  return { server, cwd, read: (...path: string[]) => readFileSync(join(cwd, 'runs', ...path), 'utf8') };
}

describe('train, of detectors', () => {
  it('judges all on the same items, pays for nothing twice, and shows them side by side', async () => {
    const { server, cwd, read } = await folder();
    const run = await earshot(['train', 'panel.yaml'], { cwd, page: true });
    expect(run.code, run.errors).toBe(0);
    expect(run.out).toMatch(/\n\ndetector +macro-F1 +accuracy +calls +tokens in +tokens out +money\n/);
    expect(run.out).toMatch(/\nright +1\.000 \[0\.858, 1\.000\] +1\.000 +1\.0 /);
    expect(run.out).toMatch(/\nyes +0\.333 \[0\.\d{3}, 0\.\d{3}\] +0\.500 /);
    expect(run.out.replaceAll('\n', ' ')).toContain(
      'panel: right is the best of 2 detectors, measurably better than every other: a macro-F1 of 1.000',
    );
    expect(server.requests).toHaveLength(2 * 2 * 24);
    const [decision] = read('panel/right/seed-1/decisions.jsonl')
      .split('\n')
      .map((line) => line && JSON.parse(line));
    expect(decision).toMatchObject({
      item: 't0',
      place: { replies: 0 },
      gold: 'rumor',
      prediction: 'non-rumor',
      numbers: { posts: 1, calls: 1 },
    });
    expect(decision.numbers.cost).toBeCloseTo(decision.numbers.inputTokens / 1e6);
    const report = read('panel/report.md');
    expect(report).toMatch(/24 items of the test part for rumor \(labels: non-rumor 12, rumor 12\), seed 1/i);
    expect(report).toContain('| macro-F1 by posts read |');
    expect(report).toMatch(/\| \*\*right\*\* +\| yes +\| \+0\.667 \[\+0\.\d{3}, \+0\.\d{3}\], p = 0\.00\d/);
    const page = read('panel/report.html');
    const [, data] = /id="page-data">(.*?)<\/script>/s.exec(page) ?? [];
    const { labels, rows } = JSON.parse(data).transcripts;
    // What is wrong comes first.
    expect(rows[0].gold).not.toBe(rows[0].answer);
    expect(rows.at(-1)).toMatchObject({ gold: rows.at(-1).answer, text: expect.stringMatching(/^text 0 of/) });
    expect(rows[0].rounds[0].turns[0]).toMatchObject({
      vote: labels[rows[0].answer],
      took: expect.stringMatching(/1 request/),
    });
    expect(page).toContain('Where they disagree');
    expect(page.includes('text 0 of t1')).toBe(true);

    // The same again asks nothing, even where the runs are gone.
    const again = await earshot(['train', 'panel.yaml', '--restart', '--no-html', '--json'], { cwd });
    expect(server.requests).toHaveLength(2 * 2 * 24);
    const [right] = JSON.parse(again.out);
    expect(right).toMatchObject({ variant: 'right', trials: [{ seed: 1, asked: 0, cached: 48 }] });
    expect(right.trials[0].at[1]).toMatchObject({
      replies: 2,
      macroF1: 1,
      calibrationError: null,
      byLabel: { rumor: { f1: 1 } },
    });

    const compared = await earshot(['compare', 'runs/panel/right', 'runs/panel/yes', '--html'], { cwd });
    expect(compared.code, compared.errors).toBe(0);
    expect(compared.out).toMatch(
      /After the claim and 2 replies, 24 decisions paired, of 1 seed\n\n.*\n─+\nmacro-F1 +\+0\.6667 /,
    );
    expect(readFileSync(join(cwd, 'comparison.html'), 'utf8')).toContain('12 items on which they differ');
    const shown = await earshot(['report', 'runs/panel/yes'], { cwd });
    expect(shown.out).toContain('yes has a macro-F1 of 0.333');
    expect(shown.out.replaceAll(/\s+/g, ' ')).toContain('not measurably more than always predicting');
  });

  it('shows each detector after the most replies, in whatever order they are named, and says where that differs', async () => {
    const { cwd, read } = await folder({
      split: { test: 12 },
      replies: ['all', 0],
      variants: { right: {}, early: { replies: [1, 0] } },
    });
    const { code, out, errors } = await earshot(['train', 'panel.yaml', '--no-html'], { cwd });
    expect(code, errors).toBe(0);
    expect(out).toMatch(/\nright +1\.000 .*\nearly +0\.\d/);
    expect(out).toMatch(/\nmacro-F1 by posts read +the claim alone +the claim and 1 reply +all posts\n/);
    expect(out.replaceAll('\n', ' ')).toContain(
      'different numbers of posts: right after all posts; early after the claim and 1 reply. Give all variants',
    );
    expect(JSON.parse(read('panel/report.json')).results[0].trials[0].at).toMatchObject([
      { replies: 0 },
      { replies: 'all', macroF1: 1 },
    ]);
  });

  it('names no leader where all score the same', async () => {
    const { cwd } = await folder({ split: { test: 8 } });
    const alike = ['--set', 'variants.right.detector.model=yes'];
    const { out, errors } = await earshot(['train', 'panel.yaml', '--no-html', ...alike], { cwd });
    expect(out.replaceAll('\n', ' '), errors).toMatch(
      /^panel: All 2 detectors have the same macro-F1, so these items do not show which is best: a macro-F1 of 0\.333/,
    );
    expect(out.replaceAll('\n', ' ')).toContain('Warning: 8 items are too few for a bootstrap');
  });

  it('stops at a budget for all its detectors, and goes on with a larger one', async () => {
    const { server, cwd } = await folder();
    const careful = ['--set', 'concurrency=1', '--set', 'maxUnreadable=0.4'];
    const first = await earshot(['train', 'panel.yaml', '--set', 'budget.requests=60', ...careful], { cwd });
    expect(first.code).toBe(2);
    expect(first.errors).toContain('budget of 60 requests');
    expect(server.requests).toHaveLength(60);
    const second = await earshot(['train', 'panel.yaml', '--set', 'budget.requests=96', ...careful], { cwd });
    expect(second.code, second.errors).toBe(0);
    expect(readdirSync(join(cwd, 'runs')).sort()).toEqual(['cache', 'panel']);
    expect(server.requests).toHaveLength(96);
  });

  it('counts what cannot be read as wrong and says so, and tests on other events than it trains on', async () => {
    const { cwd, read } = await folder({
      task: 'rumor',
      split: { train: 12, testEvents: ['b'] },
      replies: [0],
      variants: {
        mumbles: { detector: { model: 'mumbles' } },
        local: { detector: { name: 'local', l2: [0.001], folds: 2 } },
      },
    });
    const run = await earshot(['train', 'panel.yaml', '--no-html'], { cwd });
    expect(run.code, run.errors).toBe(0);
    expect(run.errors).toContain('could not be read and count as wrong');
    expect(run.out).toContain('Warning: Without an answer, which counts as wrong: mumbles 12 of 12.');
    const parts = JSON.parse(read('panel/local/seed-1/parts.json')).parts;
    expect(parts.test.map(({ id }: { id: string }) => id)).toEqual(threads.slice(12).map(({ id }) => id));
    expect(parts.train).toHaveLength(12);
    const [decision] = read('panel/local/seed-1/decisions.jsonl')
      .split('\n')
      .map((line) => line && JSON.parse(line));
    expect(decision.probabilities.rumor + decision.probabilities['non-rumor']).toBeCloseTo(1);
  });

  it('is swept on the development part, and tests the leader', async () => {
    const { cwd } = await folder();
    const sweep = {
      kind: 'sweep',
      name: 'which',
      experiment: 'panel.yaml',
      variant: 'right',
      settings: { split: { development: 8, seed: null }, replies: [2], seeds: [1, 2] },
      seeds: [1, 2],
      space: { 'detector.model': ['right', 'yes'] },
    };
    writeFileSync(join(cwd, 'sweep.yaml'), JSON.stringify(sweep));
    const run = await earshot(['sweep', 'sweep.yaml'], { cwd });
    expect(run.code, run.errors).toBe(0);
    expect(run.out).toMatch(/model=right +1\.000/);
    expect(readFileSync(join(cwd, 'runs/which/report.md'), 'utf8')).toMatch(/model=right/);
  });
});

describe('an experiment file on detectors', () => {
  const resolve = (more: object) => () =>
    resolveDetectorsExperiment({ kind: 'detectors', name: 'x', split: { train: 10 }, ...more }, 'x.yaml');

  it('is refused with what is wrong in it', () => {
    expect(resolve({})().detector).toMatchObject({ name: 'local', folds: 5 });
    expect(resolve({ split: {} })).toThrow(/split\.train: a local detector is trained here; give it threads/);
    expect(resolve({ task: 'news' })).toThrow(/task: a local detector decides rumor, veracity, rumor-veracity/);
    expect(resolve({ detector: { name: 's2mad', models: { supporter: 'm' }, round: 3 } })).toThrow(
      /detector\.round: unknown key; did you mean rounds\?/,
    );
    expect(resolve({ evaluation: { part: 'development' } })).toThrow(/set split\.development/);
    expect(resolve({ replies: [0, 0] })).toThrow(/stands there twice/);
  });
});
