import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { AnnotationStore } from '../../../../experts/annotations/annotation-store.ts';
import type { AskOnce } from '../../../../experts/asking/ask-once.ts';
import { askOnceIn } from '../../../../experts/asking/ask-once.ts';
import { zofiaInputOf, zofiaOptionsSchema } from '../../../../experts/detectors/zofia/options.ts';
import { createZofia } from '../../../../experts/detectors/zofia/zofia.ts';
import type { ChatService } from '../../../../experts/llm/chat.ts';
import { DryRunChatService } from '../../../../experts/llm/cost/dry-run-chat-service.ts';
import { retrySchema } from '../../../../experts/llm/sending/retry.ts';
import { type JudgingTask, loadJudgingTask } from '../../../../experts/tasks/task-file.ts';
import { prefixOf, type Thread, threadSchema } from '../../../../src/data/thread.ts';
import { InputError, ProviderError } from '../../../../src/errors.ts';
import type { ScriptedLlmServer } from '../../../llm-server/scripted-llm-server.ts';
import { type ChatBody, lastMessage, type ScriptedReply } from '../../../llm-server/scripted-rule.ts';
import { endpointAt, quickService, startServer } from '../../llm/service.ts';
import { startService, webResults, wikipediaAnswer } from '../../retrieval/fake-service.ts';
import { quotedIn } from '../quoted.ts';

type Decision = 'real' | 'fake' | 'insufficient';
type Replies = Partial<Record<'linguist' | 'expert' | 'extract' | 'verify' | 'pro' | 'con', string>>;

const claim = 'Jamie Foxx will marry Katie Holmes in Paris.';

function article(replies: readonly string[] = []): Thread {
  return threadSchema.parse({
    id: 't',
    posts: [
      { id: 't', text: claim, time: '2018-03-01T10:00:00Z' },
      ...replies.map((text, index) => ({ id: `t-${index}`, text, time: `2018-03-01T1${index + 1}:00:00Z` })),
    ],
  });
}

/** Which agent a request speaks to. */
function agentOf(body: ChatBody): string {
  const [{ content }] = body.messages;
  if (content.startsWith('You are a linguist'))
    return `linguist: ${content.match(/dimension only: ([a-z ]+) \(/)?.[1]}`;
  if (content.startsWith('Which field')) return 'triage';
  if (content.startsWith('You are an expert')) return 'expert';
  if (content.startsWith('Take apart')) return 'extract';
  if (content.startsWith('Verify one claim')) return `verify ${quotedIn(content, 'Claim').join()}`;
  if (content.startsWith('You are a debater'))
    return content.includes('You argue that this holds: real (') ? 'pro' : 'con';
  if (content.startsWith('You are an impartial judge')) return 'judge';
  if (content.startsWith('An entity is the name')) return 'prompt-ner';
  if (content.startsWith('Name the named entities')) return 'llm-ner';
  throw new Error(`an unexpected request: ${content}`);
}

/** Agents that always say the same, and a judge that decides in turn. */
function script(decisions: readonly Decision[], replies: Replies = {}): (body: ChatBody) => ScriptedReply | string {
  let judged = 0;
  let argued = 0;
  return (body) => {
    const agent = agentOf(body);
    if (agent.startsWith('linguist'))
      return replies.linguist ?? JSON.stringify({ analysis: `analysis of ${agent}`, verdict: 'fake' });
    if (agent === 'triage') return JSON.stringify({ domain: 'Celebrities', expert: 'Journalist' });
    if (agent === 'expert')
      return replies.expert ?? JSON.stringify({ knowledge: 'He is single.', logic: 'It leaps.', verdict: 'fake' });
    if (agent === 'extract')
      return (
        replies.extract ??
        JSON.stringify({ core: 'Jamie Foxx marries Katie Holmes.', subclaims: ['The wedding is in Paris.'] })
      );
    if (agent.startsWith('verify'))
      return (
        replies.verify ??
        JSON.stringify({
          label: 'refutes',
          reasoning: 'He denies it.',
          evidence: ['“they are only friends”', 'made up'],
        })
      );
    if (agent === 'llm-ner') return JSON.stringify({ entities: ['Katie Holmes', 'Tom Cruise'] });
    if (agent === 'prompt-ner')
      return JSON.stringify({
        candidates: [
          { text: 'Paris', reason: 'a city', type: 'LOC' },
          { text: 'Jamie Foxx', reason: 'not asked for', type: null },
        ],
      });
    if (agent === 'judge') {
      const decision = decisions[Math.min(judged++, decisions.length - 1)];
      return JSON.stringify({ reason: `because of ${judged}`, answer: decision });
    }
    return (agent === 'pro' ? replies.pro : replies.con) ?? `${agent} argues, number ${++argued}`;
  };
}

