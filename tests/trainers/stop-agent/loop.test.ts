import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs-core';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { buildStateTable } from '../../../envs/state-table.ts';
import { namesOf, type Optimized } from '../../../src/tensor/adam.ts';
import { type BackendName, selectBackend } from '../../../src/tensor/backend.ts';
import { Random } from '../../../src/tensor/random.ts';
import { gailSchema } from '../../../trainers/gail.ts';
import { loadStopPolicy, restoreStopAgent, saveStopAgent } from '../../../trainers/stop-agent/checkpoint.ts';
import { stopAgentSchema } from '../../../trainers/stop-agent/config.ts';
import type { TableDemonstration } from '../../../trainers/stop-agent/demonstration-pairs.ts';
import { type StopAgentMetrics, trainStopAgent } from '../../../trainers/stop-agent/loop.ts';
import { stopProbabilities } from '../../../trainers/stop-agent/policy.ts';
import { stopAgentPresets } from '../../../trainers/stop-agent/presets.ts';
import {
  createStopAgentTraining,
  disposeStopAgentTraining,
  type StopAgentData,
  type StopAgentTraining,
} from '../../../trainers/stop-agent/setup.ts';

type Input = z.input<typeof stopAgentSchema>;

const dimensions = 8;
const lengths = [3, 5, 1, 7, 4, 6, 2, 9, 3, 1, 8, 5];

/** Threads 0–5 demonstrate, 6–11 are roamed. Experts of all three kinds unless some are left out. */
function syntheticData(left: { misleading?: false; all?: false } = {}): StopAgentData {
  const random = Random.seeded({ seed: 1, purpose: 'synthetic data' });
  const vector = (length: number) => Float32Array.from({ length }, () => random.normal());
  const table = buildStateTable({
    threads: lengths.map((posts) => ({ posts, embeddings: vector(posts * dimensions) })),
    dimensions,
    actionEmbeddings: [vector(dimensions), vector(dimensions)],
  });
  const demonstrations: TableDemonstration[] = [
    { expert: 'conservative', thread: 0, stopStep: 1 },
    { expert: 'conservative', thread: 1, stopStep: 3 },
    { expert: 'conservative', thread: 3, stopStep: 0 },
    { expert: 'earlyAction', thread: 1, stopStep: 0 },
    { expert: 'earlyAction', thread: 4, stopStep: 2 },
    { expert: 'misleading', thread: 4, stopStep: 3 },
    { expert: 'misleading', thread: 5, stopStep: 0 },
  ];
  return {
    table,
    environment: Int32Array.of(6, 7, 8, 9, 10, 11),
    demonstrations: demonstrations.filter(
      ({ expert }) => left.all !== false && !(left.misleading === false && expert === 'misleading'),
    ),
    labelled: new Map(
      [0, 1, 3].map((thread) => [
        thread,
        {
          right: Uint8Array.from({ length: lengths[thread] }, (_, step) => Number(step > 0)),
          probability: new Float32Array(lengths[thread]).fill(0.8),
          weight: 1.5,
        },
      ]),
    ),
  };
}

const small: Input = {
  iterations: 4,
  ppo: { hidden: 6, stepsPerIteration: 24, epochs: 2, minibatches: 3, learningRate: 3e-3 },
  gail: { hidden: 7, batchSize: 8, epochs: 2, warmupEpochs: 3, warmupIterations: 2, learningRate: 1e-3 },
  behaviorCloning: { epochs: 5, batchSize: 8 },
};

/** `small` with more on top, two levels deep. */
function config(more: Input = {}) {
  const merged = Object.fromEntries(
    [...new Set([...Object.keys(small), ...Object.keys(more)])].map((key) => {
      const [base, top] = [small[key as keyof Input], more[key as keyof Input]];
      return [key, typeof base === 'object' && typeof top === 'object' ? { ...base, ...top } : (top ?? base)];
    }),
  );
  return stopAgentSchema.parse(merged);
}

function create(seeds: number[] = [1], more: Input = {}, data = syntheticData()): StopAgentTraining {
  return createStopAgentTraining(
    data,
    seeds.map((seed) => ({ seed, config: config(more) })),
  );
}

