import * as tf from '@tensorflow/tfjs-core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { buildStateTable } from '../../../envs/state-table.ts';
import { selectBackend } from '../../../src/tensor/backend.ts';
import { workContext } from '../../../src/work-context.ts';
import { stopAgentSchema } from '../../../trainers/stop-agent/config.ts';
import { createStopAgent } from '../../../trainers/stop-agent/create.ts';
import { policyOfState } from '../../../trainers/stop-agent/network-state.ts';
import { type StopPolicy, stopProbabilities } from '../../../trainers/stop-agent/policy.ts';
import type { StopProblem } from '../../../trainers/stop-agent/problem.ts';
import { settledPairs } from '../../../trainers/stop-agent/settled-pairs.ts';
import type { Metrics, Trainer, TrainerState } from '../../../trainers/trainer.ts';
import { trainerBackends } from '../../src/tensor/test-backend.ts';
import { type AgentInput, everyPost, smallConfig, smallProblem, smallSettings } from './small-problem.ts';

type StopTrainer = Trainer<StopPolicy>;

function create(seed = 1, more: AgentInput = {}, problem = smallProblem()): Promise<StopTrainer> {
  return createStopAgent(smallSettings({ seed, more, problem }));
}

/** Trains to the end, or to the given iteration, and returns the metrics of every iteration. No iteration may leave a tensor behind. */
async function train(trainer: StopTrainer, until = Infinity): Promise<Metrics[]> {
  const metrics: Metrics[] = [];
  const before = tf.memory().numTensors;
  while (trainer.iteration < Math.min(until, trainer.iterations)) {
    metrics.push(await trainer.iterate(workContext()));
    expect(tf.memory().numTensors).toBe(before);
  }
  return metrics;
}

/** Largest difference between the weights of two states. */
function difference(a: TrainerState, b: TrainerState): number {
  // Sums of Adam's decayed gradients and squares as the means that they stand for.
  const scaleOf = (name: string) => (name.includes('/squareSums/') ? 1e-3 : name.includes('/gradientSums/') ? 0.1 : 1);
  return Math.max(
    ...Object.entries(a.arrays).flatMap(([name, { data }]) =>
      // Not the order of the threads to come and the steps that are remembered, which grow.
      Array.from(
        data instanceof Float32Array && !name.startsWith('memory/') ? data : [],
        (value, i) => scaleOf(name) * Math.abs(value - b.arrays[name].data[i]),
      ),
    ),
  );
}

async function expectFinite(trainer: StopTrainer, metrics: Metrics[]): Promise<void> {
  const { arrays } = await trainer.state();
  for (const [name, { data }] of Object.entries(arrays))
    expect(Array.from(data).every(Number.isFinite), name).toBe(true);
  for (const own of metrics)
    for (const [name, value] of Object.entries(own)) expect(Number.isFinite(value), name).toBe(true);
}

/** Multiplies the last layer, so that the policy has opinions; a fresh one says one half everywhere. */
async function scaleHead(trainer: StopTrainer, factor: number): Promise<void> {
  const { arrays, values } = await trainer.state();
  const { shape, data } = arrays['agent/parameters/w3'];
  const scaled = { shape, data: Float32Array.from(data, (value) => value * factor) };
  trainer.restore({ values, arrays: { ...arrays, 'agent/parameters/w3': scaled } });
}

/** Where long trainings run: the others are held to each step of it, so that they learn the same. */
const quickest = trainerBackends[trainerBackends.length - 1];