const web = () =>
  webResults(
    { url: 'https://fans.example/1', description: 'Jamie Foxx says they are only friends.', page_age: '2018-02-27' },
    {
      url: 'https://fans.example/2',
      description: 'Katie Holmes and Jamie Foxx wed after all.',
      page_age: '2018-03-02',
    },
    { url: 'https://www.snopes.com/3', description: 'Jamie Foxx and Katie Holmes: false.', page_age: '2018-02-01' },
  );

const wiki = wikipediaAnswer([
  {
    title: 'Jamie Foxx',
    extract: 'Jamie Foxx is an American actor.',
    revisions: [
      { day: '2017-01-01', html: '<p>Jamie Foxx is an actor. He sings. He acts. More.</p>' },
      { day: '2019-01-01', html: '<p>He never married.</p>' },
    ],
  },
  {
    title: 'Katie Holmes',
    extract: 'Katie Holmes is an actress.',
    revisions: [{ day: '2020-01-01', html: '<p>K.</p>' }],
  },
]);

async function setUp(settings: {
  decisions: readonly Decision[];
  replies?: Replies;
  options?: Partial<z.input<typeof zofiaOptionsSchema>>;
  retrieval?: object;
  askOnce?: AskOnce;
  task?: JudgingTask;
  service?: ChatService;
}) {
  const { decisions, replies, retrieval, askOnce } = settings;
  const server = await startServer(script(decisions, replies));
  const search = await startService(web);
  const wikipedia = await startService(wiki);
  const options = zofiaOptionsSchema.parse({
    name: 'zofia',
    models: { judge: endpointAt(server) },
    retrieval: {
      entities: { method: 'patterns' },
      webSearch: { baseURL: search.origin, apiKeyEnv: null },
      wikipedia: { baseURL: `${wikipedia.origin}/w/api.php` },
      ...retrieval,
    },
    ...settings.options,
  });
  const detector = await createZofia({
    options,
    task: settings.task ?? (await loadJudgingTask('news')),
    service: settings.service ?? quickService(),
    askOnce,
    retry: retrySchema.parse({ maxAttempts: 2, baseMs: 1 }),
  });
  return { server, search, wikipedia, detector, options };
}

/** Lets no call through before so many wait: a detector that asks one after the other never ends. */
function allAtOnce(count: number): ChatService {
  const service = quickService();
  let waiting = 0;
  let open = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  return {
    async chat(request) {
      if (++waiting === count) open();
      await gate;
      return service.chat(request);
    },
  };
}

const agents = (server: ScriptedLlmServer) => server.requests.map(({ body }) => agentOf(body));
const asked = (server: ScriptedLlmServer, agent: string) =>
  server.requests.filter(({ body }) => agentOf(body).startsWith(agent)).map(({ body }) => body);

const linguists = ['sentence', 'word', 'grammar', 'emotion', 'information quality'].map((name) => `linguist: ${name}`);
const verified = ['verify Jamie Foxx marries Katie Holmes.', 'verify The wedding is in Paris.'];
const round = ['pro', 'con', 'judge'];

