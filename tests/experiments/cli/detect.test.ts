import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { columnsOf, detectionScores } from '../../../experiments/detectors/scores.ts';
import { type ScoredTask, scoredTask } from '../../../experiments/judging/gold-labels.ts';
import { loadJudgingTask } from '../../../experts/tasks/task-file.ts';
import { type Thread, threadSchema } from '../../../src/data/thread.ts';
import { startServer } from '../../experts/llm/service.ts';
import { lastMessage } from '../../llm-server/scripted-rule.ts';
import { makeThread, temporaryFolder } from '../../src/data/fixtures.ts';
import { earshot, threadLines } from './command-line.ts';

const science = scoredTask(await loadJudgingTask('checkthat4a'));

function tweet(id: string, labels: Thread['labels']): Thread {
  return threadSchema.parse({ id, labels, posts: [{ id, text: `text of ${id}` }] });
}

function scoreDetections(
  task: ScoredTask,
  detections: readonly { readonly gold: string; readonly predicted: string | null }[],
) {
  const numbers = {
    posts: 1,
    abstained: 0,
    calls: 1,
    inputTokens: 0,
    outputTokens: 0,
    cost: null,
    seconds: null,
  } as const;
  const same = {
    system: 'detector',
    item: 'x',
    event: null,
    part: 'test',
    place: { replies: 'all' },
    numbers,
  } as const;
  const texts = { explanation: '', key: '' };
  const decisions = detections.map(({ gold, predicted }) => ({
    ...same,
    texts,
    gold,
    prediction: predicted,
    probabilities: null,
  }));
  return detectionScores(columnsOf(task, decisions));
}

describe('detectionScores', () => {
  it('scores labels, what cannot be read as wrong', async () => {
    const task = scoredTask(await loadJudgingTask('rumor'));
    const scores = scoreDetections(task, [
      { gold: 'rumor', predicted: 'rumor' },
      { gold: 'rumor', predicted: null },
      { gold: 'non-rumor', predicted: 'rumor' },
      { gold: 'non-rumor', predicted: 'non-rumor' },
    ]);
    expect(scores).toMatchObject({ items: 4, unreadable: 1, accuracy: 0.5 });
    expect(scores.byLabel.rumor).toEqual({ precision: 0.5, recall: 0.5, f1: 0.5, support: 2 });
    expect(scores.byLabel['non-rumor']).toEqual({ precision: 1, recall: 0.5, f1: 2 / 3, support: 2 });
    expect(scores.macroF1).toBeCloseTo((0.5 + 2 / 3) / 2);
  });

  it('scores each category of a combination on its own', () => {
    const both = 'scientific_reference + scientific_entities';
    const scores = scoreDetections(science, [
      { gold: both, predicted: 'scientific_entities' },
      { gold: 'scientific_claim', predicted: 'scientific_claim' },
      { gold: 'none', predicted: 'scientific_claim' },
      { gold: both, predicted: null },
    ]);
    expect(scores.accuracy).toBe(0.25);
    expect(scores.byLabel).toEqual({
      scientific_claim: { precision: 0.5, recall: 1, f1: 2 / 3, support: 1 },
      scientific_reference: { precision: 0, recall: 0, f1: 0, support: 2 },
      scientific_entities: { precision: 1, recall: 0.5, f1: 2 / 3, support: 2 },
    });
    expect(scores.macroF1).toBeCloseTo(4 / 9);
  });
});

describe('scoredTask', () => {
  it('finds the gold label of each kind of task', async () => {
    const news = scoredTask(await loadJudgingTask('news'));
    expect(news.goldLabel(tweet('a', { news: 'fake' }))).toBe('fake');
    expect(news.goldLabel(tweet('a', {}))).toBe(null);
    expect(() => news.goldLabel(tweet('a', { news: 'satire' }))).toThrow(
      /"satire" for news, but the task knows real, fake/,
    );
    const veracity = scoredTask(await loadJudgingTask('veracity'));
    expect(
      veracity.goldLabel(threadSchema.parse({ id: 'a', veracity: 'unverified', posts: [{ id: 'a', text: '' }] })),
    ).toBe('unverified');
    const labels = { scientific_claim: 0, scientific_reference: '1.0', scientific_entities: true };
    expect(science.goldLabel(tweet('a', labels))).toBe('scientific_reference + scientific_entities');
    expect(science.goldLabel(tweet('a', { scientific_claim: 1 }))).toBe(null);
  });
});

