import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { loadPolicy } from '../../../checkpoints/policy/load-policy.ts';
import { runCommandLine } from '../../../experiments/cli/main.ts';
import { shareWork } from '../../../experiments/run/line-processes.ts';
import { synthesizeThreads } from '../../../src/data/synthetic/stream.ts';
import type { Thread } from '../../../src/data/thread.ts';
import { startServer } from '../../experts/llm/service.ts';
import type { ScriptedRule } from '../../llm-server/scripted-rule.ts';
import { smallServer } from '../serve/small-server.ts';
import { earshot, tiny, writeExperiment } from './command-line.ts';

const run = 'runs/tiny/agent/seed-1';
const bundle = 'bundle';
const unlabelled = (thread: Thread): Thread => ({ ...thread, rumor: null, veracity: null });
/** Threads that the run has not seen, and all of those that its parts were drawn from. */
const fresh = synthesizeThreads({ threads: 6, seed: 2 }).map(unlabelled);
const own = synthesizeThreads(tiny.data.synthetic).map(unlabelled);
const lines = (threads: readonly Thread[]) => threads.map((thread) => `${JSON.stringify(thread)}\n`).join('');
const parsed = (out: string) => out.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));

let cwd: string;
const decide = (...words: string[]) => earshot(['decide', ...words], { cwd });

beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'earshot-decide-'));
  writeFileSync(join(cwd, 'fresh.jsonl'), lines(fresh));
  writeFileSync(join(cwd, 'own.jsonl'), lines(own));
  writeExperiment(join(cwd, 'tiny.yaml'));
  const trained = await earshot(['train', 'tiny.yaml'], { cwd });
  expect(trained.code, trained.errors).toBe(0);
  const exported = await earshot(['export', run, '--out', bundle], { cwd });
  expect(exported.code, exported.errors).toBe(0);
});
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

describe('decide, in several processes', () => {
  it('writes the same lines in the same order with any number, for a run and a bundle', async () => {
    const many = synthesizeThreads({ threads: 60, seed: 3 }).map(unlabelled);
    writeFileSync(join(cwd, 'many.jsonl'), lines([...many, ...own.slice(0, 3)]));
    for (const [policy, jobs] of [
      [run, '3'],
      [bundle, '2'],
    ]) {
      const words = ['many.jsonl', '--policy', policy];
      const alone = await decide(...words, '--jobs', '1');
      expect(
        parsed(alone.out)
          .slice(0, 60)
          .map(({ threadId }) => threadId),
      ).toEqual(many.map(({ id }) => id));
      expect(await decide(...words, '--jobs', jobs)).toEqual(alone);
    }
  });

  it('fails with the words of a process that ends', async () => {
    const words = ['decide', '--policy', join(cwd, 'none')];
    const never = { here: () => new Promise<never>(() => {}), onAnswer: () => {} };
    await expect(shareWork([1, 2, 3], { jobs: 2, words, ...never })).rejects.toThrow(/^there is no .*none/);
    const both = await decide('many.jsonl', '--policy', run, '--jobs', '2', '--audit', '10%');
    expect(both.errors).toMatch(/option '--jobs <count>' cannot be used with option '--audit <share>'/);
  });
});