it('misses the key of the web search before anything is paid for, and only where it searches', async () => {
  const webSearch = { apiKeyEnv: 'EARSHOT_NO_SUCH_KEY' };
  await expect(setUp({ decisions: [], retrieval: { webSearch } })).rejects.toThrow(
    'web search needs a key in the environment variable EARSHOT_NO_SUCH_KEY, which is not set',
  );
  const { detector } = await setUp({ decisions: ['fake'], retrieval: { webSearch }, options: { use: { web: false } } });
  expect(await detector.judge(prefixOf(article(), 1))).toMatchObject({ label: 'fake' });
});

describe('a judgement', () => {
  it('asks the analysts at the same time, verifies each claim, and debates until the judge decides', async () => {
    const together = allAtOnce(7);
    const { server, detector } = await setUp({ decisions: ['insufficient', 'fake'], service: together });
    const judgement = await detector.judge(prefixOf(article(), 1));
    const calls = agents(server);
    const analysts = [...linguists, 'triage', 'expert', 'extract', verified[0]];
    // The second claim is about Paris alone, which no passage mentions: it is not asked about.
    expect(calls.slice(0, 7).sort()).toEqual([...linguists, 'triage', 'extract'].sort());
    expect(calls.slice(0, analysts.length).sort()).toEqual(analysts.sort());
    expect(calls.slice(analysts.length)).toEqual([...round, ...round]);
    expect(judgement).toMatchObject({ label: 'fake', probabilities: null, explanation: 'because of 2' });
    expect(judgement.usage.requests).toBe(calls.length);
    expect(judgement.transcript.map(({ role, round }) => (round === 'Analysis' ? role : `${round}: ${role}`))).toEqual([
      'keywords',
      ...linguists,
      'wikipedia',
      'expert triage',
      'expert: Journalist',
      'web',
      'claim extractor',
      'claim verifier: core claim',
      'claim verifier: claim 2',
      ...[1, 2].flatMap((index) => ['pro', 'con', 'judge'].map((role) => `Round ${index}: ${role}`)),
    ]);
    const [web, judge] = [judgement.transcript.find(({ role }) => role === 'web'), judgement.transcript.at(-1)];
    expect(web?.sources?.[0].url).toMatch(/^https:/);
    expect(judge).toMatchObject({ vote: 'fake', usage: { requests: 1 } });
    expect(detector.labels).toEqual(['real', 'fake']);
  });

  it('shows each agent its own sources and no others', async () => {
    const { server, detector } = await setUp({ decisions: ['insufficient', 'real'] });
    const { transcript } = await detector.judge(prefixOf(article(['Never!']), 2));
    for (const { messages } of asked(server, 'linguist')) {
      expect(messages).toHaveLength(1);
      expect(messages[0].content).toContain(claim);
      expect(messages[0].content).not.toMatch(/only friends|is an actor|Never!|analysis of/);
      expect(linguists.filter((name) => messages[0].content.includes(`only: ${name.slice(10)} (`))).toHaveLength(1);
    }
    const [expert] = asked(server, 'expert').map(lastMessage);
    expect(expert).toContain('Journalist (field: Celebrities)');
    expect(expert).toContain('Jamie Foxx is an actor. He sings. He acts.');
    expect(expert).not.toMatch(/only friends|More\.|Never!/);
    const [verifier] = asked(server, 'verify').map(lastMessage);
    expect(verifier).toContain('(fans.example, 2018-02-27): Jamie Foxx says they are only friends.');
    expect(verifier).not.toMatch(/in Paris|is an actor|Never!/);

    const [first, second] = asked(server, 'pro').map(({ messages }) => messages);
    expect(first.map(({ role }) => role)).toEqual(['user']);
    for (const said of ['He is single.', 'analysis of linguist: emotion', 'Verdict: refutes', '1. Never!'])
      expect(first[0].content).toContain(said);
    expect(first[0].content).toContain('You speak first.');
    expect(second.map(({ content }) => content)).toEqual([
      first[0].content,
      'pro argues, number 1',
      expect.stringMatching(/^Your opponent argues:\ncon argues, number 2\n/),
    ]);
    const [con] = asked(server, 'con').map(({ messages }) => messages);
    expect(con[0].content).toMatch(/argue that this holds: fake .*opponent argues that this holds: real /s);
    expect(con[0].content).toContain('Your opponent argues:\npro argues, number 1');

    const [judge1, judge2] = asked(server, 'judge').map(lastMessage);
    expect(judge1).toContain('[for real, round 1]\npro argues, number 1\n\n[for fake, round 1]\ncon argues, number 2');
    expect(judge2).toContain('[for fake, round 2]\ncon argues, number 4');
    expect(judge1).not.toContain('He is single.');
    // The quotation that was found stays, the other is named as missing.
    const verification = transcript.find(({ role }) => role === 'claim verifier: core claim')?.text;
    expect(verification).toContain(
      'Evidence: “they are only friends”\nEvidence: (a quotation that stands in no passage',
    );
    expect(verification).not.toContain('made up');
  });

  it('says insufficient when the judge has not decided after five rounds', async () => {
    const { server, detector } = await setUp({ decisions: ['insufficient'] });
    const judgement = await detector.judge(prefixOf(article(), 1));
    expect(agents(server).filter((agent) => agent === 'judge')).toHaveLength(5);
    expect(judgement.label).toBeNull();
    expect(judgement.explanation).toBe('insufficient evidence: because of 5');
  });

  it('puts a label of the task in its place when told to, and debates as many rounds as told', async () => {
    const task = await loadJudgingTask('veracity');
    const sides = { real: 'true', fake: 'false' };
    const { detector } = await setUp({
      decisions: ['insufficient'],
      replies: {
        linguist: JSON.stringify({ analysis: 'a', verdict: 'true' }),
        expert: JSON.stringify({ knowledge: 'k', logic: 'l', verdict: 'true' }),
      },
      task,
      options: { maxRounds: 2, sides, insufficientLabel: 'unverified' },
    });
    const judgement = await detector.judge(prefixOf(article(), 1));
    expect(judgement.label).toBe('unverified');
    expect(judgement.transcript.filter(({ role }) => role.startsWith('judge'))).toHaveLength(2);
    expect(detector.labels).toEqual(['non-rumor', 'true', 'false', 'unverified']);
  });
});

