import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { loadDetectorFile } from '../../../experiments/config/detector-file.ts';
import { AnnotationStore } from '../../../experts/annotations/annotation-store.ts';
import { startServer, stopServer } from '../../experts/llm/service.ts';
import { startService } from '../../experts/retrieval/fake-service.ts';
import type { ScriptedLlmServer } from '../../llm-server/scripted-llm-server.ts';
import { inTurn, lastMessage, type ScriptedRule } from '../../llm-server/scripted-rule.ts';
import { makeThread, temporaryFolder } from '../../src/data/fixtures.ts';
import { earshot, start, until } from './command-line.ts';

const threads = Array.from(
  { length: 4 },
  (_, index) => `${JSON.stringify(makeThread(`t${index}`, { posts: 5, rumor: index % 2 === 0 }))}\n`,
).join('');
const judge = ['annotate', 'threads.jsonl', '--store', 'judged.sqlite', '--detector', 'prompt.yaml'];
const prices = { inputPerMillion: 1, outputPerMillion: 2 };

/** JSON is YAML. */
function promptFile(server: { baseURL: string }, more: Record<string, unknown> = {}): string {
  const model = { name: 'scripted', baseURL: server.baseURL, model: 'tiny', logprobs: 'off', maxTokens: 5, prices };
  const retry = { maxAttempts: 2, baseMs: 1 };
  return JSON.stringify({ detector: { name: 'single-prompt', model }, task: 'rumor', retry, ...more });
}

async function setUp(rule?: ScriptedRule): Promise<{ server: ScriptedLlmServer; cwd: string }> {
  const server = await startServer(rule ?? ((body) => (/ of t[02]/.test(lastMessage(body)) ? 'Yes' : 'No')));
  const cwd = temporaryFolder({ 'threads.jsonl': threads, 'prompt.yaml': promptFile(server) });
  return { server, cwd };
}