/** Trains to the end, or to the given iteration, and returns the metrics of every member and iteration. */
async function train(training: StopAgentTraining, until = Infinity): Promise<StopAgentMetrics[][]> {
  const metrics: StopAgentMetrics[][] = [];
  const controller = new AbortController();
  await trainStopAgent(training, {
    signal: controller.signal,
    onIteration: ({ iteration }, own) => {
      metrics.push([...own]);
      if (iteration >= until) controller.abort();
    },
  });
  return metrics;
}

/** Every number that goes on from one iteration to the next, of one member. */
function snapshot(training: StopAgentTraining, member = 0) {
  const networks = { agent: training.agent, discriminator: training.discriminator } as Record<string, Optimized>;
  const tensors = Object.entries(networks).flatMap(([owner, network]) =>
    (['parameters', 'firstMoments', 'secondMoments'] as const).flatMap((part) =>
      namesOf(network[part]).map((name) => {
        const [, rows, columns] = network[part][name].shape;
        const size = rows * columns;
        const values = network[part][name].dataSync().slice(member * size, (member + 1) * size);
        return [`${owner}/${part}/${name}`, Array.from(values)] as const;
      }),
    ),
  );
  const { random, environmentState, runningReturn, streams } = training.members[member];
  return {
    tensors: Object.fromEntries(tensors),
    rest: {
      iteration: training.iteration,
      updates: Object.values(networks).map(({ updates }) => updates),
      moments: [Array.from(training.moments.mean), Array.from(training.moments.variance), training.moments.count],
      random: random.state(),
      environment: { ...environmentState, order: Array.from(environmentState.order) },
      runningReturn: { ...runningReturn },
      streams: streams.map(({ order, position }) => [Array.from(order), position]),
    },
  };
}

/** Largest difference between two members' numbers. */
function difference(a: ReturnType<typeof snapshot>, b: ReturnType<typeof snapshot>): number {
  return Math.max(
    ...Object.entries(a.tensors).flatMap(([name, values]) => values.map((v, i) => Math.abs(v - b.tensors[name][i]))),
  );
}

function expectFinite(training: StopAgentTraining, metrics: StopAgentMetrics[][]): void {
  for (const [member] of training.members.entries())
    for (const [name, values] of Object.entries(snapshot(training, member).tensors))
      expect(values.every(Number.isFinite), name).toBe(true);
  for (const own of metrics.flat())
    for (const [name, value] of Object.entries(own)) expect(Number.isFinite(value), name).toBe(true);
}

const directory = mkdtempSync(join(tmpdir(), 'earshot-stop-agent-'));
const path = join(directory, 'checkpoint.safetensors');

beforeAll(() => () => rmSync(directory, { recursive: true, force: true }));
let tensorsBefore = 0;
beforeEach(async () => {
  await selectBackend('wasm');
  tensorsBefore = tf.memory().numTensors;
});
afterEach(() => expect(tf.memory().numTensors).toBe(tensorsBefore));

describe('one seed', () => {
  it('fixes everything: twin runs end alike, bit for bit', async () => {
    const [one, other] = [create([7]), create([7])];
    const metrics = await train(one);
    expect(await train(other)).toEqual(metrics);
    expect(snapshot(other)).toEqual(snapshot(one));
    for (const training of [one, other]) disposeStopAgentTraining(training);
  });

  it('differs from any other', async () => {
    const [one, other] = [create([7]), create([8])];
    expect(difference(snapshot(one), snapshot(other))).toBeGreaterThan(0.01);
    await train(one);
    await train(other);
    expect(snapshot(one).rest.random).not.toEqual(snapshot(other).rest.random);
    for (const training of [one, other]) disposeStopAgentTraining(training);
  });
});

