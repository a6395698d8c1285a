import { join } from 'node:path';
import Database from 'libsql';
import { describe, expect, it } from 'vitest';
import { type DetectorFile, loadDetectorFile } from '../../experiments/config/detector-file.ts';
import { judgeWithModels } from '../../experiments/judging/judge-with-models.ts';
import { AnnotationStore } from '../../experts/annotations/annotation-store.ts';
import { workContext } from '../../src/work-context.ts';
import { startServer } from '../experts/llm/service.ts';
import { startService, webResults, wikipediaAnswer } from '../experts/retrieval/fake-service.ts';
import { threadOf } from '../experts/threads.ts';
import type { ScriptedLlmServer } from '../llm-server/scripted-llm-server.ts';
import { temporaryFolder } from '../src/data/fixtures.ts';
import { moodyAnswer } from './moody-model.ts';

const claim = 'Jamie Foxx will marry Katie Holmes in Paris.';
const threads = [
  threadOf({ id: 'a', texts: [claim, 'gibberish', 'They are only friends.'] }),
  threadOf({ id: 'b', texts: ['Another claim about Jamie Foxx.'] }),
];

async function startSources() {
  const search = await startService(() =>
    webResults({ url: 'https://fans.example/1', description: 'Jamie Foxx and Katie Holmes marry, says Paris.' }),
  );
  const revisions = [{ day: '2017-01-01', html: '<p>Jamie Foxx is an actor. He sings.</p>' }];
  const wikipedia = await startService(
    wikipediaAnswer([{ title: 'Jamie Foxx', extract: 'Jamie Foxx is an American actor.', revisions }]),
  );
  return {
    entities: { method: 'patterns' },
    cutoff: { date: '2018-03-01' },
    webSearch: { baseURL: search.origin, apiKeyEnv: null },
    wikipedia: { baseURL: `${wikipedia.origin}/w/api.php` },
  };
}

const detectors: Record<string, (model: string) => Promise<object> | object> = {
  s2mad: (model) => ({ models: { supporter: model }, rounds: 1 }),
  // Both debaters are asked alike where there is no comment yet.
  's2mad, one list': (model) => ({ models: { supporter: model }, rounds: 1, stanceSeparation: false }),
  'debate-single': (model) => ({ models: { proponent: model }, rounds: 1 }),
  'debate-team': (model) => ({ models: { proponents: [model, model], judge: model }, rounds: 1 }),
  'debate-council': (model) => ({ models: { members: [model, model, model], chairperson: model }, rounds: 2 }),
  zofia: async (model) => ({
    models: { judge: model },
    sides: { real: 'non-rumor', fake: 'rumor' },
    maxRounds: 2,
    retrieval: await startSources(),
  }),
  'single-prompt': (model) => ({ model, samples: 3 }),
  'single-prompt, one sample': (model) => ({ model }),
};

async function setUp(name: string, delayMs = 0) {
  const server = await startServer((body) => ({ ...moodyAnswer(body), delayMs }));
  const { detector, folder } = await detectorAt(server, name);
  return {
    server,
    path: (store: string) => join(folder, store),
    /** A process of its own, but for the memory. */
    async run(
      store: string,
      more: { requests?: number; signal?: AbortSignal; mode?: 'dry-run'; retryUnreadable?: boolean } = {},
    ) {
      const opened = AnnotationStore.open(join(folder, store));
      const { requests, signal, mode = 'live', retryUnreadable } = more;
      try {
        const judged = await judgeWithModels({
          file: detector,
          threads,
          store: opened,
          mode,
          concurrency: 3,
          retryUnreadable,
          ...(requests !== undefined && { budget: { requests } }),
          context: workContext(signal && { signal }),
        });
        const rows = opened.getRows(opened.keys());
        const judgements = new Map([...rows].map(([key, { judgement }]) => [key, judgement]));
        return { ...judged, judgements };
      } finally {
        opened.close();
      }
    },
    /** What was asked since the last time, in order of the text. */
    asked: () =>
      server.requests
        .splice(0)
        .map(({ body }) => JSON.stringify([body.model, body.messages]))
        .sort(),
  };
}

async function detectorAt(
  server: ScriptedLlmServer,
  name: string,
): Promise<{ detector: DetectorFile; folder: string }> {
  const own = await detectors[name]('scripted');
  const endpoint = { baseURL: server.baseURL, model: 'tiny', temperature: 0.5, logprobs: 'off' };
  const detector = { name: name.replace(/,.*/, ''), endpoints: { scripted: endpoint }, ...own };
  const folder = temporaryFolder({ 'file.yaml': { detector, task: 'rumor', retry: { baseMs: 1 } } });
  return { detector: await loadDetectorFile(join(folder, 'file.yaml')), folder };
}