describe('evidence', () => {
  it('is asked for up to the day before the claim and checked when it comes', async () => {
    const { search, wikipedia, server, detector } = await setUp({ decisions: ['fake'] });
    const { transcript } = await detector.judge(prefixOf(article(), 1));
    expect(search.requests).toHaveLength(1);
    expect(search.requests[0].query).toMatchObject({
      q: expect.stringMatching(
        /^"[^"]+"(?: AND "[^"]+")* -site:gossipcop\.com .*-site:politifact\.com .*-site:snopes\.com/,
      ),
      freshness: '1990-01-01to2018-02-28',
    });
    for (const { query } of wikipedia.requests.filter(({ query }) => query.prop === 'revisions'))
      expect(query.rvstart).toBe('2018-02-28T23:59:59Z');
    const everything = JSON.stringify([server.requests, transcript]);
    // Younger than the cut-off; a fact-check; an article of a later year.
    expect(everything).not.toMatch(/wed after all|Holmes: false|never married|actress/);
  });

  it('may have a cut-off of its own', async () => {
    const { search, server, detector } = await setUp({
      decisions: ['fake'],
      retrieval: { cutoff: { date: '2018-03-05' } },
    });
    await detector.judge(prefixOf(article(), 1));
    expect(search.requests[0].query.freshness).toBe('1990-01-01to2018-03-05');
    expect(JSON.stringify(server.requests)).toContain('wed after all');
    const key = zofiaInputOf(zofiaOptionsSchema.parse({ name: 'zofia', models: { judge: 'x' } }));
    expect(key(prefixOf(article(['No']), 2))).toEqual([{ cutoff: '2018-02-28' }, claim, 'No']);
  });

  it('is not looked for where the claim has no date', async () => {
    const thread = threadSchema.parse({ id: 't', posts: [{ id: 't', text: claim }] });
    const strict = await setUp({ decisions: ['fake'] });
    await expect(strict.detector.judge(prefixOf(thread, 1))).rejects.toThrow(InputError);
    const without = await setUp({ decisions: ['fake'], retrieval: { cutoff: { undatedClaims: 'no-retrieval' } } });
    expect((await without.detector.judge(prefixOf(thread, 1))).label).toBe('fake');
    expect([...without.search.requests, ...without.wikipedia.requests]).toEqual([]);
  });

  it('can be asked for with the core claim or the most salient sentence', async () => {
    const core = await setUp({ decisions: ['fake'], retrieval: { query: 'core-claim' } });
    await core.detector.judge(prefixOf(article(), 1));
    expect(core.search.requests[0].query.q).toMatch(/^Jamie Foxx marries Katie Holmes\. -site:/);
    const sentence = await setUp({ decisions: ['fake'], retrieval: { query: 'sentence' } });
    await sentence.detector.judge(prefixOf(article(), 1));
    expect(sentence.search.requests[0].query.q).toMatch(/^Jamie Foxx will marry Katie Holmes in Paris\. -site:/);
  });

  it('needs no keywords where nothing is asked by them', async () => {
    const missing = { method: 'model', model: './no-such-folder' };
    const use = { wikipedia: false };
    const retrieval = { query: 'sentence', entities: missing };
    const { detector } = await setUp({ decisions: ['fake'], options: { use }, retrieval });
    const { transcript } = await detector.judge(prefixOf(article(), 1));
    expect(transcript.map(({ role }) => role)).not.toContain('keywords');
    expect(Object.keys(Object(detector.options.retrieval)).sort()).toEqual([
      'chunks',
      'cutoff',
      'encoder',
      'query',
      'web',
    ]);
    await expect(setUp({ decisions: ['fake'], retrieval })).rejects.toThrow('there is no model folder');
    // Without any source nothing is loaded.
    const none = { decisions: ['fake' as const], options: { use: { web: false, wikipedia: false } } };
    const offline = await setUp({
      ...none,
      retrieval: { encoder: { name: 'transformers', model: './no-such-folder' } },
    });
    expect(offline.detector.options.retrieval).toEqual({});
  });

  it('shows the debaters no title: an article is called today what it may not have been called then', async () => {
    const { server, detector } = await setUp({ decisions: ['fake'], options: { use: { expert: false } } });
    const { transcript } = await detector.judge(prefixOf(article(), 1));
    const found = transcript.find(({ role }) => role === 'wikipedia')?.text;
    expect(found).toBe('- Jamie Foxx is an actor. He sings. He acts.');
    expect(quotedIn(asked(server, 'pro')[0].messages[0].content, '[wikipedia]')).toEqual([
      'Jamie Foxx is an actor. He sings. He acts.',
    ]);
  });

  it('that cannot be had fails the judgement, and nothing is remembered of it', async () => {
    const store = AnnotationStore.open(':memory:');
    const { detector } = await setUp({
      decisions: ['fake'],
      retrieval: { webSearch: { baseURL: 'http://127.0.0.1:9', apiKeyEnv: null } },
      askOnce: askOnceIn({ store }),
    });
    await expect(detector.judge(prefixOf(article(), 1))).rejects.toThrow(ProviderError);
    await expect(detector.judge(prefixOf(article(), 1))).rejects.toThrow(/the web search .* failed/);
    expect(store.stats().byDetector.map((row) => row.detector)).not.toContain('retrieval/web-search');
    store.close();
  });
});