describe('a population', () => {
  const members = [
    { seed: 3, config: config() },
    {
      seed: 4,
      config: config({
        ppo: { learningRate: 1e-3, clip: 0.3, entropyCoefficient: 0.1, discount: 0.9, gaeLambda: 0.5 },
        gail: {
          alpha: 0.5,
          beta: 0.4,
          gamma: 0.1,
          learningRate: 3e-4,
          penalty: 3,
          penaltyTarget: 0.5,
          misleading: 'subtract',
          misleadingPenalty: 'subtract',
        },
        imitationReward: 0.5,
      }),
    },
  ];

  it.each<[BackendName]>([['cpu'], ['wasm']])('is its members trained alone, on %s', async (backend) => {
    await selectBackend(backend);
    const together = createStopAgentTraining(syntheticData(), members);
    const metrics = await train(together);
    for (const [index, member] of members.entries()) {
      const alone = createStopAgentTraining(syntheticData(), [member]);
      const ownMetrics = await train(alone);
      expect(snapshot(together, index)).toEqual(snapshot(alone));
      expect(metrics.map((own) => own[index])).toEqual(ownMetrics.map(([own]) => own));
      disposeStopAgentTraining(alone);
    }
    disposeStopAgentTraining(together);
  });

  it('refuses members that differ in what the program shares', () => {
    const withConfig = (more: Input) => [
      { seed: 1, config: config() },
      { seed: 2, config: config(more) },
    ];
    const creating = (more: Input) => () => createStopAgentTraining(syntheticData(), withConfig(more));
    expect(creating({ ppo: { hidden: 9 } })).toThrow(/ppo\.hidden.*6.*9/);
    expect(creating({ iterations: 5 })).toThrow(/iterations/);
    expect(creating({ taskUpdates: 9 })).toThrow(/taskUpdates/);
  });
});

describe('a checkpoint', () => {
  it.each<[string, number[], Input]>([
    ['one agent', [5], {}],
    ['a population', [5, 6], {}],
    ['the published preset, its normaliser still learning', [5], stopAgentPresets.published],
    ['the published preset, its normaliser frozen', [5], { ...stopAgentPresets.published, iterations: 24 }],
    ['the task reward, episodes that end with the stop', [5], { taskReward: 1, episodeEnd: 'stop' }],
    ['a start from behaviour cloning', [5], { initialization: 'behavior-cloning' }],
  ])('lets 2k iterations equal k, save, restore, k, bit for bit: %s', async (_, seeds, more) => {
    const whole = create(seeds, more);
    const wholeMetrics = await train(whole);
    const first = create(seeds, more);
    const half = whole.iteration / 2;
    const firstMetrics = await train(first, half);
    expect(first.iteration).toBe(half);
    saveStopAgent(path, first, 'states');
    disposeStopAgentTraining(first);
    const second = create(seeds, more);
    restoreStopAgent(path, second, 'states');
    const secondMetrics = await train(second);
    expect([...firstMetrics, ...secondMetrics]).toEqual(wholeMetrics);
    for (const [member] of seeds.entries()) expect(snapshot(second, member)).toEqual(snapshot(whole, member));
    for (const training of [whole, second]) disposeStopAgentTraining(training);
  });

  it('gives back the policy alone, with what standardises its states', async () => {
    const training = create();
    await train(training);
    saveStopAgent(path, training, 'states');
    const policy = loadStopPolicy(path, 'states');
    const { table } = training.data;
    const { parameters } = training.agent;
    expect(stopProbabilities(policy, table)).toEqual(
      stopProbabilities({ parameters, moments: training.moments }, table),
    );
    expect(policy.iteration).toBe(4);
    tf.dispose(policy.parameters);
    disposeStopAgentTraining(training);
  });

  it('is refused where it does not fit, with the reason', () => {
    const training = create();
    saveStopAgent(path, training, 'states of one encoder');
    expect(() => restoreStopAgent(path, training, 'states of another')).toThrow(
      /trained on states made by states of one encoder, and these are made by states of another/,
    );
    expect(() => loadStopPolicy(path, 'states of another')).toThrow(/use the same encoder/);
    const two = create([1, 2]);
    expect(() => restoreStopAgent(path, two, 'states of one encoder')).toThrow(/1 members, and 2 are trained/);
    const scalar = create([1], { normalizer: 'scalar-running' });
    expect(() => restoreStopAgent(path, scalar, 'states of one encoder')).toThrow(/normalizer\/mean.*8.*1/);
    const wider = create([1], { ppo: { hidden: 9 } });
    expect(() => restoreStopAgent(path, wider, 'states of one encoder')).toThrow(
      /agent\/parameters\/w1 is 1 × 8 × 12, and 1 × 8 × 18 is needed/,
    );
    for (const made of [training, two, scalar, wider]) disposeStopAgentTraining(made);
  });

  it('is refused when truncated, wherever the cut is', () => {
    const training = create();
    saveStopAgent(path, training, 'states');
    const file = readFileSync(path);
    for (const bytes of [20, 300, file.length - 1]) {
      writeFileSync(path, file.subarray(0, bytes));
      expect(() => restoreStopAgent(path, training, 'states')).toThrow(/truncated/);
    }
    disposeStopAgentTraining(training);
  });
});

