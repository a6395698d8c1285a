import * as tf from '@tensorflow/tfjs-core';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { buildStateTable, STOP } from '../../envs/state-table.ts';
import { initialState, lookAhead, rollOut, type StopEnvOptions } from '../../envs/stop-env.ts';
import { selectBackend } from '../../src/tensor/backend.ts';
import { gradientsOf } from '../../src/tensor/gradients.ts';
import { Random } from '../../src/tensor/random.ts';
import { exactAdvantages, occupancyOf } from '../../trainers/exact-gail.ts';
import { exactPpoLoss } from '../../trainers/exact-ppo.ts';
import { generalizedAdvantages } from '../../trainers/gae.ts';
import { createPolicyValue, masked, policyValueForward } from '../../trainers/policy-value.ts';
import { ppoLoss } from '../../trainers/ppo.ts';
import { actionValues } from '../../trainers/thread-mdp.ts';
import { testBackend } from '../src/tensor/test-backend.ts';

beforeAll(() => selectBackend(testBackend()));

/*
 * The sampled estimators of gail.ts and ppo.ts, with very many steps, against their expectations. With passes over all
 * threads every thread is sampled as often, as the expectation takes them.
 */
const lengths = [4, 1, 7, 3];
const inputs = 3;
const discount = 0.95;

function sampledAndExact(episodeEnd: StopEnvOptions['episodeEnd'], passes = 6000) {
  const random = Random.seeded({ seed: 4, purpose: 'exact GAIL' });
  const vector = (length: number) => Float32Array.from({ length }, () => random.normal());
  const table = buildStateTable({
    threads: lengths.map((posts) => ({ posts, embeddings: vector(posts * inputs) })),
    dimensions: inputs,
    actionEmbeddings: [vector(inputs), vector(inputs)],
  });
  const rowCount = table.firstRows[lengths.length];
  const goesOn = episodeEnd === 'last-post';
  const mdps = { steps: lengths, goesOn };
  const rows = lengths.flatMap((steps, thread) =>
    Array.from(
      { length: goesOn ? 2 * steps - 1 : steps },
      (_, state) => table.firstRows[thread] + (goesOn || state === 0 ? state : 2 * state - 1),
    ),
  );
  // A policy and a discriminator of the row.
  const stopOfRow = Float64Array.from({ length: rowCount }, () => 0.1 + 0.8 * random.uniform());
  const rewardOfRow = vector(2 * rowCount);
  const stopProbability = Float64Array.from(rows, (row) => stopOfRow[row]);
  const rewards = Float32Array.from(rows.flatMap((row) => [rewardOfRow[2 * row], rewardOfRow[2 * row + 1]]));
  const occupancy = occupancyOf(mdps, stopProbability);
  const advantages = exactAdvantages(mdps, { stopProbability, rewards, discount });

  const environment: StopEnvOptions = {
    table,
    threads: Int32Array.of(0, 1, 2, 3),
    episodeEnd,
    afterStop: 'free',
    lastPost: 'decision',
  };
  const state = initialState();
  const steps = passes * lengths.reduce((sum, length) => sum + length, 0);
  lookAhead(environment, state, { steps, shuffle: (length) => random.permutation(length) });
  const rollout = rollOut(environment, state, {
    steps,
    stopProbability: (row) => stopOfRow[row],
    uniform: () => random.uniform(),
  });
  return { table, mdps, rows, stopProbability, rewards, rewardOfRow, occupancy, advantages, rollout };
}

describe.each(['last-post', 'stop'] as const)('expectations where an episode ends at the %s', (episodeEnd) => {
  const { mdps, rows, stopProbability, rewards, rewardOfRow, occupancy, advantages, rollout } =
    sampledAndExact(episodeEnd);
  const stateOfRow = new Map(rows.map((row, state) => [row, state]));
  const pairs = Array.from(rollout.rows, (row, step) => 2 * (stateOfRow.get(row) ?? -1) + rollout.actions[step]);
  const counts = new Float64Array(2 * rows.length);
  for (const pair of pairs) counts[pair]++;
  const share = (pair: number) => (pair % 2 === STOP ? occupancy.stopping : occupancy.continuing)[pair >> 1];

  it('hold every state and pair as often as rollouts visit it', () => {
    for (const [pair, count] of counts.entries()) expect(count / pairs.length).toBeCloseTo(share(pair), 2);
    const total =
      occupancy.stopping.reduce((sum, own) => sum + own, 0) + occupancy.continuing.reduce((s, o) => s + o, 0);
    expect(total).toBeCloseTo(1, 5);
  });

  it("hold the mean of the discriminator's term", () => {
    const term = (logit: number) => Math.log1p(Math.exp(logit));
    let sampled = 0;
    for (const [step, row] of rollout.rows.entries())
      sampled += term(rewardOfRow[2 * row + rollout.actions[step]]) / pairs.length;
    let exact = 0;
    for (const [pair, reward] of rewards.entries()) exact += share(pair) * term(reward);
    expect(sampled).toBeCloseTo(exact, 2);
  });

  it.each([0, 0.97])('hold the mean of generalised advantages with an exact critic, λ = %d', (lambda) => {
    // The critic is the exact value of each state.
    const valueOfState = Float32Array.from(actionValues(mdps, { stopProbability, rewards, discount }).values);
    const estimate = generalizedAdvantages({
      rewards: Float32Array.from(pairs, (pair) => rewards[pair]),
      values: Float32Array.from(pairs, (pair) => valueOfState[pair >> 1]),
      ends: rollout.ends,
      bootstrapValue: 0,
      discount,
      lambda,
    });
    const sums = new Float64Array(counts.length);
    for (const [step, pair] of pairs.entries()) sums[pair] += estimate.advantages[step];
    for (const [pair, count] of counts.entries()) {
      if (count < 1000) continue;
      const exact = (pair % 2 === STOP ? advantages.ofStopping : advantages.ofContinuing)[pair >> 1];
      expect(Math.abs(sums[pair] / count - exact)).toBeLessThan(0.2);
      if (lambda === 0) expect(sums[pair] / count).toBeCloseTo(exact, 2);
    }
    expect(counts.filter((count) => count >= 1000).length).toBeGreaterThan(rows.length);
  });
});