describe('prefixes', () => {
  it('share what the first post decides; a longer one costs the debate alone', async () => {
    const { server, search, wikipedia, detector } = await setUp({ decisions: ['fake'] });
    const thread = article(['Never!', 'Source?']);
    const [one, two, three] = await Promise.all([1, 2, 3].map((length) => detector.judge(prefixOf(thread, length))));
    const calls = agents(server);
    expect(calls.filter((agent) => !round.includes(agent)).sort()).toEqual(
      [...linguists, 'triage', 'expert', 'extract', verified[0]].sort(),
    );
    expect(calls.filter((agent) => agent === 'judge')).toHaveLength(3);
    expect(search.requests).toHaveLength(1);
    expect(new Set(wikipedia.requests.map(({ query }) => JSON.stringify(query))).size).toBe(wikipedia.requests.length);
    // Without a store whoever asked first pays; nothing is counted twice.
    const counted = [one, two, three].reduce((sum, { usage }) => sum + usage.requests, 0);
    expect(counted).toBe(server.requests.length);
  });

  it('are judged alike whatever comes later', async () => {
    const short = await setUp({ decisions: ['fake'], replies: { pro: 'P', con: 'C' } });
    const long = await setUp({ decisions: ['fake'], replies: { pro: 'P', con: 'C' } });
    await short.detector.judge(prefixOf(article(['Never!']), 2));
    await long.detector.judge(prefixOf(article(['Never!', 'It is false, see the denial']), 2));
    const told = (server: ScriptedLlmServer) => server.requests.map(({ body }) => JSON.stringify(body.messages)).sort();
    expect(told(long.server)).toEqual(told(short.server));
    expect(long.search.requests.map(({ query }) => query)).toEqual(short.search.requests.map(({ query }) => query));
  });

  it('ask nothing again that a store knows, in another process too', async () => {
    const store = AnnotationStore.open(':memory:');
    const askOnce = askOnceIn({ store });
    const { server, search, wikipedia, options, detector } = await setUp({ decisions: ['fake'], askOnce });
    const first = await detector.judge(prefixOf(article(), 1));
    // What is remembered is counted where it is kept.
    expect(first.usage.requests).toBe(3);
    const before = { llm: server.requests.length, web: search.requests.length, wiki: wikipedia.requests.length };
    const again = await createZofia({
      options,
      task: await loadJudgingTask('news'),
      service: quickService(),
      askOnce,
    });
    const second = await again.judge(prefixOf(article(), 1));
    expect(agents(server).slice(before.llm)).toEqual(round);
    expect(search.requests).toHaveLength(before.web);
    expect(wikipedia.requests).toHaveLength(before.wiki);
    expect(second.transcript.slice(0, -3)).toEqual(first.transcript.slice(0, -3));
    const stored = store.stats().byDetector;
    expect(stored.map(({ detector: name, annotations }) => [name, annotations])).toEqual([
      ['retrieval/web-search', 1],
      ['retrieval/wikipedia', before.wiki],
      ['zofia/claim-extraction', 1],
      ['zofia/claim-verification', 1],
      ['zofia/expert', 1],
      ['zofia/expert-triage', 1],
      ['zofia/linguist', 5],
    ]);
    expect(stored.reduce((sum, { requests }) => sum + requests, 0)).toBe(before.llm - 3);
    store.close();
  });
});