describe('tensors', () => {
  it.each<[string, Input]>([
    ['the paper', {}],
    ['the published code', stopAgentPresets.published],
    ['no penalty', { gail: { penalty: 0 } }],
    ['no imitation', { imitationReward: 0, taskReward: 1 }],
  ])('are as many after an iteration as before, and gone in the end: %s', async (_, more) => {
    const training = create([1, 2], more);
    const before = tf.memory().numTensors;
    await trainStopAgent(training, { onIteration: () => expect(tf.memory().numTensors).toBe(before) });
    expect(training.iteration).toBe(4);
    disposeStopAgentTraining(training);
  });
});

describe('backends', () => {
  it.each<[string, Input]>([
    ['the paper', {}],
    ['the published code', stopAgentPresets.published],
  ])('agree after several iterations: %s', async (_, more) => {
    const results = [];
    for (const backend of ['wasm', 'cpu'] as const) {
      await selectBackend(backend);
      const training = create([1], more);
      await train(training);
      results.push(snapshot(training));
      disposeStopAgentTraining(training);
    }
    const [wasm, cpu] = results;
    expect(wasm.rest.random).toEqual(cpu.rest.random);
    expect(difference(wasm, cpu)).toBeLessThan(1e-4);
  });
});

describe('what cannot be trained', () => {
  const creating =
    (more: Input, data = syntheticData()) =>
    () =>
      create([1], more, data);

  it('is refused with the reason and what to do', () => {
    expect(creating({}, syntheticData({ all: false }))).toThrow(/nothing to imitate: 0 demonstrations/);
    const onlyMisleading = syntheticData();
    expect(
      creating(
        {},
        {
          ...onlyMisleading,
          demonstrations: onlyMisleading.demonstrations.filter(({ expert }) => expert === 'misleading'),
        },
      ),
    ).toThrow(/nothing to imitate: 2 demonstrations, none of them conservative or early-action/);
    expect(creating({}, { ...syntheticData(), environment: new Int32Array(0) })).toThrow(
      /no thread is left for the environment.*3 posts/,
    );
    expect(
      creating(
        { imitationReward: 0, taskReward: 1, initialization: 'behavior-cloning' },
        syntheticData({ all: false }),
      ),
    ).toThrow(/nothing to copy/);
    expect(creating({ imitationReward: 0 })).toThrow(/both 0, so there is nothing to learn/);
    expect(creating({ taskReward: 1 }, { ...syntheticData(), labelled: new Map() })).toThrow(
      /taskReward is 1, but no demonstration thread/,
    );
    expect(creating({ imitationReward: 0, taskReward: 1, normalizer: 'scalar-running' })).toThrow(
      /scalar-running learns from rollouts/,
    );
    expect(creating({ gail: { batchSize: 25 } })).toThrow(
      /stepsPerIteration \(24\) must be at least gail\.batchSize \(25\)/,
    );
    expect(creating({ ppo: { minibatches: 25 } })).toThrow(
      /stepsPerIteration \(24\) must be at least ppo\.minibatches \(25\)/,
    );
  });

  it('is refused by the schema where nothing would be left to imitate', () => {
    const parsed = gailSchema.safeParse({ alpha: 0.2, beta: 0.1, gamma: 0.3 });
    expect(parsed.error?.issues[0].message).toBe(
      'alpha + beta must exceed gamma, or nothing is left to imitate; got 0.2 + 0.1 ≤ 0.3',
    );
    expect(gailSchema.safeParse({ alpha: 0.2, beta: 0.2, gamma: 0.3 }).success).toBe(true);
  });
});