describe('the gradient of PPO’s objective', () => {
  beforeEach(() => tf.engine().startScope());
  afterEach(() => tf.engine().endScope());

  it('is the mean over sampled steps', async () => {
    const { table, rows, rollout, advantages } = sampledAndExact('last-post', 200);
    const agent = createPolicyValue({
      inputs,
      actions: 2,
      hidden: 4,
      hasCritic: true,
      randoms: [Random.seeded({ seed: 1, purpose: 'weights' })],
    });
    const tensorOf = (values: ArrayLike<number>, columns: number) =>
      tf.tensor3d(Float32Array.from(values), [1, values.length / columns, columns]);
    const statesOf = (some: readonly number[] | Int32Array) =>
      tensorOf(
        Array.from(some).flatMap((row) => Array.from(table.data.subarray(row * inputs, (row + 1) * inputs))),
        inputs,
      );
    const stateOfRow = new Map(rows.map((row, state) => [row, state]));
    // Log-probabilities of the policy before: so far off that some ratios are clipped.
    const of = policyValueForward(agent.parameters, statesOf(rows));
    const old = Float32Array.from(await of.logProbabilities.data<'float32'>(), (log, i) => log + (i % 3) * 0.1 - 0.1);
    // The sampled steps' own frequencies, so that the two differ by rounding only.
    const counts = new Float64Array(2 * rows.length);
    const pairs = Array.from(rollout.rows, (row, step) => 2 * (stateOfRow.get(row) ?? -1) + rollout.actions[step]);
    for (const pair of pairs) counts[pair]++;
    const advantageOf = (pair: number) =>
      (pair % 2 === STOP ? advantages.ofStopping : advantages.ofContinuing)[pair >> 1];
    const column = (value: number) => tf.tensor3d([value], [1, 1, 1]);
    const clip = column(0.1);
    const entropy = column(0.02);
    const exactBatch = {
      observations: statesOf(rows),
      oldLogProbabilities: tensorOf(old, 2),
      advantages: tensorOf(
        Float32Array.from(counts, (_, pair) => advantageOf(pair)),
        2,
      ),
      weights: tensorOf(
        counts.map((count) => count / pairs.length),
        2,
      ),
      visits: tensorOf(
        rows.map((_, state) => (counts[2 * state] + counts[2 * state + 1]) / pairs.length),
        1,
      ),
    };
    const some = pairs.length;
    const sampledBatch = {
      observations: statesOf(rollout.rows),
      oneHotActions: tensorOf(
        pairs.flatMap((pair) => (pair % 2 === STOP ? [0, 1] : [1, 0])),
        2,
      ),
      oldLogProbabilities: tensorOf(
        pairs.map((pair) => old[pair]),
        1,
      ),
      oldValues: tf.zeros<tf.Rank.R3>([1, some, 1]),
      returns: tf.zeros<tf.Rank.R3>([1, some, 1]),
      advantages: tensorOf(pairs.map(advantageOf), 1),
      policyWeights: tf.ones<tf.Rank.R3>([1, some, 1]),
    };
    const gradientAt = (lossAt: (parameters: typeof agent.parameters) => tf.Tensor) =>
      gradientsOf(agent.parameters, (own) => ({ loss: lossAt(masked(own, agent.blockMasks)), seen: {} })).gradients;
    const exact = gradientAt((own) => exactPpoLoss(own, exactBatch, { clip, entropy }));
    const sampled = gradientAt((own) =>
      ppoLoss(own, sampledBatch, { clip, entropy, value: column(0), valueClip: clip }),
    );
    for (const name of ['w1', 'b1', 'w2', 'b2', 'w3', 'b3'] as const) {
      const expected = await sampled[name].data();
      for (const [i, value] of (await exact[name].data()).entries()) expect(value).toBeCloseTo(expected[i], 4);
    }
    expect(Math.max(...(await exact.w3.data()).map(Math.abs))).toBeGreaterThan(1e-3);
  });
});