describe.each(Object.keys(detectors).filter((name) => name !== 'single-prompt, one sample'))('%s', (name) => {
  it('asks for nothing twice, wherever the budget ends, and judges as without an end', async () => {
    const { run, asked } = await setUp(name);
    const whole = await run('whole.sqlite');
    expect(whole.result).toMatchObject({ failed: 0, stopped: null });
    const questions = asked();
    expect(questions.length).toBeGreaterThan(10);
    // Early, after the first request or the sixth as the detectors take turns, and late.
    const early = Object.keys(detectors).indexOf(name) % 2 === 0 ? 1 : 6;
    for (const requests of [early, questions.length - 3]) {
      const store = `stopped-${requests}.sqlite`;
      const first = await run(store, { requests });
      expect(first.result.stopped?.message).toContain('the budget of');
      const none = await run(store, { requests });
      const second = await run(store, { requests: requests + 2 });
      const last = await run(store);
      expect(asked()).toEqual(questions);
      expect(last.judgements).toEqual(whole.judgements);
      // Budgets count what all runs have paid, the summary what this run has.
      const sent = [first, none, second, last].map(({ usage }) => usage.reduce((sum, each) => sum + each.requests, 0));
      expect(sent).toEqual([requests, 0, 2, questions.length - requests - 2]);
    }
  });

  it('keeps what arrives after Ctrl-C', async () => {
    const { server, run, asked } = await setUp(name);
    const whole = await run('whole.sqlite');
    const questions = asked();
    const controller = new AbortController();
    const { rule } = server;
    server.rule = (body, call) => {
      if (call.index === 5) controller.abort(new Error('Ctrl-C'));
      return { ...moodyAnswer(body), delayMs: 8 };
    };
    await expect(run('stopped.sqlite', { signal: controller.signal })).rejects.toThrow('Ctrl-C');
    server.rule = rule;
    expect(server.requests.length).toBeLessThan(questions.length);
    expect((await run('stopped.sqlite')).judgements).toEqual(whole.judgements);
    expect(asked()).toEqual(questions);
  });
});

it('asks again, where that is wanted, for what could not be read of a judgement, and for nothing else', async () => {
  const { server, run, asked } = await setUp('debate-single');
  const whole = await run('whole.sqlite');
  const questions = asked();
  const verdicts = questions.filter((question) => question.includes('End with a line'));
  const { rule } = server;
  server.rule = (body, call) => (body.response_format ? 'no JSON' : rule(body, call));
  const repairs = (asked: readonly string[]) => asked.filter((question) => /"Answer [^"]+ only\."/.test(question));
  expect((await run('judged.sqlite')).result).toMatchObject({ asked: 0, failed: 4, unreadable: 4 });
  const first = asked();
  expect(first).toHaveLength(questions.length - verdicts.length + 8);
  expect(repairs(first)).toHaveLength(4);
  expect((await run('judged.sqlite')).result).toMatchObject({ asked: 0, failed: 4, unreadable: 4 });
  expect(asked()).toEqual([]);
  expect((await run('judged.sqlite', { retryUnreadable: true })).result).toMatchObject({ asked: 0, unreadable: 4 });
  const second = asked();
  expect(second).toHaveLength(8);
  expect(repairs(second)).toHaveLength(4);
  server.rule = rule;
  expect((await run('judged.sqlite', { retryUnreadable: true })).judgements).toEqual(whole.judgements);
  expect(asked()).toEqual(verdicts);
});

it.each(['s2mad', 'debate-council'])('%s comes to one judgement where two judge at the same time', async (name) => {
  const { run, asked } = await setUp(name, 3);
  const whole = await run('whole.sqlite');
  const questions = asked().length;
  const both = await Promise.all([run('both.sqlite'), run('both.sqlite')]);
  expect(both.map(({ result }) => result.failed)).toEqual([0, 0]);
  expect(asked()).toHaveLength(questions);
  const after = await run('both.sqlite');
  expect(after.judgements).toEqual(whole.judgements);
  expect(asked()).toEqual([]);
});

it('asks again for a score that could not be read, once it is told to', async () => {
  const { server, run, asked } = await setUp('s2mad');
  await run('judged.sqlite');
  const scored = (questions: readonly string[]) =>
    questions.filter((each) => /Comment \(quoted[^<]*<evidence>(?:\\n|\n)gibberish/.test(each));
  expect(scored(asked())).toHaveLength(2);
  threads.push({ ...threads[0], id: 'c', posts: [...threads[0].posts, { ...threads[0].posts[0], id: 'c-3' }] });
  const { rule } = server;
  server.rule = (body, call) =>
    body.messages[0].content.includes('gibberish') && body.response_format
      ? '{"reason":"r","score":0.5}'
      : rule(body, call);
  await run('judged.sqlite');
  expect(scored(asked())).toEqual([]);
  threads[threads.length - 1].posts.push({ ...threads[0].posts[0], id: 'c-4' });
  await run('judged.sqlite', { retryUnreadable: true });
  threads.pop();
  expect(scored(asked())).toHaveLength(1);
});

it('keeps nothing of a dry run', async () => {
  const { run, path } = await setUp('debate-single');
  await run('judged.sqlite', { mode: 'dry-run' });
  const store = AnnotationStore.open(path('judged.sqlite'));
  expect(store.stats().spent).toEqual([]);
  store.close();
  const database = new Database(path('judged.sqlite'));
  expect(database.prepare('SELECT * FROM response').all()).toEqual([]);
  database.close();
});
