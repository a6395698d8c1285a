import { describe, expect, it } from 'vitest';
import { keyOf } from '../../../experts/annotations/annotation-row.ts';
import { type DetectorConfigInput, detectorSchema } from '../../../experts/detectors/create-detector.ts';
import { DryRunChatService } from '../../../experts/llm/cost/dry-run-chat-service.ts';
import type { EndpointInput } from '../../../experts/llm/endpoint.ts';
import type { JudgingTask } from '../../../experts/tasks/task-file.ts';
import { InputError } from '../../../src/errors.ts';
import { categoryTask, detectorOf, prefix, role, rumorTask } from './roles.ts';

const nowhere = { baseURL: 'http://localhost:1/v1' };
const at = (name: string, more: Partial<EndpointInput> = {}) => role(nowhere, name, more);

async function keyWith(config: DetectorConfigInput, task: JudgingTask = rumorTask): Promise<string> {
  const { name, version, options } = await detectorOf({ config, task });
  return keyOf({ detector: name, version, options, input: ['claim'], sampleIndex: 0 });
}

const bases = {
  'single-prompt': { name: 'single-prompt', model: at('a', { temperature: 1 }) },
  s2mad: {
    name: 's2mad',
    models: {
      supporter: at('a'),
      opposer: at('b'),
      scorer: at('c'),
      classifier: at('d'),
      judge: at('e'),
    },
  },
  'debate-single': {
    name: 'debate-single',
    models: { proponent: at('a'), opponent: at('b'), judge: at('c') },
  },
  'debate-team': {
    name: 'debate-team',
    models: { proponents: [at('a'), at('b')], opponents: [at('c'), at('d')], judge: at('e') },
  },
  'debate-council': {
    name: 'debate-council',
    models: { members: [at('a'), at('b')], chairperson: at('c') },
  },
} satisfies Record<string, DetectorConfigInput>;

const { models: stances } = bases.s2mad;
const { models: single } = bases['debate-single'];
const { models: teams } = bases['debate-team'];
const { models: council } = bases['debate-council'];

const changing: Record<keyof typeof bases, DetectorConfigInput[]> = {
  'single-prompt': [
    { ...bases['single-prompt'], reasons: true },
    { ...bases['single-prompt'], samples: 3 },
    { ...bases['single-prompt'], model: at('a', { temperature: 0.5 }) },
    { ...bases['single-prompt'], model: at('a', { temperature: 1, logprobs: 'on' }) },
    { ...bases['single-prompt'], samples: 3, model: at('a', { temperature: 1, maxTokens: 3 }) },
  ],
  s2mad: [
    { ...bases.s2mad, topComments: 10 },
    { ...bases.s2mad, rounds: 1 },
    { ...bases.s2mad, temperature: 0 },
    { ...bases.s2mad, stanceSeparation: false },
    { ...bases.s2mad, stanceSeparation: false, seed: 2 },
    { ...bases.s2mad, claimPrompt: 'subjective' },
    { ...bases.s2mad, claimPrompt: 'objective' },
    { ...bases.s2mad, debate: false },
    ...(['supporter', 'opposer', 'scorer', 'classifier', 'judge'] as const).map((who) => ({
      ...bases.s2mad,
      models: { ...stances, [who]: at('another') },
    })),
  ],
  'debate-single': [
    { ...bases['debate-single'], rounds: 2 },
    ...(['proponent', 'opponent', 'judge'] as const).map((who) => ({
      ...bases['debate-single'],
      models: { ...single, [who]: at('another') },
    })),
  ],
  'debate-team': [
    { ...bases['debate-team'], rounds: 2 },
    { ...bases['debate-team'], discussionTurns: 2 },
    { ...bases['debate-team'], models: { ...teams, proponents: [at('b'), at('a')] } },
    { ...bases['debate-team'], models: { ...teams, opponents: [at('c')] } },
    { ...bases['debate-team'], models: { ...teams, judge: at('another') } },
  ],
  'debate-council': [
    { ...bases['debate-council'], rounds: 2 },
    { ...bases['debate-council'], consensus: 0.7 },
    { ...bases['debate-council'], models: { ...council, members: [at('a'), at('b'), at('b')] } },
    { ...bases['debate-council'], models: { ...council, chairperson: at('another') } },
  ],
};