describe('annotate with language models', () => {
  it('counts without sending, asks, sums up what it took, and asks nothing twice', async () => {
    const { server, cwd } = await setUp();
    const dry = await earshot([...judge, '--dry-run'], { cwd });
    expect(dry.code, dry.errors).toBe(0);
    expect(dry.out).toMatch(
      /^4 threads, 20 prefixes: 20 to ask about, 0 cached\nscripted \(tiny\): 20 to 40 calls, about \d+ to \d+ tokens in and 20 to 200 out \(at most 200\), cost about 0\.\d+ to 0\.\d+, at most 0\.\d+; retries not counted\nNothing was sent\.\n$/,
    );
    expect(server.requests).toHaveLength(0);
    expect(existsSync(join(cwd, 'judged.sqlite'))).toBe(false);

    const limited = await earshot([...judge, '--dry-run', '--limit', '2'], { cwd });
    expect(limited.out).toMatch(/^2 threads, 10 prefixes: 10 to ask about, 0 cached\n/);

    writeFileSync(join(cwd, 'judged.sqlite'), '');
    expect(await earshot([...judge, '--dry-run'], { cwd })).toEqual(dry);
    expect(readFileSync(join(cwd, 'judged.sqlite'), 'utf8')).toBe('');

    const first = await earshot([...judge, '--concurrency', '4'], { cwd });
    expect(first.code, first.errors).toBe(0);
    expect(first.out).toMatch(
      /^4 threads, 20 prefixes: asked 20, cached 0, failed 0\nscripted \(tiny\): 20 answers in 20 requests, \d+ tokens in, 20 out, cost 0\.\d+\nAnnotations: judged\.sqlite\n$/,
    );
    expect(server.requests).toHaveLength(20);
    const again = await earshot([...judge, '--json'], { cwd });
    expect(JSON.parse(again.out)).toMatchObject({ asked: 0, cached: 20, remaining: 0, stopped: null, usage: [] });
    const dryAgain = await earshot([...judge, '--dry-run', '--json'], { cwd });
    expect(JSON.parse(dryAgain.out)).toMatchObject({ dryRun: true, toAsk: 0, cached: 20, estimates: [] });
    expect(server.requests).toHaveLength(20);
  });

  it.each([
    [
      'retry-after',
      { headers: { 'retry-after': '3600' } },
      / takes no request for another 3600 s, until \d{4}-\d\d-\d\d \d\d:\d\d UTC; /,
    ],
    ['words', { message: 'Limit of 20 requests per day reached' }, / has used up a quota of an hour or longer, /],
  ])('ends where the quota of a day is used up, told by %s, and goes on once it is back', async (_by, told, said) => {
    let asked = 0;
    const { server, cwd } = await setUp(() => (++asked <= 8 ? 'Yes' : { status: 429, ...told }));
    const stopped = await earshot(judge, { cwd });
    expect(stopped.code).toBe(2);
    expect(stopped.out).toMatch(
      /asked 8, cached 0, failed 0, not asked 12\nscripted \(tiny\): 8 answers in .* cost 0\.\d+/,
    );
    expect(stopped.errors).toMatch(said);
    expect(stopped.errors).toMatch(/\(12 of 20 prefixes remain; what was answered is kept\)/);
    expect(stopped.errors).toContain(
      '\nTo go on then: earshot annotate threads.jsonl --store judged.sqlite --detector prompt.yaml\n',
    );
    server.rule = () => 'No';
    const again = await earshot(judge, { cwd });
    expect(again.out).toMatch(/asked 12, cached 8, failed 0\n/);
  });

  it('waits for an endpoint as long as --max-wait says', async () => {
    const wait = { status: 429, headers: { 'retry-after': '0.2' } };
    const { server, cwd } = await setUp(inTurn(['Yes', wait, 'Yes']));
    const stopped = await earshot([...judge, '--max-wait', '0.1'], { cwd });
    expect(stopped.code).toBe(2);
    expect(stopped.errors).toMatch(/a run waits 0\.1 s at most/);
    server.rule = inTurn([wait, 'Yes']);
    expect((await earshot([...judge, '--max-wait', '1'], { cwd })).code).toBe(0);
  });

  it('ends a run whose web search asks for a longer wait than --max-wait, before it pays for more', async () => {
    const { server, cwd } = await setUp();
    const search = await startService(() => ({ status: 429, headers: { 'retry-after': '0.2' } }));
    const detector = {
      name: 'zofia',
      models: { judge: { baseURL: server.baseURL, model: 'tiny' } },
      use: { wikipedia: false, linguist: false, expert: false, claims: false },
      retrieval: { webSearch: { baseURL: search.origin, apiKeyEnv: null } },
    };
    writeFileSync(join(cwd, 'prompt.yaml'), JSON.stringify({ detector, task: 'news', retry: { maxAttempts: 2 } }));
    const stopped = await earshot([...judge, '--concurrency', '1', '--max-wait', '0.1'], { cwd });
    expect(stopped.code).toBe(2);
    expect(stopped.errors).toMatch(/the web search .* failed with status 429 .*\(20 of 20 prefixes remain/);
    expect(search.requests).toHaveLength(1);
    expect(server.requests).toHaveLength(0);
  });

  it('sends no more than the budget allows and goes on from there', async () => {
    const { server, cwd } = await setUp();
    const stopped = await earshot([...judge, '--budget-requests', '7'], { cwd });
    expect(stopped.code).toBe(2);
    expect(stopped.out).toContain('asked 7, cached 0, failed 0, not asked 13\n');
    expect(stopped.errors.trim().split('\n').at(-1)).toBe(
      'earshot: the budget of 7 requests is spent (7 sent so far by prompt with the store judged.sqlite); run again with a larger ' +
        'budget to go on (13 of 20 prefixes remain; what was answered is kept)',
    );
    expect((await earshot([...judge, '--budget-requests', '7'], { cwd })).code).toBe(2);
    expect(server.requests).toHaveLength(7);
    const { out } = await earshot(['annotations', 'stats', 'judged.sqlite'], { cwd });
    expect(out).toMatch(/spent by +requests +tokens +money +since\n.*\nprompt +7 +\d+ +0\.0003 /);
    expect(JSON.parse((await earshot([...judge, '--json'], { cwd })).out)).toMatchObject({ asked: 13, cached: 7 });
    expect(server.requests).toHaveLength(20);
  });

  it('tells each trouble with an endpoint in one sentence', async () => {
    const troubles: readonly (readonly [ScriptedRule | null, RegExp])[] = [
      [() => ({ status: 401, message: 'no key' }), /^endpoint scripted wants a key: .*apiKeyEnv .*\(20 of 20 prefixes/],
      [null, /^endpoint scripted .* could not be reached after 2 attempts: .*ECONNREFUSED.*; check that it runs/],
      [() => ({ status: 404, message: 'no such model' }), /^endpoint scripted knows no model "tiny"/],
      [
        () => ({ status: 400, message: 'This model’s maximum context length is 10 tokens. You requested 99 tokens.' }),
        /^20 prefixes could not be judged, such as .* the messages are longer than the model reads \(99 tokens asked for, 10 possible/,
      ],
    ];
    const tell = async ([rule, sentence]: (typeof troubles)[number]) => {
      const { server, cwd } = await setUp(rule ?? undefined);
      if (rule === null) await stopServer(server);
      const outcome = await earshot(judge, { cwd });
      expect(outcome.code, outcome.errors).toBe(2);
      expect(sentenceOf(outcome.errors)).toMatch(sentence);
      expect(server.requests.length).toBeLessThanOrEqual(20);
    };
    await Promise.all(troubles.map(tell));
  });

  it('asks through a batch, goes on with one that was handed in, and refuses debates', async () => {
    const { server, cwd } = await setUp();
    server.batches.pollsUntilDone = 1_000_000;
    const batch = [...judge, '--batch', '--batch-poll', '0.05'];
    const waiting = start(batch, { cwd });
    await until(() => server.batches.created === 1);
    waiting.interrupt();
    expect((await waiting.outcome).code).toBe(130);
    server.batches.pollsUntilDone = 1;
    // A judgement that came another way meanwhile changes nothing of the batch.
    // The batch may still take its 20 requests.
    expect((await earshot([...judge, '--budget-requests', '20'], { cwd })).code).toBe(2);
    await earshot([...judge, '--budget-requests', '21'], { cwd });
    const collected = await earshot([...batch, '--json'], { cwd });
    expect(collected.code, collected.errors).toBe(0);
    expect(JSON.parse(collected.out)).toMatchObject({ asked: 19, cached: 1, failed: 0, usage: [{ answers: 19 }] });
    expect(server.batches).toMatchObject({ uploads: 1, created: 1 });
    expect(server.requests).toHaveLength(1);
    expect(readdirSync(join(cwd, 'judged.sqlite.batches'))).toEqual([expect.stringMatching(/-collected-1$/)]);
    // Under the same keys.
    expect(JSON.parse((await earshot([...judge, '--json'], { cwd })).out)).toMatchObject({ asked: 0, cached: 20 });
    expect(JSON.parse((await earshot([...batch, '--json'], { cwd })).out)).toMatchObject({ asked: 0, cached: 20 });

    const debate = JSON.parse(promptFile(server));
    const { model } = debate.detector;
    const other = temporaryFolder({
      'threads.jsonl': threads,
      'prompt.yaml': { ...debate, detector: { name: 'debate-single', models: { proponent: model } } },
    });
    const refused = await earshot(batch, { cwd: other });
    expect(refused.code).toBe(1);
    expect(refused.errors).toContain('debate-single asks one model after the other');
  });

  it('counts a batch at its price, takes back what a failed one reserved, and submits it anew', async () => {
    const { server, cwd } = await setUp();
    const batch = [...judge, '--batch', '--batch-poll', '0.05', '--json'];
    const ledgerOf = () => {
      const store = AnnotationStore.open(join(cwd, 'judged.sqlite'));
      const [{ requests, tokens, money }] = store.ledgers.list();
      store.close();
      return { requests, tokens, money };
    };
    server.batches.finalStatus = 'failed';
    const failed = await earshot(batch, { cwd });
    expect(failed.code).toBe(2);
    expect(failed.errors).toMatch(
      /failed batch batch-1: scripted batch failure; it costs nothing: .* submit it again\n$/,
    );
    expect(ledgerOf()).toEqual({ requests: 0, tokens: 0, money: 0 });
    server.batches.finalStatus = 'completed';
    const { usage } = JSON.parse((await earshot(batch, { cwd })).out);
    expect(server.batches.created).toBe(2);
    const [{ inputTokens, outputTokens, cost }] = usage;
    expect(cost).toBeCloseTo((0.5 * (inputTokens + 2 * outputTokens)) / 1e6, 12);
    expect(ledgerOf()).toEqual({ requests: 20, tokens: inputTokens + outputTokens, money: expect.closeTo(cost, 12) });
  });

  it('sends together what one would send alone where two fill one store, parts of judgements included', async () => {
    const { server } = await setUp((body) => {
      const { content } = body.messages[0];
      if (content.includes('JSON Schema')) return JSON.stringify({ reason: 'r', score: 0.5 });
      return { text: lastMessage(body).includes('Yes or No') ? 'No' : 'So.\nrumor', delayMs: 5 };
    });
    const { model } = JSON.parse(promptFile(server)).detector;
    const other = temporaryFolder({
      'threads.jsonl': threads,
      's2mad.yaml': JSON.stringify({
        detector: { name: 's2mad', models: { supporter: model }, rounds: 1 },
        task: 'rumor',
      }),
    });
    const words = (store: string) => ['annotate', 'threads.jsonl', '--store', store, '--detector', 's2mad.yaml'];
    const alone = await earshot([...words('alone.sqlite'), '--concurrency', '4'], { cwd: other });
    expect(alone.code, alone.errors).toBe(0);
    const requests = server.requests.length;
    const both = await Promise.all(
      [4, 3].map((concurrency) =>
        earshot([...words('both.sqlite'), '--concurrency', String(concurrency), '--json'], { cwd: other }),
      ),
    );
    const counts = both.map(({ out }) => JSON.parse(out));
    expect(counts[0].asked + counts[1].asked).toBe(20);
    for (const { asked, cached, failed } of counts) expect([asked + cached, failed]).toEqual([20, 0]);
    expect(server.requests).toHaveLength(2 * requests);
  });

  it('judges a text of standard input, and keeps the judgement only where a store is named', async () => {
    const { server, cwd } = await setUp(() => 'Yes');
    const judged = (...more: string[]) =>
      earshot(['annotate', '-', '--detector', 'prompt.yaml', ...more], {
        cwd,
        stdin: Readable.from(['It is gone!\n']),
      });
    const text = await judged();
    expect(text.code, text.errors).toBe(0);
    expect(text.out).toMatch(/^Label: rumor\nCost: scripted \(tiny\): 1 answer in 1 request, .* cost 0\.\d+\n$/);
    expect(lastMessage(server.requests[0].body)).toContain('1. It is gone!\n');
    expect((await judged('--dry-run')).out).toMatch(/^scripted \(tiny\): 1 to 2 calls.*\nNothing was sent\.\n$/);
    const [first, again] = [await judged('--store', 's.sqlite', '--json'), await judged('--store', 's.sqlite')];
    expect(JSON.parse(first.out)).toMatchObject({ label: 'rumor', usage: { requests: 1 }, sent: [{ answers: 1 }] });
    expect(again.out).toBe('Label: rumor\nCost: nothing was sent\n');
    server.rule = () => 'Perhaps';
    expect(await judged()).toMatchObject({ code: 2, out: '' });
    expect((await earshot(['annotate', '-', '--detector', 'prompt.yaml'], { cwd })).errors).toMatch(
      /holds no text; give/,
    );
    expect((await judged('--limit', '3')).errors).toMatch(/^earshot: --limit is for files of threads/);
    server.rule = () => 'Yes';
    const unnamed = await earshot([...judge.slice(0, 2), ...judge.slice(4)], { cwd });
    expect(unnamed.out).toContain('\nAnnotations: annotations.sqlite\n');
  });

  it('says that a key is missing before anything is sent, whoever needs it', async () => {
    const { server, cwd } = await setUp();
    const { model } = JSON.parse(promptFile(server)).detector;
    const keyless = { ...model, apiKeyEnv: 'EARSHOT_TEST_NO_KEY' };
    const detector = {
      name: 'debate-single',
      endpoints: { last: keyless, unused: { ...keyless, apiKeyEnv: 'EARSHOT_TEST_OTHER' } },
      models: { proponent: model, judge: 'last' },
    };
    writeFileSync(join(cwd, 'prompt.yaml'), JSON.stringify({ detector, task: 'rumor' }));
    const refused = await earshot(judge, { cwd });
    expect(refused).toMatchObject({ code: 1, out: '' });
    expect(refused.errors).toMatch(/takes its key from the environment variable EARSHOT_TEST_NO_KEY, which is not set/);
    expect(server.requests).toHaveLength(0);
    expect((await earshot([...judge, '--dry-run'], { cwd })).code).toBe(0);
  });

  it('refuses budgets and batches for local detectors', async () => {
    const { cwd } = await setUp();
    const refused = await earshot([...judge.slice(0, -1), 'mine.json', '--budget-money', '1'], { cwd });
    expect(refused).toMatchObject({ code: 1 });
    expect(refused.errors).toContain('--budget-money is for language models, and mine.json is a local detector');
  });
});

describe('annotations', () => {
  it('lists and shows what was said', async () => {
    const { cwd } = await setUp();
    await earshot(judge, { cwd });
    const annotations = (...words: string[]) => earshot(['annotations', ...words], { cwd });
    const rows = JSON.parse((await annotations('list', 'judged.sqlite', '--label', 'rumor', '--json')).out);
    expect(rows).toHaveLength(10);
    expect(rows[0]).toMatchObject({ threadId: 't0', prefixLength: 1, detector: 'single-prompt', label: 'rumor' });
    const few = await annotations('list', 'judged.sqlite', '--thread', 't1', '--limit', '2');
    expect(few.out).toMatch(/^[0-9a-f]{12} {2}t1 +2 {2}single-prompt {2}non-rumor {2}20/m);
    expect(few.errors).toContain('there are more than 2');
    const names = ['t0:2', rows[1].key.slice(0, 12)];
    for (const shown of await Promise.all(names.map((name) => annotations('show', 'judged.sqlite', name)))) {
      expect(shown.out, shown.errors).toMatch(/^Thread t0, first 2 posts, judged by single-prompt on 20/);
      expect(shown.out).toContain('\nLabel: rumor\nUsage: 1 request, ');
      expect(shown.out).toMatch(
        / {2}2\. text 1 of t0\n\n\[judge\] rumor \(tiny: 1 request, .* cost 0\.\d+\)\nYes\n\nAnswer 1/,
      );
    }
    // Those of t2 say the opposite of its label.
    const relabelled = threads.replace('"id":"t2"', '"id":"other"');
    writeFileSync(join(cwd, 'labels.jsonl'), relabelled.replaceAll('"rumor":false', '"rumor":true'));
    const wrong = await annotations('list', 'judged.sqlite', '--wrong', 'labels.jsonl', '--posts', '5');
    expect(wrong.errors).toBe('earshot: 2 of 3 judgements of labelled threads are wrong\n');
    expect(wrong.out).toMatch(/ t1 +5 {2}single-prompt {2}non-rumor {2}rumor {2}20.*\n.* t3 .*\n$/);
    expect((await annotations('show', 'judged.sqlite', '')).errors).toContain('may mean several annotations');
    expect((await annotations('show', 'judged.sqlite', 't9:1')).errors).toContain('holds no annotation "t9:1"');
  });
});

describe('loadDetectorFile', () => {
  const examples = join(import.meta.dirname, '../../../experiments/recipes/detectors');

  it('reads every example, none of which holds a key', async () => {
    const names = readdirSync(examples).filter((name) => name.endsWith('.yaml'));
    expect(names).toHaveLength(6);
    for (const name of names) {
      const file = await loadDetectorFile(join(examples, name));
      expect(file.name).toBe(file.detector.name);
      expect(readFileSync(join(examples, name), 'utf8')).not.toMatch(/sk-|Bearer/);
    }
  });

  it('names the nearest key, and what is wrong with an endpoint given in the place of a name', async () => {
    const folder = temporaryFolder({
      'a.yaml': 'detector: { name: s2mad, models: { suporter: a }, rouns: 2 }\ntask: rumor\nbudgt: {}',
      'b.yaml': 'detector: { name: single-prompt, model: { name: a, baseURL: "http://a/v1", modl: b } }\ntask: rumor',
      'c.yaml': 'detector: { name: s2mat }\ntask: rumor',
    });
    await expect(loadDetectorFile(join(folder, 'a.yaml'))).rejects.toThrow(
      /models\.suporter: unknown key; did you mean supporter\?[\s\S]*detector\.rouns: unknown key; did you mean rounds\?[\s\S]*budgt: unknown key; did you mean budget\?/,
    );
    await expect(loadDetectorFile(join(folder, 'b.yaml'))).rejects.toThrow(
      /detector\.model\.modl: unknown key; did you mean model\?/,
    );
    await expect(loadDetectorFile(join(folder, 'c.yaml'))).rejects.toThrow(/detector\.name/);
    await expect(loadDetectorFile(join(folder, 'd.yaml'))).rejects.toThrow(/there is no .*d\.yaml/);
  });
});

/** The last line, without the name of the program; nothing else but progress may stand before it. */
function sentenceOf(errors: string): string {
  const lines = errors.trim().split('\n');
  expect(lines.filter((line) => !line.includes('judging prefixes'))).toHaveLength(1);
  return (lines.at(-1) ?? '').replace(/^earshot: /, '');
}