describe('ablations', () => {
  const run = async (use: z.input<typeof zofiaOptionsSchema>['use']) => {
    const found = await setUp({ decisions: ['fake'], options: { use } });
    const judgement = await found.detector.judge(prefixOf(article(), 1));
    const { server, search, wikipedia, detector } = found;
    const sources = { web: search.requests.length > 0, wikipedia: wikipedia.requests.length > 0 };
    const pool = asked(server, 'pro')[0]?.messages[0].content;
    return { calls: agents(server), sources, judgement, detector, pool };
  };

  it('leave out retrieval, by source', async () => {
    const offline = await run({ web: false, wikipedia: false });
    expect(offline.sources).toEqual({ web: false, wikipedia: false });
    expect(offline.calls).toContain('expert');
    expect(offline.calls.filter((agent) => agent.startsWith('verify'))).toEqual([]);
    expect(JSON.stringify(offline.judgement.transcript)).toContain('not enough information');
    expect((await run({ web: false })).sources).toEqual({ web: false, wikipedia: true });
    expect((await run({ wikipedia: false })).sources).toEqual({ web: true, wikipedia: false });
  });

  it('leave out analysts, whose sources are then debated as they were found', async () => {
    const mute = await run({ linguist: false, expert: false });
    expect(mute.calls.filter((agent) => /linguist|expert|triage/.test(agent))).toEqual([]);
    expect(mute.sources).toEqual({ web: true, wikipedia: true });
    expect(quotedIn(mute.pool, '[wikipedia]')).toEqual(['Jamie Foxx is an actor. He sings. He acts.']);
    expect(mute.pool).not.toContain('[web]');
    const unverified = await run({ claims: false });
    expect(unverified.calls.filter((agent) => /extract|verify/.test(agent))).toEqual([]);
    expect(unverified.sources).toEqual({ web: true, wikipedia: true });
    expect(quotedIn(unverified.pool, '[web]')).toEqual([
      'A page (fans.example, 2018-02-27): Jamie Foxx says they are only friends.',
    ]);
    expect(unverified.pool).not.toMatch(/\[wikipedia\]|wed after all|snopes/);
    for (const role of ['extractor', 'verifier', 'maxSubclaims'])
      expect(unverified.detector.options).not.toHaveProperty(role);
    expect(unverified.detector.options.retrieval).not.toHaveProperty('chunks');
  });

  it('ask for the core claim without verifying it, where the web is asked with it', async () => {
    const { server, search, detector } = await setUp({
      decisions: ['fake'],
      options: { use: { claims: false } },
      retrieval: { query: 'core-claim' },
    });
    await detector.judge(prefixOf(article(), 1));
    expect(agents(server).filter((agent) => /extract|verify/.test(agent))).toEqual(['extract']);
    expect(search.requests[0].query.q).toMatch(/^Jamie Foxx marries Katie Holmes\. -site:/);
    expect(detector.options).toHaveProperty('extractor');
  });

  it.each([
    ['tf-idf', /^"[a-z]+"/i, undefined],
    ['prompt-ner', /^"Paris" -site:/, 'prompt-ner'],
    ['llm-ner', /^"Katie Holmes" -site:/, 'llm-ner'],
  ] as const)('get the keywords by %s', async (method, query, agent) => {
    const store = AnnotationStore.open(':memory:');
    const { server, search, detector, options } = await setUp({
      decisions: ['fake'],
      retrieval: { entities: { method } },
      askOnce: askOnceIn({ store }),
    });
    const thread = article(['Never!']);
    const { transcript } = await detector.judge(prefixOf(thread, 1));
    await detector.judge(prefixOf(thread, 2));
    expect(search.requests.map(({ query: { q } }) => q)).toEqual([expect.stringMatching(query)]);
    expect(transcript[0].role).toBe('keywords');
    const named = agents(server).filter((name) => name.endsWith('-ner'));
    expect(named).toEqual(agent === undefined ? [] : [agent]);
    const parts = store.stats().byDetector.map((row) => row.detector);
    expect(parts.includes(`retrieval/${method}`)).toBe(agent !== undefined);
    store.close();

    // The model that names entities is part of the key where one does.
    const recognizer = { ...endpointAt(server), model: 'another' };
    const task = await loadJudgingTask('news');
    const models = { ...options.models, recognizer };
    const other = await createZofia({ options: { ...options, models }, task, service: quickService() });
    if (agent === undefined) expect(other.options).toEqual(detector.options);
    else expect(other.options).not.toEqual(detector.options);
  });

  it('leave out the debate: the judge decides once, from the evidence', async () => {
    const { calls, judgement } = await run({ debate: false });
    expect(calls.slice(-1)).toEqual(['judge']);
    expect(calls.filter((agent) => round.includes(agent))).toEqual(['judge']);
    expect(judgement.label).toBe('fake');
  });
});