const names = Object.keys(bases) as (keyof typeof bases)[];

/** Whatever of an endpoint can change no answer. */
const irrelevant = {
  name: 'renamed',
  apiKeyEnv: 'A_KEY',
  prices: { inputPerMillion: 3, outputPerMillion: 4 },
  contextLength: 1000,
  timeoutMs: 1,
  concurrency: 2,
  maxTokensField: 'max_completion_tokens',
} satisfies Partial<EndpointInput>;

/** The configuration with every endpoint in it changed. */
function withEndpoints(config: unknown, change: (endpoint: object) => object): DetectorConfigInput {
  const walk = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(walk);
    if (typeof value !== 'object' || value === null) return value;
    if ('baseURL' in value) return change(value);
    return Object.fromEntries(Object.entries(value).map(([key, own]) => [key, walk(own)]));
  };
  return walk(config) as DetectorConfigInput;
}

describe.each(names)('the options of %s', (name) => {
  it('change with each parameter that can change an answer', async () => {
    const keys = await Promise.all([bases[name], ...changing[name]].map((config) => keyWith(config)));
    expect(new Set(keys).size).toBe(keys.length);
    const otherQuestion = await keyWith(bases[name], { ...rumorTask, question: 'Is it gossip?' });
    expect(keys).not.toContain(otherQuestion);
    for (const change of [{ baseURL: 'http://localhost:2/v1' }, { seed: 3 }, { topP: 0.5 }, { extraBody: { k: 1 } }])
      expect(keys).not.toContain(await keyWith(withEndpoints(bases[name], (endpoint) => ({ ...endpoint, ...change }))));
  });

  it.each(Object.entries(irrelevant))('do not change with %s of an endpoint', async (key, value) => {
    const changed = withEndpoints(bases[name], (endpoint) => ({ ...endpoint, [key]: value }));
    expect(await keyWith(changed)).toBe(await keyWith(bases[name]));
  });

  it('do not change with where an endpoint is written', async () => {
    const endpoints: Record<string, object> = {};
    const named = withEndpoints(bases[name], (endpoint) => {
      const { name: own, ...rest } = endpoint as EndpointInput;
      endpoints[own] = rest;
      return own as unknown as object;
    });
    expect(await keyWith({ ...named, endpoints } as DetectorConfigInput)).toBe(await keyWith(bases[name]));
  });
});

describe('options that take no part', () => {
  const { s2mad } = bases;
  it.each<[string, DetectorConfigInput, DetectorConfigInput]>([
    ['the endpoints own temperature', s2mad, withEndpoints(s2mad, (endpoint) => ({ ...endpoint, temperature: 1 }))],
    [
      'log-probabilities',
      s2mad,
      withEndpoints(s2mad, (endpoint) => ({ ...endpoint, logprobs: 'off', topLogprobs: 2 })),
    ],
    ['the seed with stance separation', s2mad, { ...s2mad, seed: 5 }],
    [
      'the scorer without stance separation',
      { ...s2mad, stanceSeparation: false },
      { ...s2mad, stanceSeparation: false, models: { ...stances, scorer: at('another') } },
    ],
    [
      'the classifier with one prompt for all claims',
      { ...s2mad, claimPrompt: 'objective' },
      { ...s2mad, claimPrompt: 'objective', models: { ...stances, classifier: at('another') } },
    ],
    [
      'rounds, opposer and judge without debate',
      { ...s2mad, debate: false },
      { ...s2mad, debate: false, rounds: 7, models: { ...stances, opposer: at('x'), judge: at('y') } },
    ],
  ])('%s', async (_name, one, other) => {
    expect(await keyWith(other)).toBe(await keyWith(one));
  });
});

