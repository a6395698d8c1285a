import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startServer, stopServer } from '../../experts/llm/service.ts';
import { type ChatBody, lastMessage, type ScriptedRule } from '../../llm-server/scripted-rule.ts';
import { earshot, start, startProcess, until } from '../cli/command-line.ts';
import { outcomeOf, tinyFolder, tinySelector, trainHere } from './tiny-selector.ts';

const stanceWords: readonly (readonly [RegExp, string])[] = [
  [/confirmed|it is true|verified|exactly|yep|totally|well said|facts/, 'Support'],
  [/false|hoax|untrue|made up|nonsense|bullshit|propaganda|rubbish/, 'Deny'],
  [/\?/, 'Question'],
];

/** Stance by the words of the post; veracity by the commonest stance of the posts. */
const answer = (body: ChatBody): string => {
  const asked = lastMessage(body);
  const post = /^Post .*\n<evidence>\n(.*)$/m.exec(asked)?.[1];
  if (post !== undefined)
    return `it says ${post.split(' ')[0]}\n${stanceWords.find(([words]) => words.test(post))?.[1] ?? 'Comment'}`;
  const count = (stance: string) => asked.split(` (${stance}): `).length;
  const likeliest = ['Support', 'Deny', 'Question', 'Comment'].toSorted((one, other) => count(other) - count(one))[0];
  const veracity =
    { Support: 'True Rumor', Deny: 'False Rumor', Question: 'Unverified Rumor' }[likeliest] ?? 'Non-Rumor';
  return `most of the posts are of one kind\n${veracity}`;
};

const UNREAD =
  /of \d+ questions to the stance model, \d+ were answered with something that could not be read; their items count as equally likely of every class; earshot annotations unreadable \S+annotations\.sqlite shows the answers/;

const train = ['train', 'tiny.yaml'];
const runOf = (cwd: string) => join(cwd, 'runs/tiny/agent/seed-1');
const keyOf = ({ model, messages }: ChatBody) => JSON.stringify([model, messages]);

async function setUp(
  options: { rule?: ScriptedRule; model?: Record<string, unknown>; parts?: Record<string, unknown> } = {},
) {
  const server = await startServer(options.rule ?? answer);
  const model = { name: 'scripted', baseURL: server.baseURL, model: 'tiny', logprobs: 'off', ...options.model };
  const chat = { name: 'chat', model, examplesShown: 4 };
  const cwd = tinyFolder({
    data: { planted: { threads: 8, testThreads: 8, replies: 2, pretrainingItems: 8 } },
    stanceModel: chat,
    veracityModel: chat,
    selector: { ...tinySelector.selector, epochs: 2 },
    evaluation: { beside: ['random'] },
    retry: { maxAttempts: 1 },
    ...options.parts,
  });
  return { server, cwd, asked: () => server.requests.splice(0).map(({ body }) => keyOf(body)) };
}