describe.each(trainerBackends)('on %s', (backend) => {
  const itOnQuickest = it.runIf(backend === quickest);
  let tensorsBefore = 0;
  beforeEach(async () => {
    await selectBackend(backend);
    tensorsBefore = tf.memory().numTensors;
  });
  afterEach(() => expect(tf.memory().numTensors).toBe(tensorsBefore));

  const everyAlgorithm: [string, AgentInput][] = [
    ['imitation', {}],
    ['exact-policy-gradient', { algorithm: 'exact-policy-gradient' }],
    ['behavior-cloning', { algorithm: 'behavior-cloning' }],
    ['settled', { algorithm: 'settled' }],
    ['dqn', { algorithm: 'dqn' }],
  ];

  it.each(everyAlgorithm)('seeds give other weights: %s', async (_, more) => {
    const [one, other] = [await create(7, more), await create(8, more)];
    expect(difference(await one.state(), await other.state())).toBeGreaterThan(0.01);
    for (const trainer of [one, other]) trainer.dispose();
  });

  describe('a state', () => {
    it.each<[string, AgentInput]>([
      ['the defaults', { iterations: 4 }],
      ['episodes that end with the stop', { imitation: { episodeEnd: 'stop' } }],
      ['stops that are final, and −log D', { imitation: { afterStop: 'stop', reward: 'minus-log-d' } }],
      ['a discriminator for each expert', { imitation: { objective: 'separate' } }],
      ['a task weight', { imitation: { taskWeight: 1 } }],
      ['a start from a copy', { initialization: 'behavior-cloning' }],
      ['exact policy gradient', { algorithm: 'exact-policy-gradient' }],
      ['behaviour cloning', { algorithm: 'behavior-cloning' }],
      ['settled', { algorithm: 'settled' }],
      ['deep Q-learning', { algorithm: 'dqn' }],
    ])('holds all of a run: 2k iterations equal k, save, restore, k, bit for bit: %s', async (_, more) => {
      const whole = await create(5, more);
      const wholeMetrics = await train(whole);
      await expectFinite(whole, wholeMetrics);
      const first = await create(5, more);
      const half = whole.iterations / 2;
      const firstMetrics = await train(first, half);
      expect(first.iteration).toBe(half);
      const saved = await first.state();
      first.dispose();
      const second = await create(5, more);
      second.restore(saved);
      const secondMetrics = await train(second);
      expect([...firstMetrics, ...secondMetrics]).toEqual(wholeMetrics);
      const state = await whole.state();
      expect(await second.state()).toEqual(state);
      // The policy, with what standardises its states.
      const { table } = smallProblem();
      const probabilities = stopProbabilities(await whole.policy(), table);
      expect(probabilities.map(({ length }) => length)).toEqual(Array.from(table.lengths));
      expect(stopProbabilities(policyOfState(state), table)).toEqual(probabilities);
      for (const trainer of [whole, second]) trainer.dispose();
    });

    it('is refused where it does not fit, with the reason', async () => {
      const trainer = await create();
      const saved = await trainer.state();
      const wider = await create(1, { hidden: 9 });
      expect(() => wider.restore(saved)).toThrow(/agent\/parameters\/w1 is 8 × 12, and 8 × 18 is needed/);
      const { 'agent/parameters/w2': _, ...lacking } = saved.arrays;
      expect(() => trainer.restore({ ...saved, arrays: lacking })).toThrow(/agent\/parameters\/w2 is missing/);
      for (const made of [trainer, wider]) made.dispose();
    });
  });

  describe('backends', () => {
    // From the third iteration on, the graphs are neither traced nor compared any more.
    it.each<[string, AgentInput]>([
      ...everyAlgorithm,
      ['imitation of three discriminators beside a task', { imitation: { objective: 'separate', taskWeight: 2 } }],
    ])('agree after each of three iterations: %s', async (_, more) => {
      const states: TrainerState[][] = [];
      for (const own of [backend, 'cpu'] as const) {
        await selectBackend(own);
        const trainer = await create(1, { ...more, iterations: 3 });
        const reached: TrainerState[] = [];
        for (let iteration = 0; iteration < 3; iteration++) {
          await trainer.iterate(workContext());
          reached.push(await trainer.state());
        }
        trainer.dispose();
        states.push(reached);
      }
      for (const [iteration, state] of states[0].entries())
        expect(difference(state, states[1][iteration])).toBeLessThan(1e-4);
    });
  });

  describe('what cannot be trained', () => {
    it('is refused with the reason and what to do', async () => {
      const noneLeft = smallProblem({ left: ['conservative', 'earlyAction', 'misleading'] });
      const onlyMisleading = smallProblem({ left: ['conservative', 'earlyAction'] });
      const creating = (more: AgentInput, problem?: StopProblem) => create(1, more, problem);
      await expect(creating({}, noneLeft)).rejects.toThrow(/nothing to imitate: 0 demonstrations/);
      await expect(creating({}, onlyMisleading)).rejects.toThrow(
        /nothing to imitate: 2 demonstrations, none of them conservative or early-action/,
      );
      // Without conservative ones, β − γ is 0.
      await expect(creating({}, smallProblem({ left: ['conservative'] }))).rejects.toThrow(
        /nothing is left to imitate: .* earlyAction and misleading ones, whose weights come to 0\.000 .* lower imitation\.gamma/,
      );
      await expect(creating({}, { ...smallProblem(), environment: new Int32Array(0) })).rejects.toThrow(
        /no thread is left for the environment.*3 posts/,
      );
      const cloning = await creating({ algorithm: 'behavior-cloning' }, onlyMisleading);
      await expect(train(cloning)).rejects.toThrow(/nothing to copy/);
      cloning.dispose();
      await expect(
        creating({ algorithm: 'exact-policy-gradient' }, { ...smallProblem(), labelled: new Map() }),
      ).rejects.toThrow(/needs labelled demonstration threads, and none has 3 posts/);
      const { table } = smallProblem();
      const blind = { ...smallProblem(), table: { ...table, data: new Float32Array(0), columns: 0 } };
      await expect(creating({}, blind)).rejects.toThrow(/the states have no columns/);
    });

    it.each<[AgentInput, RegExp]>([
      [{ imitation: { alpha: 0.2, beta: 0.1, gamma: 0.3 } }, /alpha \+ beta must exceed gamma.*got 0.2 \+ 0.1 ≤ 0.3/],
      [
        { imitation: { discriminator: { batchSize: 25 }, ppo: { stepsPerIteration: 24 } } },
        /stepsPerIteration \(24\) must be at least discriminator\.batchSize \(25\)/,
      ],
      [
        { imitation: { ppo: { minibatches: 201 } } },
        /stepsPerIteration \(200\) must be at least ppo\.minibatches \(201\)/,
      ],
      [{ algorithm: 'behavior-cloning', initialization: 'behavior-cloning' }, /starts from random weights/],
    ])('is refused by the schema: %j', (input, message) => {
      const { error } = stopAgentSchema.safeParse(input);
      expect(error?.issues.map((issue) => issue.message).join('\n')).toMatch(message);
    });

    it('is not refused where the weights leave something to imitate', () => {
      expect(stopAgentSchema.safeParse({ imitation: { alpha: 0.2, beta: 0.2, gamma: 0.3 } }).success).toBe(true);
    });
  });

  describe('every option', () => {
    it.each<[string, AgentInput]>([
      ['balance', { balance: 'stop-step' }],
      ['end at the stop', { imitation: { episodeEnd: 'stop' } }],
      ['delay cost', { algorithm: 'exact-policy-gradient', task: { delayCost: 0.9 } }],
      ['task target', { algorithm: 'exact-policy-gradient', task: { target: 'right' } }],
      ['no learning-rate decay', { imitation: { ppo: { learningRateDecay: 'none' } } }],
      ['nothing scaled', { imitation: { rewardScale: 'none', ppo: { advantages: 'none' } } }],
      ['misleading: subtract', { imitation: { misleading: 'subtract' } }],
      ['no penalty', { imitation: { discriminator: { penalty: 0 } } }],
      ['no weight on the misleading expert', { imitation: { alpha: 1, beta: 0, gamma: 0 } }],
      ['no warm-up', { imitation: { discriminator: { warmupIterations: 0 } } }],
    ])('trains a few iterations to finite numbers: %s', async (_, more) => {
      const trainer = await create(1, more);
      const start = await trainer.state();
      const metrics = await train(trainer);
      expect(metrics).toHaveLength(2);
      await expectFinite(trainer, metrics);
      expect(difference(await trainer.state(), start)).toBeGreaterThan(1e-3);
      trainer.dispose();
    });

    it('trains without demonstrations where nothing is imitated', async () => {
      const problem = smallProblem({ left: ['conservative', 'earlyAction', 'misleading'] });
      const trainer = await create(1, { algorithm: 'exact-policy-gradient' }, problem);
      await expectFinite(trainer, await train(trainer));
      trainer.dispose();
    });

    it('trains without any misleading trajectory, the other two as they would', async () => {
      const trainer = await create(1, {}, smallProblem({ left: ['misleading'] }));
      const metrics = await train(trainer);
      await expectFinite(trainer, metrics);
      const names = Object.keys(metrics[0]).filter((name) => name.startsWith('discriminator/says'));
      expect(names).toEqual(['discriminator/says_expert_conservative', 'discriminator/says_expert_earlyAction']);
      trainer.dispose();
    });

    it('logs the penalty where there is one', async () => {
      const penaltyOf = async (penalty: number) => {
        const trainer = await create(1, { imitation: { discriminator: { penalty } } });
        const [metrics] = await train(trainer);
        trainer.dispose();
        return metrics['discriminator/penalty'];
      };
      const [heavy, light] = [await penaltyOf(10), await penaltyOf(5)];
      expect(heavy).toBeGreaterThan(0);
      // In the first iteration few updates separate the two: half the weight makes half of it, nearly.
      expect(heavy / light).toBeGreaterThan(1.9);
      expect(heavy / light).toBeLessThan(2.1);
      expect(await penaltyOf(0)).toBeUndefined();
    });

    it.each([1e6, -1e6])('trains a policy that is certain (head times %d)', async (factor) => {
      const trainer = await create();
      await scaleHead(trainer, factor);
      await expectFinite(trainer, await train(trainer));
      trainer.dispose();
    });

    it('trains on threads of one post', async () => {
      const trainer = await create(1, {}, { ...smallProblem(), environment: Int32Array.of(2, 9) });
      await expectFinite(trainer, await train(trainer));
      trainer.dispose();
    });
  });

  describe('a start from a copy', () => {
    it('differs from random weights and leaves a fresh optimiser behind', async () => {
      const copied = await create(1, { initialization: 'behavior-cloning' });
      const random = await create();
      const { arrays, values } = await copied.state();
      expect(values).toMatchObject({ updates: { agent: 0 } });
      const moments = Object.entries(arrays).filter(([name]) => /^agent\/(gradient|square)Sums/.test(name));
      expect(moments).toHaveLength(12);
      for (const [, { data }] of moments) expect(Array.from(data).every((value) => value === 0)).toBe(true);
      const { arrays: fresh } = await random.state();
      expect(arrays['agent/parameters/w3']).not.toEqual(fresh['agent/parameters/w3']);
      for (const trainer of [copied, random]) trainer.dispose();
    });
  });

  describe('the settled agent', () => {
    it('learns how likely the judgement is the last one in each state, and weighs threads the same', async () => {
      // States tell the threads apart and nothing else: the first post of one is final in all, of the other in none.
      const thread = (isFinal: readonly number[]) => ({
        ...everyPost(isFinal.length),
        right: Uint8Array.from(isFinal),
        probability: new Float32Array(isFinal.length).fill(0.8),
        isFinal: Uint8Array.from(isFinal),
        weight: 1,
      });
      const labelled = new Map([
        [1, thread([0, 0, 0, 1, 1])],
        [3, thread([1, 1, 1, 1, 1, 1, 1])],
      ]);
      const problem = { ...smallProblem(), labelled };
      const pairs = settledPairs({ seed: 1, config: smallConfig({ algorithm: 'settled' }), problem });
      expect([...pairs.actions]).toEqual([0, 0, 0, 1, 1, ...Array(7).fill(1)]);
      expect(pairs.weights.subarray(0, 5).reduce((sum, own) => sum + own, 0)).toBeCloseTo(6, 5);
      expect(pairs.weights.subarray(5).reduce((sum, own) => sum + own, 0)).toBeCloseTo(6, 5);
      const trainer = await create(
        1,
        { algorithm: 'settled', behaviorCloning: { epochs: 300, batchSize: 12, learningRate: 0.01 } },
        problem,
      );
      await train(trainer);
      const policy = await trainer.policy();
      const all = await stopProbabilities(policy, problem.table);
      for (const [place, { isFinal }] of labelled)
        for (const [step, final] of isFinal.entries()) expect(all[place][step]).toBeCloseTo(final, 1);
      trainer.dispose();
    });

    it('needs judged threads', async () => {
      const problem = { ...smallProblem(), labelled: new Map() };
      await expect(create(1, { algorithm: 'settled' }, problem)).rejects.toThrow(/needs judged threads/);
    });
  });

  describe('the exact policy gradient', () => {
    it.each([
      ['right', 1.5 * (1 - 0.3)],
      ['probability', 1.5 * (0.75 - 0.3)],
    ] as const)(
      'is the label weight · (%s − delay cost · share of posts used) where the thread ends',
      async (target, expected) => {
        // Threads of one post: whatever the policy, the decision uses all posts.
        const thread = { right: Uint8Array.of(1), probability: Float32Array.of(0.75), ...everyPost(1), weight: 1.5 };
        const problem = { ...smallProblem(), labelled: new Map([2, 9].map((i) => [i, thread])) };
        const trainer = await create(
          1,
          { algorithm: 'exact-policy-gradient', task: { delayCost: 0.3, target } },
          problem,
        );
        for (const own of await train(trainer)) expect(own['task/expected_return']).toBeCloseTo(expected, 5);
        trainer.dispose();
      },
    );

    itOnQuickest('is climbed: the agent learns to stop where it pays, without a rollout', async () => {
      const thread = {
        right: Uint8Array.of(0, 1, 1, 1),
        probability: Float32Array.of(0, 1, 1, 1),
        ...everyPost(4),
        weight: 1,
      };
      const problem = { ...smallProblem(), environment: new Int32Array(0), labelled: new Map([[4, thread]]) };
      const trainer = await create(
        1,
        { algorithm: 'exact-policy-gradient', iterations: 100, task: { delayCost: 0.4 } },
        problem,
      );
      const metrics = await train(trainer);
      const returns = metrics.map((own) => own['task/expected_return']);
      expect(returns.at(-1)).toBeGreaterThan(0.75);
      expect(returns.at(-1)).toBeLessThanOrEqual(0.8);
      expect(returns[0]).toBeLessThan(0.6);
      expect(Object.keys(metrics[0])).toEqual(['task/expected_return']);
      trainer.dispose();
    });

    itOnQuickest(
      'beside imitation is one weighted gradient: a large weight ends where the exact policy gradient alone does',
      async () => {
        const thread = {
          right: Uint8Array.of(0, 1, 1, 1),
          probability: Float32Array.of(0, 1, 1, 1),
          ...everyPost(4),
          weight: 1,
        };
        const problem = { ...smallProblem(), labelled: new Map([[4, thread]]) };
        const lastReturn = async (taskWeight: number) => {
          const trainer = await create(
            1,
            { iterations: 40, imitation: { taskWeight }, task: { delayCost: 0.4 } },
            problem,
          );
          const metrics = await train(trainer);
          trainer.dispose();
          return metrics.at(-1)?.['task/expected_return'] ?? Number.NaN;
        };
        const [little, much] = [await lastReturn(1e-6), await lastReturn(100)];
        expect(much).toBeGreaterThan(0.7);
        expect(little).toBeLessThan(much - 0.02);
      },
    );
  });

  describe('imitation', () => {
    // States that say outright whether to stop: the first number is the post. Experts stop at the third.
    itOnQuickest.each([
      ['free', 'shared'],
      ['stop', 'shared'],
      ['stop', 'separate'],
    ] as const)('comes to stop where the experts stop: %s after a stop, %s', async (afterStop, objective) => {
      const posts = 6;
      const table = buildStateTable({
        threads: Array.from({ length: 12 }, () => ({
          posts,
          embeddings: new Float32Array(posts * 2).map((_, i) => Number(i % 2 === 0)),
        })),
        dimensions: 2,
        actionEmbeddings: [Float32Array.of(0, 0), Float32Array.of(0, 1)],
      });
      const problem: StopProblem = {
        table,
        environment: Int32Array.of(6, 7, 8, 9, 10, 11),
        demonstrations: [0, 1, 2, 3, 4, 5].map((thread) => ({ expert: 'conservative', thread, stopStep: 2 })),
        labelled: new Map(),
      };
      const config = smallConfig({
        iterations: 120,
        hidden: 16,
        imitation: {
          afterStop,
          objective,
          ppo: {
            stepsPerIteration: 60,
            epochs: 3,
            minibatches: 2,
            learningRate: 3e-3,
            entropyCoefficient: 0.01,
          },
          discriminator: {
            hidden: 16,
            batchSize: 30,
            epochs: 3,
            warmupEpochs: 10,
            warmupIterations: 10,
            learningRate: 1e-2,
            penalty: 1,
          },
        },
      });
      const trainer = await createStopAgent({ seed: 1, config, problem });
      const metrics = await train(trainer);
      const policy = await trainer.policy();
      const [probabilities] = await stopProbabilities(policy, table);
      expect(Math.max(...probabilities.subarray(0, 2))).toBeLessThan(0.3);
      // Where a stop is final, later posts are hardly ever acted upon.
      const certain = afterStop === 'stop' ? probabilities.subarray(2, 3) : probabilities.subarray(2);
      expect(Math.min(...certain)).toBeGreaterThan(0.7);
      expect(metrics[119]['rollout/mean_stop_post']).toBeCloseTo(3, 0);
      trainer.dispose();
    });
  });
});