describe('decide, with a detector on language models', () => {
  /** Says no at once, and yes late, so that answers come out of order. */
  async function setUp(rule: ScriptedRule) {
    const server = await startServer(rule);
    const model = { name: 'scripted', baseURL: server.baseURL, model: 'tiny', logprobs: 'off' };
    const file = { detector: { name: 'single-prompt', model }, task: 'rumor', retry: { maxAttempts: 1 } };
    const name = `detector-${server.baseURL.replace(/\D/g, '')}`;
    writeFileSync(join(cwd, `${name}.yaml`), JSON.stringify(file));
    return { server, words: ['fresh.jsonl', '--detector', `${name}.yaml`, '--store', `${name}.sqlite`] };
  }

  it.each([
    ['a run', '--policy', run],
    ['a bundle', '--policy', bundle],
  ])('asks it once a thread, about the posts seen at the stop, and nothing twice (%s)', async (_, ...agent) => {
    const isLate = (text: string) => text.includes(fresh[0].posts[0].text.slice(0, 20));
    const { server, words } = await setUp(({ messages: [{ content }] }) =>
      isLate(content) ? { text: 'Yes', delayMs: 50 } : 'No',
    );
    const plain = parsed((await decide('fresh.jsonl', ...agent)).out);
    const judged = await decide(...words, ...agent);
    expect(judged.code, judged.errors).toBe(0);
    const decisions = parsed(judged.out);
    expect(server.requests).toHaveLength(fresh.length);
    for (const [index, decision] of decisions.entries()) {
      const label = index === 0 ? 'rumor' : 'non-rumor';
      const { prediction: __, ...others } = plain[index];
      expect(decision).toMatchObject({ ...others, prediction: { label }, predictionMissing: null, queries: 1 });
      const asked = server.requests.map(({ body }) => body.messages[0].content);
      const shown = fresh[index].posts.slice(0, decision.postsUsed);
      expect(asked.some((text) => shown.every((post, place) => text.includes(`${place + 1}. ${post.text}`)))).toBe(
        true,
      );
    }
    expect((await decide(...words, ...agent)).out).toBe(judged.out);
    expect(server.requests).toHaveLength(fresh.length);
  });

  it('gives every decision and names the predictions that are missing', async () => {
    const { server, words } = await setUp(({ messages: [{ content }] }) =>
      content.includes(fresh[1].posts[0].text.slice(0, 20)) ? 'hm' : 'No',
    );
    const { code, out, errors } = await decide(...words, '--policy', run);
    const decisions = parsed(out);
    expect(decisions).toHaveLength(fresh.length);
    const missing = decisions.filter(({ prediction }) => prediction === null);
    expect(missing.length).toBeGreaterThan(0);
    expect(missing[0].predictionMissing).toMatch(/answered twice with something other than Yes or No/);
    expect([code, errors]).toEqual([
      2,
      expect.stringMatching(new RegExp(`${missing.length} predictions could not be had`)),
    ]);
    expect(server.requests.length).toBeLessThanOrEqual(2 * fresh.length);
    const other = await decide('fresh.jsonl', '--policy', run, '--detector', join(cwd, 'none.yaml'));
    expect([other.code, other.errors]).toEqual([1, expect.stringContaining('none.yaml')]);
  });

  it('stops asking where the budget is spent, and still decides', async () => {
    const { server, words } = await setUp(() => 'No');
    const { code, out, errors } = await decide(...words, '--policy', run, '--budget-requests', '2');
    expect(server.requests).toHaveLength(2);
    expect(parsed(out)).toHaveLength(fresh.length);
    expect([code, errors]).toEqual([2, expect.stringMatching(new RegExp(`${fresh.length - 2} predictions .*budget`))]);
  });

  it('waits for an endpoint as long as --max-wait says', async () => {
    const { words } = await setUp(() => ({ status: 429, headers: { 'retry-after': '9' } }));
    const { code, errors } = await decide(...words, '--policy', run, '--max-wait', '0.1');
    expect([code, errors]).toEqual([2, expect.stringContaining('a run waits 0.1 s at most')]);
  });
});