describe('options', () => {
  it('choose a model for each role', async () => {
    const server = await startServer(script(['fake']));
    const at = (model: string) => endpointAt(server, { model, temperature: 1 });
    const roles = ['judge', 'linguist', 'expert', 'extractor', 'verifier', 'pro', 'con'] as const;
    const models = Object.fromEntries(roles.map((role) => [role, at(`${role}-model`)]));
    const { detector } = await setUp({
      decisions: ['fake'],
      options: { models: { judge: at('judge-model'), ...models } },
    });
    await detector.judge(prefixOf(article(), 1));
    const modelOf = (agent: string) => new Set(asked(server, agent).map(({ model }) => model));
    expect(modelOf('linguist')).toEqual(new Set(['linguist-model']));
    expect(modelOf('triage')).toEqual(new Set(['expert-model']));
    expect(modelOf('verify')).toEqual(new Set(['verifier-model']));
    expect([...modelOf('pro'), ...modelOf('con'), ...modelOf('judge')]).toEqual([
      'pro-model',
      'con-model',
      'judge-model',
    ]);
    expect(server.requests.every(({ body }) => body.temperature === 0)).toBe(true);
  });

  it('name what can change a judgement and nothing else', async () => {
    const { detector } = await setUp({ decisions: ['fake'] });
    expect(detector.name).toBe('zofia');
    expect(detector.options).toMatchObject({
      judge: { model: 'tiny', temperature: 0 },
      maxRounds: 5,
      retrieval: { entities: { method: 'patterns' }, encoder: { name: 'hashing' }, cutoff: { daysBeforeClaim: 1 } },
    });
    expect(JSON.stringify(detector.options)).not.toMatch(/apiKeyEnv|timeoutMs|userAgent|maxAttempts/);
    expect(() => JSON.parse(JSON.stringify(detector.options))).not.toThrow();
  });

  it('must name two labels of the task', async () => {
    const veracity = await loadJudgingTask('veracity');
    const categories = await loadJudgingTask('checkthat4a');
    const make = (task: JudgingTask, options: Partial<z.input<typeof zofiaOptionsSchema>> = {}) =>
      setUp({ decisions: ['fake'], task, options });
    await expect(make(veracity)).rejects.toThrow('has 4 labels (non-rumor, true, false, unverified), but zofia');
    await expect(make(categories)).rejects.toThrow('the task checkthat4a has categories');
    const rumor = await loadJudgingTask('rumor');
    await expect(make(rumor, { sides: { real: 'rumor' } })).rejects.toThrow('are both "rumor"');
    await expect(make(rumor, { sides: { fake: 'lie' } })).rejects.toThrow('sides.fake is "lie", which is no label');
    await expect(make(rumor, { insufficientLabel: 'unknown' })).rejects.toThrow('insufficientLabel is "unknown"');
  });
});

describe('a dry run', () => {
  it('asks nobody, neither models nor sources, and counts the longest debate', async () => {
    const service = new DryRunChatService();
    const { server, search, wikipedia, detector } = await setUp({ decisions: ['fake'], service });
    await detector.judge(prefixOf(article(), 1));
    expect([...server.requests, ...search.requests, ...wikipedia.requests]).toEqual([]);
    // 5 linguists, triage, expert, extractor, 3 verifiers, 5 rounds of 3.
    expect(service.rows()[0].calls).toBe(26);
  });

  it.each(['prompt-ner', 'llm-ner'])('counts the call of %s', async (method) => {
    const service = new DryRunChatService();
    const { detector } = await setUp({ decisions: ['fake'], service, retrieval: { entities: { method } } });
    const { transcript } = await detector.judge(prefixOf(article(), 1));
    expect(service.rows()[0].calls).toBe(27);
    expect(transcript[0].text).toContain('Jamie Foxx');
  });
});