describe('a selector whose task models are language models', () => {
  it('goes through the whole loop and asks no question twice, in later commands neither', async () => {
    const { server, cwd, asked } = await setUp({ parts: { evaluation: {} } });
    const first = await earshot(train, { cwd });
    expect(first.code, first.errors).toBe(0);
    expect(first.out).toContain('\nplanted, macro-F1 ');
    const { bodies, questions } = { bodies: server.requests.map(({ body }) => body), questions: asked() };
    expect(new Set(questions).size).toBe(questions.length);
    // In-context: tuned models are shown examples, with the reasons that machines gave for them.
    const shown = bodies.filter(({ messages }) => messages.length > 1);
    expect(shown.length).toBeGreaterThan(20);
    expect(shown.some(({ messages }) => /^it says \w+\n\w+$/.test(messages[1].content))).toBe(true);

    // Nothing is left beside the store for the next command to need, but what SQLite keeps there while it is open.
    const left = readdirSync(join(cwd, 'runs/cache')).filter((name) => !/-(shm|wal)$/.test(name));
    expect(left.sort()).toEqual(['annotations.sqlite', 'embeddings']);

    rmSync(join(cwd, 'runs/tiny'), { recursive: true });
    await trainHere(cwd);
    expect(asked()).toEqual([]);
  });

  it('stops at the end of a budget, also between an answer and its repair, and later asks only the rest', async () => {
    // Half of the posts are answered in a form that must be sent back.
    const rule: ScriptedRule = (body) =>
      /^Answer .+ only\.$/.test(lastMessage(body)) || !/^Post .*\n<evidence>\n\w*[a-m]\b/m.test(lastMessage(body))
        ? answer({
            ...body,
            messages: body.messages.filter(({ content }) => !/^(Answer .+ only\.$|Hard to say)/.test(content)),
          })
        : 'Hard to say';
    const { cwd, asked } = await setUp({ rule, model: { concurrency: 1 } });
    const whole = await asIfNever(cwd);
    const questions = asked();
    expect(questions.some((question) => question.includes('Hard to say'))).toBe(true);

    const sent: string[] = [];
    for (const requests of [1, 1, 33]) {
      await expect(trainHere(cwd, { budget: { requests } })).rejects.toThrow(
        `the budget of ${requests} requests is spent (${requests} sent so far by`,
      );
      sent.push(...asked());
      expect(sent).toHaveLength(requests);
    }
    const stopped = await earshot([...train, '--set', 'budget.requests=53'], { cwd });
    expect({ code: stopped.code, out: stopped.out }).toEqual({ code: 2, out: '' });
    expect(sentenceOf(stopped)).toMatch(
      /^the budget of 53 requests is spent .*; run again with a larger budget to go on/,
    );
    await trainHere(cwd);
    expect([...sent, ...asked()].sort()).toEqual(questions.sort());
    expect(outcomeOf(runOf(cwd))).toEqual(whole);
  });

  it('shares one budget among variants, whatever they differ in', async () => {
    const variants = { one: {}, other: { encoder: { name: 'hashing', dimensions: 16 } } };
    const { cwd, asked } = await setUp({ parts: { variants } });
    await trainHere(cwd, { seeds: [1], selector: { epochs: 1 } });
    const enough = asked().length;
    rmSync(join(cwd, 'runs'), { recursive: true });
    const budget = { requests: enough - 1 };
    await expect(trainHere(cwd, { seeds: [1], selector: { epochs: 1 }, budget })).rejects.toThrow('is spent');
    expect(asked()).toHaveLength(enough - 1);
  });

  it('goes on after a kill and an interruption in the middle of an epoch without asking again what was answered', async () => {
    const { server, cwd, asked } = await setUp({ rule: (body) => ({ text: answer(body), delayMs: 3 }) });
    const whole = await asIfNever(cwd);
    const questions = asked();
    const killed = startProcess(train, { cwd });
    await until(() => server.requests.length > questions.length / 4);
    killed.signal('SIGKILL');
    expect((await killed.outcome).code).toBe(null);
    const first = asked();
    const interrupted = start(train, { cwd });
    await until(() => server.requests.length > questions.length / 4);
    interrupted.interrupt();
    expect((await interrupted.outcome).code).toBe(130);
    const second = asked();
    expect(first.length + second.length).toBeLessThan(questions.length);
    await trainHere(cwd);
    const last = asked();
    // Of a killed process what was under way; one that is asked to stop waits for it.
    expect(second.filter((question) => first.includes(question)).length).toBeLessThanOrEqual(server.maxConcurrency);
    expect(last.filter((question) => second.includes(question))).toEqual([]);
    const all = [...first, ...second, ...last];
    expect(all.length - questions.length).toBeLessThanOrEqual(server.maxConcurrency);
    expect([...new Set(all)].sort()).toEqual(questions.toSorted());
    expect(outcomeOf(runOf(cwd))).toEqual(whole);
  });

  it('says how many answers could not be read, and stops where they are too many', async () => {
    const rule: ScriptedRule = (body) => {
      const isOdd = /^Post .*\n<evidence>\n\w*[a-e]\b/m.test(
        lastMessage({
          ...body,
          messages: body.messages
            .filter(({ content }) => !content.startsWith('Your answer'))
            .filter(({ role }) => role === 'user'),
        }),
      );
      return isOdd ? 'I would rather not say.' : answer(body);
    };
    const { cwd } = await setUp({ rule, parts: { evaluation: {} } });
    const trained = await earshot(train, { cwd });
    expect(trained.code, trained.errors).toBe(0);
    expect(trained.errors).toMatch(UNREAD);
    rmSync(join(cwd, 'runs/tiny'), { recursive: true });
    const stopped = await earshot([...train, '--set', 'stanceModel.unreadableAtMost=0.01'], { cwd });
    expect(stopped.code).toBe(2);
    expect(stopped.errors).toMatch(/ answers of the stance model could not be read, more than the share of 0\.01 /);
  });

  it('prints what it cost and how to go on where a quota is used up', async () => {
    let asked = 0;
    const headers = { 'retry-after': '3600' };
    const { cwd } = await setUp({ rule: (body) => (++asked > 30 ? { status: 429, headers } : answer(body)) });
    const stopped = await earshot(train, { cwd });
    expect(stopped.code).toBe(2);
    expect(stopped.errors).toMatch(/scripted \(tiny\): 30 answers in \d+ requests, \d+ tokens in/);
    expect(stopped.errors).toMatch(/takes no request for another 3600 s, until .* UTC/);
    expect(stopped.errors).toMatch(/; the same command goes on then\n$/);
  });

  it('says in one sentence that nobody listens, or that a key is missing', async () => {
    const { server, cwd } = await setUp();
    await stopServer(server);
    const refused = await earshot(train, { cwd });
    expect(refused).toMatchObject({ code: 2, out: '' });
    expect(sentenceOf(refused)).toMatch(
      /^endpoint scripted \(.*, model tiny\) could not be reached at the first attempt: .*; check that it runs and that baseURL is right, then run again$/,
    );
    const keyless = await setUp({ model: { apiKeyEnv: 'EARSHOT_TEST_NO_KEY' } });
    const missing = await earshot(train, { cwd: keyless.cwd });
    expect(missing).toMatchObject({ code: 1, out: '' });
    expect(keyless.server.requests).toHaveLength(0);
    expect(sentenceOf(missing)).toMatch(
      /^endpoint scripted takes its key from the environment variable EARSHOT_TEST_NO_KEY, which is not set; set it$/,
    );
  });
});

/** What comes of the run if nothing stops it. Its answers are forgotten. */
async function asIfNever(cwd: string): Promise<Record<string, string>> {
  await trainHere(cwd);
  const whole = outcomeOf(runOf(cwd));
  rmSync(join(cwd, 'runs'), { recursive: true });
  return whole;
}

/** All that was said after what will happen, and beside progress. */
function sentenceOf({ errors }: { errors: string }): string {
  const [, after] = errors.split(/\n\n([\s\S]*)/);
  const said = after.split('\n').filter((line) => line !== '' && !line.startsWith('agent, seed 1'));
  expect(said).toHaveLength(1);
  return said[0].replace(/^earshot: /, '');
}