describe('every option', () => {
  it.each<[string, Input]>([
    ['preset published', stopAgentPresets.published],
    ['pairing', { pairing: 'previous-step' }],
    ['balance', { balance: 'stop-step' }],
    ['last post', { lastPost: 'dropped' }],
    ['episode end', { episodeEnd: 'stop' }],
    ['normaliser', { normalizer: 'scalar-running' }],
    ['initialisation', { initialization: 'behavior-cloning' }],
    ['no imitation', { imitationReward: 0, taskReward: 1 }],
    ['task reward', { taskReward: 2, delayCost: 0.9 }],
    ['task target', { taskReward: 2, taskTarget: 'probability' }],
    ['no learning-rate decay', { ppo: { learningRateDecay: 'none' } }],
    ['misleading: subtract', { gail: { misleading: 'subtract', misleadingPenalty: 'subtract' } }],
    ['no penalty', { gail: { penalty: 0 } }],
    ['no weight on the misleading expert', { gail: { alpha: 1, beta: 0, gamma: 0 } }],
    ['no warm-up', { gail: { warmupIterations: 0 } }],
  ])('trains a few iterations to finite numbers: %s', async (_, more) => {
    const training = create([1, 2], more);
    const start = snapshot(training);
    const metrics = await train(training);
    expect(metrics).toHaveLength(4);
    expectFinite(training, metrics);
    expect(difference(snapshot(training), start)).toBeGreaterThan(1e-3);
    disposeStopAgentTraining(training);
  });

  it('trains without demonstrations where nothing is imitated', async () => {
    const training = create([1], { imitationReward: 0, taskReward: 1 }, syntheticData({ all: false }));
    expectFinite(training, await train(training));
    disposeStopAgentTraining(training);
  });

  it('trains without any misleading trajectory, the other two as they would', async () => {
    const training = create([1], {}, syntheticData({ misleading: false }));
    const metrics = await train(training);
    expectFinite(training, metrics);
    expect(training.experts).toEqual(['conservative', 'earlyAction']);
    expect(Object.keys(metrics[0][0])).not.toContain('discriminator/says_expert_misleading');
    disposeStopAgentTraining(training);
  });

  it.each([1e6, -1e6])('trains a policy that is certain (head times %d)', async (factor) => {
    const training = create([1]);
    const { w3 } = training.agent.parameters;
    training.agent.parameters.w3 = tf.mul(w3, factor);
    w3.dispose();
    expectFinite(training, await train(training));
    disposeStopAgentTraining(training);
  });

  it('trains on threads of one post', async () => {
    const training = create([1], {}, { ...syntheticData(), environment: Int32Array.of(2, 9) });
    expectFinite(training, await train(training));
    disposeStopAgentTraining(training);
  });
});

describe('the scalar normaliser', () => {
  it('learns from the first 11 iterations and is frozen then', async () => {
    const training = create([1], { normalizer: 'scalar-running', iterations: 13 });
    const counts: number[] = [];
    await trainStopAgent(training, { onIteration: ({ moments }) => void counts.push(moments.count) });
    const perIteration = 24 * dimensions;
    expect(counts).toEqual(Array.from({ length: 13 }, (_, i) => Math.min(i + 1, 11) * perIteration));
    disposeStopAgentTraining(training);
  });

  it('moves the states, not the policy: an update that learns nothing changes no probability', async () => {
    const training = create([1], { normalizer: 'scalar-running', ppo: { learningRate: 1e-12 } });
    // Opinions that depend on the state; a fresh head says one half everywhere.
    const { w3 } = training.agent.parameters;
    training.agent.parameters.w3 = tf.mul(w3, 300);
    w3.dispose();
    for (const [own] of await train(training)) {
      expect(own['ppo/approximate_kl']).toBeCloseTo(0, 6);
      expect(own['ppo/clip_fraction']).toBe(0);
    }
    disposeStopAgentTraining(training);
  });
});

