import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { synthesizeThreads } from '../../src/data/synthetic/stream.ts';
import { earshot, threadLines, writeExperiment } from '../experiments/cli/command-line.ts';
import { startServer } from '../experts/llm/service.ts';
import type { ScriptedLlmServer } from '../llm-server/scripted-llm-server.ts';
import { lastMessage, type ScriptedRule } from '../llm-server/scripted-rule.ts';
import { temporaryFolder } from '../src/data/fixtures.ts';

const train = ['train', 'judged-by-models.yaml'];

/** 40 threads of 4 posts whose words tell the label; the model says what they tell. */
async function setUp(options: { rule?: ScriptedRule; detector?: Record<string, unknown>; task?: string } = {}) {
  const {
    rule = (body) => (/fake hoax/.test(lastMessage(body)) ? 'Yes' : 'No'),
    detector = {},
    task = 'rumor',
  } = options;
  const server: ScriptedLlmServer = await startServer(rule);
  const model = { name: 'scripted', baseURL: server.baseURL, model: 'tiny', logprobs: 'off' };
  const file = { detector: { name: 'single-prompt', model }, task, retry: { maxAttempts: 1 } };
  const cwd = temporaryFolder({ 'threads.jsonl': threadLines(40), 'prompt.yaml': JSON.stringify(file) });
  writeExperiment(join(cwd, 'judged-by-models.yaml'), {
    name: 'judged',
    data: { threads: 'threads.jsonl' },
    split: { demonstrations: 12, environment: 8, test: 16 },
    detector: { file: 'prompt.yaml', ...detector },
  });
  return { server, cwd };
}