describe('createDetector', () => {
  it('has the defaults of the papers', () => {
    const read = (name: keyof typeof bases) => detectorSchema.parse(bases[name]);
    expect(read('single-prompt')).toMatchObject({ reasons: false, comments: null, samples: 1 });
    expect(read('s2mad')).toMatchObject({ topComments: 20, rounds: 2, temperature: 0.2, debate: true });
    expect(read('debate-single')).toMatchObject({ rounds: 3 });
    expect(read('debate-team')).toMatchObject({ rounds: 5, discussionTurns: 1 });
    expect(read('debate-council')).toMatchObject({ rounds: 5, consensus: 0.8 });
  });

  it('says which role names an endpoint that is not there', async () => {
    const config: DetectorConfigInput = {
      name: 'debate-council',
      endpoints: { big: { baseURL: nowhere.baseURL, model: 'm' } },
      models: { members: ['big', 'bog'], chairperson: 'big' },
    };
    const failure = await detectorOf({ config, task: rumorTask }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(InputError);
    expect(String(failure)).toContain('members is "bog", but endpoints has big');
  });

  it('needs no name for an endpoint: its host is one, which no key depends on', async () => {
    const unnamed = (port: number) => ({ baseURL: `http://localhost:${port}/v1`, model: 'm' });
    const service = new DryRunChatService();
    const config: DetectorConfigInput = {
      name: 'debate-single',
      models: { proponent: unnamed(1), judge: unnamed(2) },
      rounds: 0,
    };
    const detector = await detectorOf({ config, task: rumorTask, service });
    await detector.judge(prefix(1));
    expect(service.rows().map(({ endpoint, calls }) => [endpoint, calls])).toEqual([
      ['localhost:1', 4],
      ['localhost:2', 1],
    ]);
    const named = withEndpoints(config, (endpoint) => ({ ...endpoint, name: 'n' }));
    expect(await keyWith(named)).toBe(await keyWith(config));
    expect(detectorSchema.safeParse({ name: 'single-prompt', model: unnamed(1) }).success).toBe(true);
  });

  it('refuses unknown options and detectors', () => {
    expect(detectorSchema.safeParse({ ...bases.s2mad, round: 3 }).success).toBe(false);
    expect(detectorSchema.safeParse({ ...bases.s2mad, name: 's3mad' }).success).toBe(false);
  });

  it('describes every option', () => {
    for (const option of detectorSchema.options)
      for (const [key, field] of Object.entries(option.shape))
        expect([key, field.description]).not.toContain(undefined);
  });

  it.each<[keyof typeof bases, number]>([
    ['single-prompt', 1],
    ['s2mad', 4 + 1 + 2 + 4 + 1],
    ['debate-single', 11],
    ['debate-team', 6 * 8 + 1],
    ['debate-council', 2 + 5 * 3],
  ])('lets a dry run of %s count the most calls', async (name, calls) => {
    const service = new DryRunChatService();
    const detector = await detectorOf({ config: bases[name], task: rumorTask, service });
    await detector.judge(prefix(5));
    const counted = service.rows().reduce((sum, row) => sum + row.calls, 0);
    // Two members that keep changing sides are tied at the end.
    expect(counted).toBe(name === 'debate-council' ? calls + 1 : calls);
  });

  it('names the combinations of categories as labels', async () => {
    const detector = await detectorOf({ config: bases['debate-council'], task: categoryTask });
    expect(detector.labels).toHaveLength(8);
  });
});

it('makes zofia, whose questions also tell the last day of evidence', async () => {
  const config = {
    name: 'zofia',
    models: { judge: at('a') },
    use: { web: false, wikipedia: false },
    sides: { real: 'non-rumor', fake: 'rumor' },
  } as const;
  const detector = await detectorOf({ config, task: rumorTask });
  expect(detector).toMatchObject({ name: 'zofia', labels: ['non-rumor', 'rumor'] });
  expect(detector.inputOf?.(prefix(1))).toEqual([{ cutoff: null }, 'A dam broke']);
  expect((await detectorOf({ config: bases.s2mad, task: rumorTask })).inputOf).toBeUndefined();
});