describe('decide', () => {
  it('says of each unlabelled thread where the agent stops, how sure it was, and what the detector says', async () => {
    const { code, out, errors } = await decide('fresh.jsonl', '--policy', run);
    expect({ code, errors }).toEqual({ code: 0, errors: '' });
    const decisions = parsed(out);
    expect(decisions.map(({ threadId }) => threadId)).toEqual(fresh.map(({ id }) => id));
    for (const [index, decision] of decisions.entries()) {
      const { posts } = fresh[index];
      const { postsUsed, scores, prediction } = decision;
      const first = scores.findIndex((score: number) => score > 0.5);
      expect(scores).toHaveLength(postsUsed);
      expect(decision).toMatchObject({
        post: posts[postsUsed - 1].id,
        time: posts[postsUsed - 1].time,
        stopped: first >= 0,
        why: first >= 0 ? 'threshold' : 'end',
        posts: posts.length,
        earliness: postsUsed / posts.length,
        queries: 1,
      });
      expect(postsUsed).toBe(first >= 0 ? first + 1 : posts.length);
      const { label, probabilities } = prediction;
      expect(probabilities[label]).toBe(Math.max(...Object.values<number>(probabilities)));
    }
  });

  it('decides the same by a bundle as by its run', async () => {
    const [ofRun, ofBundle] = [
      await decide('fresh.jsonl', '--policy', run),
      await decide('fresh.jsonl', '--policy', bundle),
    ];
    const [first, second] = [parsed(ofRun.out), parsed(ofBundle.out)];
    expect(first).toHaveLength(fresh.length);
    expect(second).toEqual(first);
  });

  it('decides what comes on standard input as it comes, a thread again when it has grown', async () => {
    const stdin = new PassThrough();
    const chunks: string[] = [];
    const collected = new PassThrough({ encoding: 'utf8' }).on('data', (text) => chunks.push(text));
    const outcome = runCommandLine({
      words: ['decide', '--policy', join(cwd, bundle)],
      stdin,
      stdout: collected,
      stderr: new PassThrough(),
      interruptSignal: () => new AbortController().signal,
      onHangUp: () => () => {},
    });
    const [thread] = fresh;
    stdin.write(lines([{ ...thread, posts: thread.posts.slice(0, 1) }]));
    await vi.waitUntil(() => chunks.length === 1, { interval: 5, timeout: 100_000 });
    stdin.end(lines([thread]));
    expect(await outcome).toBe(0);
    expect(parsed(chunks.join('')).map(({ posts }) => posts)).toEqual([1, thread.posts.length]);
  });

  it('leaves out threads that the agent learnt from, and says so', async () => {
    for (const [policy, folder] of [
      [run, `${run}/policy`],
      [bundle, bundle],
    ]) {
      const agent = ['--policy', policy];
      const left = await decide('own.jsonl', ...agent);
      expect(left.errors).toBe(
        `earshot: ${folder} was trained on 44 of the 60 threads; they are left out (--include-trained keeps them)\n`,
      );
      expect(parsed(left.out)).toHaveLength(16);
      const kept = await decide('own.jsonl', ...agent, '--include-trained');
      expect(kept.errors).toContain('was trained on 44 of the 60 threads; they are not left out');
      expect(parsed(kept.out)).toHaveLength(60);
      const learnt = parsed(kept.out).filter(({ trainedOn }) => trainedOn);
      expect(learnt).toHaveLength(44);
      expect(parsed(left.out).every(({ trainedOn }) => trainedOn === false)).toBe(true);
    }
  });

  it('are known in Node and over HTTP, too: lists leave them out, and single threads say so', async () => {
    const kept = parsed((await decide('own.jsonl', '--policy', bundle, '--include-trained')).out);
    const marks = kept.map(({ trainedOn }) => trainedOn);
    const folder = join(cwd, bundle);
    const policy = await loadPolicy({ read: (name) => readFile(join(folder, name)) });
    const inNode = await Promise.all(own.map((thread) => policy.decide(thread)));
    expect(inNode.map(({ trainedOn }) => trainedOn)).toEqual(marks);
    expect((await policy.decide({ posts: own[0].posts })).trainedOn).toBeNull();
    expect(await Promise.all(own.map((thread) => policy.isTrainedOn(thread)))).toEqual(marks);

    const server = await smallServer({ bundles: { small: folder } });
    const threads = own.map(({ id, posts }) => ({ id, posts }));
    const left = await server.decide({ threads });
    expect(left.body.decisions).toEqual(kept.filter(({ trainedOn }) => !trainedOn));
    expect(left.body.leftOut).toEqual(kept.filter(({ trainedOn }) => trainedOn).map(({ threadId }) => threadId));
    const all = await server.decide({ threads }, '?includeTrained=true');
    expect(all.body).toEqual({ decisions: kept, leftOut: [] });
    for (const [index, { id, posts }] of threads.entries()) {
      const [claim, ...replies] = posts;
      expect((await server.post(id, { posts: [claim] })).body.trainedOn).toBe(marks[index]);
      // Also once the text of the claim is forgotten.
      expect((await server.post(id, { posts: replies, end: true })).body).toMatchObject({
        decision: 'stop',
        trainedOn: marks[index],
      });
      expect((await server.get(`/v1/threads/${id}`)).body.trainedOn).toBe(marks[index]);
    }
  });

  it('knows a thread again that has more replies, and not one that shares its id only', async () => {
    const { parts } = JSON.parse(readFileSync(join(cwd, run, 'parts.json'), 'utf8'));
    const seen = own.filter(({ id }) => id === parts.environment[0].id);
    const grown = seen.map((thread) => ({ ...thread, posts: thread.posts.slice(0, 2) }));
    const namesake = seen.map((thread) => ({ ...thread, posts: [{ ...thread.posts[0], text: 'another claim' }] }));
    const outcome = await earshot(['decide', '--policy', run], {
      cwd,
      stdin: Readable.from([lines([...grown, ...namesake])]),
    });
    expect(parsed(outcome.out)).toHaveLength(1);
    expect(outcome.errors).toContain('was trained on 1 of the 2 threads');
  });

  it('says what is wrong with its words, the lines or the agent', async () => {
    const refused = async (words: string[], stdin = '') => {
      const { code, errors } = await earshot(['decide', ...words], { cwd, stdin: Readable.from([stdin]) });
      expect(code).toBe(1);
      expect(errors).not.toContain('    at ');
      return errors;
    };
    expect(await refused(['fresh.jsonl'])).toContain("required option '--policy <folder>' not specified");
    expect(await refused(['--policy', run], '{"id": 1}\n')).toMatch(/standard input:1.*--skip-invalid/s);
    expect(await refused(['--policy', 'nowhere'])).toContain('there is no nowhere');
    const budget = ['--policy', run, '--budget-money', '5', '--retry-unreadable'];
    expect(await refused(budget)).toContain('--budget-money, --retry-unreadable is for language models');
    cpSync(join(cwd, bundle), join(cwd, 'changed'), { recursive: true });
    writeFileSync(
      join(cwd, 'changed/detector.json'),
      readFileSync(join(cwd, 'changed/detector.json'), 'utf8').replace('1', '2'),
    );
    expect(await refused(['--policy', 'changed'])).toContain('changed: detector.json was changed after the export');
    const skipped = await earshot(['decide', '--policy', run, '--skip-invalid'], {
      cwd,
      stdin: Readable.from(['no\n', lines(fresh)]),
    });
    expect(parsed(skipped.out)).toHaveLength(6);
    expect(skipped.errors).toContain('skipped standard input:1');
  });
});