describe('detect', () => {
  it('scores detectors side by side at each number of replies, and pays for nothing twice', async () => {
    // One detector is right once it has seen the second reply, and wrong before; the other says yes to all.
    const server = await startServer((body) => {
      const isRumor = /of t[02]\n<\/evidence>$/.test(lastMessage(body));
      return body.model === 'yes' || isRumor === /text 2 of/.test(lastMessage(body)) ? 'Yes' : 'No';
    });
    const prices = { inputPerMillion: 1 };
    const file = (model: string) => ({
      detector: {
        name: 'single-prompt',
        model: { name: model, baseURL: server.baseURL, model, logprobs: 'off', prices },
      },
      task: 'rumor',
    });
    const threads = Array.from({ length: 4 }, (_, index) =>
      makeThread(`t${index}`, { posts: 4, rumor: index % 2 === 0 }),
    );
    const unlabelled = makeThread('u', { rumor: null });
    const cwd = temporaryFolder({
      'threads.jsonl': [...threads, unlabelled].map((thread) => JSON.stringify(thread)).join('\n'),
      'right.yaml': file('right'),
      'yes.yaml': file('yes'),
      'news.yaml': { ...file('yes'), task: 'news' },
    });
    const words = ['detect', 'threads.jsonl', '--store', 'judged.sqlite', '--detector', 'right.yaml', 'yes.yaml'];
    const run = await earshot([...words, '--at', '0,2,all', '--json'], { cwd });
    expect(run.code, run.errors).toBe(0);
    expect(run.errors).toContain('1 threads have no label for rumor and are left out');
    const [right, yes] = JSON.parse(run.out).map(
      ({ variant, trials: [trial] }: { variant: string; trials: object[] }) => ({
        variant,
        ...trial,
      }),
    );
    expect(right).toMatchObject({ variant: 'right', task: 'rumor', asked: 12, failed: 0 });
    expect(right.at.map(({ replies, items }: { replies: unknown; items: number }) => [replies, items])).toEqual([
      [0, 4],
      [2, 4],
      ['all', 4],
    ]);
    // Of the claim alone the rule says the opposite: no rumor where there is one.
    expect(right.at[0]).toMatchObject({ accuracy: 0, macroF1: 0 });
    expect(right.at[1]).toMatchObject({ calls: 1, outputTokens: 1, brier: null });
    expect(right.at[2]).toMatchObject({ accuracy: 1, macroF1: 1, byLabel: { rumor: { f1: 1, support: 2 } } });
    expect(right.at[2].cost).toBeCloseTo(right.at[2].inputTokens / 1e6);
    expect(yes.at[2]).toMatchObject({ accuracy: 0.5, byLabel: { rumor: { recall: 1 }, 'non-rumor': { f1: 0 } } });

    const asked = server.requests.length;
    expect(yes.at[2].confusion).toEqual([
      { label: 'non-rumor', predicted: { 'non-rumor': 0, rumor: 2 }, unanswered: 0 },
      { label: 'rumor', predicted: { 'non-rumor': 0, rumor: 2 }, unanswered: 0 },
    ]);
    const [{ key, ...error }] = yes.at[2].worst;
    expect(error).toEqual({ item: 't1', label: 'non-rumor', predicted: 'rumor', confidence: null, explanation: '' });

    const table = await earshot([...words, '--at', '0,2,all', '--csv', 'judged.csv'], { cwd });
    expect(table.code, table.errors).toBe(0);
    expect(server.requests).toHaveLength(asked);
    expect(table.out).toMatch(/\nmacro-F1 by posts read +the claim alone +the claim and 2 replies +all posts\n/);
    expect(table.out).toMatch(/\nyes +0\.333 \[0\.\d{3}, 0\.\d{3}\] +0\.500 /);
    expect(table.errors).toContain('Runs: runs/detect-threads   Report: runs/detect-threads/report.md');
    expect(table.errors).toContain('Judgements beside the labels: judged.csv\n');
    const report = readFileSync(join(cwd, 'runs/detect-threads/report.md'), 'utf8');
    expect(report).toMatch(
      /\n\*\*yes\*\*, all posts:\n\n.*\n.*\n\| non-rumor +\| +0 \(0%\) \| 2 \(100%\) \|\n\| rumor +\| +0 \(0%\) \| 2 \(100%\) \|\n\n\| surest errors \|/,
    );
    expect(report).toContain(`earshot annotations show judged.sqlite ${key.slice(0, 12)}\n`);
    const rows = readFileSync(join(cwd, 'judged.csv'), 'utf8').trimEnd().split('\n');
    expect(rows).toHaveLength(1 + 2 * 3 * 4);
    expect(rows[0]).toMatch(/^detector,replies,thread,event,true,predicted,right,posts,calls,.*,key,explanation,text$/);
    expect(rows.at(-1)).toMatch(/^yes,all,t3,[^,]*,non-rumor,rumor,0,4,1,\d+,1,0\.\d+,.*,text 0 of t3$/);

    const mixed = await earshot(['detect', 'threads.jsonl', '--detector', 'right.yaml', 'news.yaml'], { cwd });
    expect(mixed).toMatchObject({ code: 1 });
    expect(mixed.errors).toContain('right.yaml decides rumor and news.yaml decides news');
    const none = await earshot(['detect', 'threads.jsonl', '--detector', 'news.yaml'], { cwd });
    expect(none.errors).toContain('none of the 5 threads has a label for news');
    const labelled = { ...makeThread('a', { posts: 1 }), labels: { veracity: 'fake' } };
    writeFileSync(join(cwd, 'articles.jsonl'), JSON.stringify(labelled));
    const other = await earshot(['detect', 'articles.jsonl', '--detector', 'news.yaml'], { cwd });
    expect(other.errors.replaceAll('\n', ' ')).toContain('has a label for news, they have labels for veracity; give');
  });

  it('draws a part with each label in proportion, and says how many threads each class has', async () => {
    const server = await startServer(() => 'No');
    // As in PHEME, the first half of the file is of one class.
    const threads = Array.from({ length: 40 }, (_, index) => makeThread(`t${index}`, { posts: 1, rumor: index >= 20 }));
    const model = { baseURL: server.baseURL, model: 'm' };
    const cwd = temporaryFolder({
      'threads.jsonl': threads.map((thread) => JSON.stringify(thread)).join('\n'),
      'half.jsonl': threads
        .slice(0, 20)
        .map((thread) => JSON.stringify(thread))
        .join('\n'),
      'no.yaml': { detector: { name: 'single-prompt', model }, task: 'rumor' },
    });
    const words = (file: string, ...more: string[]) => ['detect', file, '--detector', 'no.yaml', '--at', '0', ...more];
    const asked = async (...more: string[]) => {
      const before = server.requests.length;
      const run = await earshot(words('threads.jsonl', '--limit', '10', ...more), { cwd });
      expect(run.code, run.errors).toBe(0);
      const posts = server.requests.slice(before).map(({ body }) => lastMessage(body));
      return { ...run, posts: posts.sort() };
    };
    const first = await asked();
    expect(first.out).toMatch(/\nno +0\.333 \[0\.\d{3}, 0\.\d{3}\] +0\.500 /);
    expect(readFileSync(join(cwd, 'runs/detect-threads/report.md'), 'utf8')).toContain('non-rumor 5, rumor 5');
    expect(first.posts).toHaveLength(10);
    // The same threads, whose answers are kept; another seed draws others.
    expect((await asked()).posts).toEqual([]);
    expect((await asked('--seed', '2')).posts).not.toEqual([]);

    // More than there are is all of them.
    const half = await earshot(words('half.jsonl', '--limit', '30'), { cwd });
    expect(half.code, half.errors).toBe(0);
    expect(readFileSync(join(cwd, 'runs/detect-half/report.md'), 'utf8')).toMatch(/20 items .*non-rumor 20/);
  });

  it('stops at a budget, and goes on with a larger one from what was answered', async () => {
    const server = await startServer();
    const file = { detector: { name: 'single-prompt', model: { baseURL: server.baseURL, model: 'm' } }, task: 'rumor' };
    const cwd = temporaryFolder({
      'threads.jsonl': JSON.stringify(makeThread('t', { posts: 4, rumor: true })),
      'yes.yaml': file,
    });
    const words = ['detect', 'threads.jsonl', '--detector', 'yes.yaml', '--at', '0,1,2', '--budget-requests'];
    const spent = await earshot([...words, '2'], { cwd });
    expect(spent.code).toBe(2);
    expect(spent.errors).toMatch(/is spent [\s\S]*\n1 prefixes are not judged yet; what was answered is kept/);
    expect(server.requests).toHaveLength(2);
    expect((await earshot([...words, '3'], { cwd })).code).toBe(0);
    expect(server.requests).toHaveLength(3);
  });

  it('counts at each number of replies what a judgement takes with the parts that it shares, asked now or before', async () => {
    const server = await startServer((body) => {
      const { content } = body.messages[0];
      if (content.includes('JSON Schema')) return JSON.stringify({ reason: 'r', score: 0.5 });
      return lastMessage(body).includes('Yes or No') ? 'No' : 'So.\nrumor';
    });
    const model = { baseURL: server.baseURL, model: 'tiny' };
    const cwd = temporaryFolder({
      'threads.jsonl': [0, 1]
        .map((index) => JSON.stringify(makeThread(`t${index}`, { posts: 4, rumor: true })))
        .join('\n'),
      's2mad.yaml': JSON.stringify({
        detector: { name: 's2mad', models: { supporter: model }, rounds: 1 },
        task: 'rumor',
      }),
    });
    const words = [
      'detect',
      'threads.jsonl',
      '--store',
      'judged.sqlite',
      '--detector',
      's2mad.yaml',
      '--at',
      '0,2,all',
      '--json',
    ];
    const callsAt = async () => {
      const run = await earshot(words, { cwd });
      expect(run.code, run.errors).toBe(0);
      return JSON.parse(run.out)[0].trials[0].at.map(({ calls }: { calls: number }) => calls);
    };
    // A score a comment + 1 + 2 + 2 · 1, no judge.
    expect(await callsAt()).toEqual([5, 7, 8]);
    const asked = server.requests.length;
    expect(await callsAt()).toEqual([5, 7, 8]);
    expect(server.requests).toHaveLength(asked);
  });
});