describe('the task return', () => {
  it.each([
    ['right', 2 * 1.5 * (1 - 0.3)],
    ['probability', 2 * 1.5 * (0.75 - 0.3)],
  ] as const)(
    'is the label weight · (%s − delay cost · share of posts used) where the thread ends',
    async (taskTarget, expected) => {
      // Threads of one post: whatever the policy, the decision uses all posts. Weight 2 scales gradients, not the return.
      const thread = { right: Uint8Array.of(1), probability: Float32Array.of(0.75), weight: 1.5 };
      const data = { ...syntheticData(), labelled: new Map([2, 9].map((i) => [i, thread])) };
      const training = create([1], { imitationReward: 0, taskReward: 2, delayCost: 0.3, taskTarget }, data);
      for (const [own] of await train(training)) expect(own['task/expected_return']).toBeCloseTo(expected / 2, 5);
      disposeStopAgentTraining(training);
    },
  );

  it('is climbed: the agent learns to stop where it pays, without a rollout', async () => {
    const thread = { right: Uint8Array.of(0, 1, 1, 1), probability: Float32Array.of(0, 1, 1, 1), weight: 1 };
    const data = { ...syntheticData(), environment: new Int32Array(0), labelled: new Map([[4, thread]]) };
    const training = create(
      [1],
      { imitationReward: 0, taskReward: 1, delayCost: 0.4, iterations: 100, ppo: { learningRate: 3e-3 } },
      data,
    );
    const metrics = await train(training);
    const returns = metrics.map(([own]) => own['task/expected_return']);
    expect(returns.at(-1)).toBeGreaterThan(0.75);
    expect(returns.at(-1)).toBeLessThanOrEqual(0.8);
    expect(returns[0]).toBeLessThan(0.6);
    expect(Object.keys(metrics[0][0])).toEqual(['task/expected_return']);
    disposeStopAgentTraining(training);
  });
});

describe('training', () => {
  // States that say outright whether to stop: the first number is the post. Experts stop at the third.
  it('comes to stop where the experts stop', async () => {
    const posts = 6;
    const threads = Array.from({ length: 12 }, () => posts);
    const table = buildStateTable({
      threads: threads.map(() => ({
        posts,
        embeddings: new Float32Array(posts * 2).map((_, i) => Number(i % 2 === 0)),
      })),
      dimensions: 2,
      actionEmbeddings: [Float32Array.of(0, 0), Float32Array.of(0, 1)],
    });
    const data: StopAgentData = {
      table,
      environment: Int32Array.of(6, 7, 8, 9, 10, 11),
      demonstrations: [0, 1, 2, 3, 4, 5].map((thread) => ({ expert: 'conservative', thread, stopStep: 2 })),
      labelled: new Map(),
    };
    const more: Input = {
      iterations: 50,
      ppo: {
        hidden: 16,
        stepsPerIteration: 60,
        epochs: 3,
        minibatches: 2,
        learningRate: 2e-3,
        learningRateDecay: 'none',
        entropyCoefficient: 0.1,
      },
      gail: {
        hidden: 16,
        batchSize: 30,
        epochs: 3,
        warmupEpochs: 10,
        warmupIterations: 10,
        learningRate: 3e-3,
        penalty: 1,
      },
    };
    const training = create([1], more, data);
    const metrics = await train(training);
    const [probabilities] = stopProbabilities(
      { parameters: training.agent.parameters, moments: training.moments },
      table,
    );
    expect(Math.max(...probabilities.subarray(0, 2))).toBeLessThan(0.3);
    expect(Math.min(...probabilities.subarray(2))).toBeGreaterThan(0.7);
    expect(metrics[49][0]['rollout/mean_stop_post']).toBeCloseTo(3, 0);
    disposeStopAgentTraining(training);
  });
});