describe('train with the judgements of language models', () => {
  it('asks about every prefix of demonstration and test threads once, trains, and evaluates without asking again', async () => {
    const { server, cwd } = await setUp();
    const first = await earshot(train, { cwd, page: true });
    expect(first.code, first.errors).toBe(0);
    // No thread is set aside for a detector that is not trained here.
    const report = readFileSync(join(cwd, 'runs/judged/report.md'), 'utf8');
    expect(report).toContain('threads: detector 0, demonstrations 12, environment 8, test 16 ');
    // All texts of a label are alike, so that the prefixes of 28 threads are 2 · 4 different questions.
    expect(server.requests).toHaveLength(8);
    expect(report).toMatch(/\| all posts +\| +1\.000/);
    const run = join(cwd, 'runs/judged/agent/seed-1');
    expect(existsSync(join(run, 'detector.json'))).toBe(false);
    expect(JSON.parse(readFileSync(join(run, 'run.json'), 'utf8')).hashes.detector).toMatch(/^[0-9a-f]{64}$/);

    const evaluate = ['evaluate', run, '--data', 'threads.jsonl', '--include-trained', '--json'];
    const evaluated = await earshot(evaluate, { cwd });
    expect(evaluated.code, evaluated.errors).toBe(0);
    expect(JSON.parse(evaluated.out)).toMatchObject({ threads: 40 });

    // The page has what was said before the judgement at the stop of each thread.
    const page = readFileSync(join(cwd, 'runs/judged/report.html'), 'utf8');
    const [, data] = /id="page-data">(.*?)<\/script>/s.exec(page) ?? [];
    const { labels, views } = JSON.parse(data).inspector;
    expect(views[0].rows).toHaveLength(16);
    for (const { debates, stops, answers } of views[0].rows) {
      expect(debates).toHaveLength(1);
      const [{ posts, answer, rounds }] = debates;
      expect([posts, answer]).toEqual([stops[0] + 1, answers[0]]);
      expect(rounds.at(-1).turns.at(-1)).toMatchObject({
        text: labels[answer] === 'rumor' ? 'Yes' : 'No',
        vote: labels[answer],
      });
    }
    expect(server.requests).toHaveLength(8);
  });

  it('calibrates after saying what that costs, and with --dry-run sends nothing', async () => {
    const { server, cwd } = await setUp();
    await earshot(train, { cwd });
    const trained = server.requests.length;
    const short = synthesizeThreads({ threads: 50, seed: 9, minPosts: 3, typicalPosts: 4, maxPosts: 6 });
    const old = short.map((thread) => ({ ...thread, id: `old-${thread.id}` }));
    writeFileSync(join(cwd, 'old.jsonl'), old.map((thread) => `${JSON.stringify(thread)}\n`).join(''));
    const calibrate = ['calibrate', 'runs/judged/agent/seed-1', '--threads', 'old.jsonl', '--quiet', '0'];
    const dry = await earshot([...calibrate, '--dry-run'], { cwd });
    expect(dry.code, dry.errors).toBe(0);
    expect(dry.errors).toContain('Nothing was sent, and no guarantee was written.');
    const [cost, prefixes] =
      /(\d+) prefixes to query; scripted \(tiny\): \1 to \d+ calls, about/.exec(dry.errors) ?? [];
    expect(server.requests).toHaveLength(trained);
    const found = await earshot(calibrate, { cwd });
    expect(found.code, found.errors).toBe(0);
    expect(found.errors).toContain(cost);
    expect(server.requests).toHaveLength(trained + Number(prefixes));
  });

  it('reads the judgements that annotate left in a store', async () => {
    const { server, cwd } = await setUp({ detector: { annotations: 'judged.sqlite' } });
    await earshot(['annotate', 'threads.jsonl', '--store', 'judged.sqlite', '--detector', 'prompt.yaml'], { cwd });
    const asked = server.requests.length;
    const trained = await earshot(train, { cwd });
    expect(trained.code, trained.errors).toBe(0);
    expect(server.requests).toHaveLength(asked);
  });

  it('waits for an endpoint as long as --max-wait says, in this process or in others', async () => {
    const rule: ScriptedRule = () => ({ status: 429, headers: { 'retry-after': '9' } });
    const { cwd } = await setUp({ rule });
    for (const more of [[], ['--jobs', '2', '--seeds', '1,2']]) {
      const stopped = await earshot([...train, ...more, '--max-wait', '0.1', '--restart'], { cwd });
      expect(stopped.code).toBe(2);
      expect(stopped.errors).toMatch(/a run waits 0\.1 s at most/);
    }
  });

  it('stops at the end of a budget, keeps what was answered and goes on from there', async () => {
    const { server, cwd } = await setUp();
    const path = join(cwd, 'prompt.yaml');
    const file = JSON.parse(readFileSync(path, 'utf8'));
    writeFileSync(path, JSON.stringify({ ...file, budget: { requests: 3 } }));
    const stopped = await earshot(train, { cwd });
    expect(stopped.code).toBe(2);
    expect(stopped.errors).toMatch(
      /the budget of 3 requests is spent.*\n.*3 answers in 3 requests.*\n\d+ prefixes are not judged yet; what was answered is kept/,
    );
    expect(server.requests).toHaveLength(3);
    writeFileSync(path, JSON.stringify(file));
    expect((await earshot(train, { cwd })).code).toBe(0);
    expect(server.requests).toHaveLength(8);
  });

  it('does not train on what could not be judged unless told to', async () => {
    const refusing: ScriptedRule = (body) =>
      /fake hoax/.test(lastMessage(body)) ? { status: 400, message: 'refused' } : 'No';
    const { cwd } = await setUp({ rule: refusing });
    const stopped = await earshot(train, { cwd });
    expect(stopped.code).toBe(2);
    expect(stopped.errors).toMatch(
      /prefixes could not be judged \(the first: thread t\d+, \d posts: .*refused.*detector\.failures=neither-label/,
    );
    const trained = await earshot([...train, '--set', 'detector.failures=neither-label'], { cwd });
    expect(trained.code, trained.errors).toBe(0);
    expect(trained.errors).toMatch(/prefixes could not be judged and count as neither label/);
  });

  it('refuses a task with other labels, and a key that neither kind of detector has', async () => {
    const { cwd } = await setUp({ task: 'news' });
    const other = await earshot(train, { cwd });
    expect(other.code).toBe(1);
    expect(other.errors).toMatch(
      /prompt\.yaml judges the task news, whose labels are .*needs the labels non-rumor, rumor/,
    );
    const misspelt = await earshot([...train, '--set', 'detector.fil=x'], { cwd });
    expect(misspelt.code).toBe(1);
    expect(misspelt.errors).toMatch(/detector\.fil: unknown key; did you mean file\?/);
  });
});