describe('detect --train', () => {
  const quick = ['--set', 'folds=2', '--set', 'characterWeights=[1]', '--set', 'l2=[0.003]'];

  it('tests the local detector on labels that texts tell, and on those that they do not', async () => {
    const telling = threadLines(40).trim().split('\n');
    const cwd = temporaryFolder({
      'telling.jsonl': telling.join('\n'),
      // The labels go on, the texts do not.
      'mute.jsonl': telling.map((line, index) => line.replace(/"rumor":\w+/, `"rumor":${index % 4 > 1}`)).join('\n'),
    });
    const told = await earshot(['detect', 'telling.jsonl', '--train', ...quick], { cwd });
    expect(told.code, told.errors).toBe(0);
    expect(told.out).toContain('The local detector, cross-validated over 40 threads labelled for rumor');
    expect(told.out).toMatch(/all posts +1\.000 +1\.000 +1\.000\n/);
    expect(told.out).toContain('The detector tells the labels apart better than guessing.');
    const drawn = ['--limit', '20', '--json', ...quick];
    const run = await earshot(['detect', 'mute.jsonl', '--train', ...drawn], { cwd });
    const { heldOut } = JSON.parse(run.out);
    expect(heldOut.support).toEqual({ 'non-rumor': 10, rumor: 10 });
    const mute = await earshot(['detect', 'mute.jsonl', '--train', ...quick], { cwd });
    expect(mute.out.replaceAll(/\s+/g, ' ')).toMatch(/The detector .*; no stopping rule can help\. Next: label more/);
  });

  it('takes no detector beside it, and what is its own is for it alone', async () => {
    const cwd = temporaryFolder({ 'threads.jsonl': threadLines(4) });
    const errors = async (...words: string[]) => (await earshot(['detect', 'threads.jsonl', ...words], { cwd })).errors;
    expect(await errors('--train', '--detector', 'a.json')).toContain(
      "option '--train' cannot be used with option '--detector <file...>'",
    );
    for (const [option, value] of Object.entries({ '--set': 'folds=2', '--task': 'rumor' }))
      expect(await errors('--detector', 'a.json', option, value)).toMatch(
        new RegExp(`^error: option '${option} .*' cannot be used with option '--detector <file\\.\\.\\.>'`),
      );
    expect(await errors('--train', '--set', 'l3=1')).toContain('l3: unknown key; did you mean l2?');
    expect(await errors()).toMatch(/^earshot: no detector is named; give --detector <file>, or --train /);
  });
});