describe('evaluate on data that a run has seen', () => {
  const evaluate = (...words: string[]) => earshot(['evaluate', run, ...words, '--json'], { cwd });
  const labelled = lines(synthesizeThreads(tiny.data.synthetic));

  it('tests the threads that it has not learnt from only, unless told otherwise', async () => {
    writeFileSync(join(cwd, 'stream.jsonl'), labelled);
    const left = await evaluate('--data', 'stream.jsonl');
    expect(left.errors).toContain('the run was trained on 44 of the 60 threads of stream.jsonl; they are left out');
    expect(JSON.parse(left.out).threads).toBe(16);
    const kept = await evaluate('--data', 'stream.jsonl', '--include-trained');
    expect(kept.errors).toContain('they are not left out');
    expect(JSON.parse(kept.out).threads).toBe(60);
  });

  it('refuses data of which nothing is left', async () => {
    const { parts } = JSON.parse(readFileSync(join(cwd, run, 'parts.json'), 'utf8'));
    const ids = parts.demonstrations.map(({ id }: { id: string }) => id);
    writeFileSync(
      join(cwd, 'seen.jsonl'),
      lines(synthesizeThreads(tiny.data.synthetic).filter(({ id }) => ids.includes(id))),
    );
    const { code, errors } = await evaluate('--data', 'seen.jsonl');
    expect(code).toBe(1);
    expect(errors).toContain('the run was trained on all 12 threads of seen.jsonl; give other data, or keep them with');
  });
});
