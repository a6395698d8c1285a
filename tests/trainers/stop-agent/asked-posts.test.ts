import * as tf from '@tensorflow/tfjs-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { judgementSequence } from '../../../experts/judgement-sequence.ts';
import { lengthsUntil, type PrefixSchedule, queriedLengths } from '../../../experts/prefix-schedule.ts';
import { rumorTask } from '../../../src/data/task.ts';
import { selectBackend } from '../../../src/tensor/backend.ts';
import { gradientsOf } from '../../../src/tensor/gradients.ts';
import { matMul } from '../../../src/tensor/operations.ts';
import { Random } from '../../../src/tensor/random.ts';
import { expectedReturn, labelledBatch } from '../../../trainers/exact-policy-gradient.ts';
import { labelledRows } from '../../../trainers/stop-agent/labelled-threads.ts';
import { buildStopProblem } from '../../../trainers/stop-agent/problem.ts';
import { stateTableOf } from '../../../trainers/stop-agent/states.ts';
import { threadOf } from '../../experts/threads.ts';
import { smallConfig } from './small-problem.ts';

beforeAll(() => selectBackend('cpu'));

const [delayCost, queryCost] = [0.3, 0.05];
const random = Random.seeded({ seed: 7, purpose: 'task return' });

/** Threads of 1 to 5 posts with a judgement of every prefix; every second is a rumour. */
const threads = [1, 2, 3, 4, 5].map((posts) => ({
  ...threadOf({ id: `t${posts}`, texts: Array.from({ length: posts }, (_, post) => `post ${post}`) }),
  rumor: posts % 2 === 0,
}));
const probabilityOf = new Map(threads.map(({ id, posts }) => [id, posts.map(() => random.uniform())]));
const sequences = new Map(
  threads.map(({ id }) => [
    id,
    judgementSequence({
      threadId: id,
      labels: rumorTask.labels,
      judgements: (probabilityOf.get(id) ?? []).map((rumor) => ({
        label: rumor > 0.5 ? 'rumor' : 'non-rumor',
        probabilities: { 'non-rumor': 1 - rumor, rumor },
      })),
    }),
  ]),
);

/** The rewards of stops at the posts asked, as training has them. */
async function rewardsOn(schedule: PrefixSchedule) {
  const config = smallConfig({
    algorithm: 'exact-policy-gradient',
    minPosts: 1,
    task: { delayCost, queryCost, target: 'probability' },
  });
  const problem = await buildStopProblem({
    demonstrations: threads,
    environment: [],
    sequences,
    task: rumorTask,
    tableOf: (own) =>
      stateTableOf(own, {
        posts: null,
        features: { count: 1, of: async ({ posts }) => new Float32Array(posts.length) },
        postsSeen: (posts) => [...new Set([...queriedLengths({ schedule, posts }), posts])],
      }),
    queriesAt: (posts) => lengthsUntil(posts, { schedule, maxPosts: 500 }).length,
    config,
    seed: 1,
  });
  return { stopRewards: labelledRows({ seed: 1, config, problem }).stopRewards, postsSeen: problem.table.postsSeen };
}

/**
 * The expected return by enumeration: every sequence of actions at the posts of a thread, those between the posts asked
 * being "continue", weighted by its probability.
 */
function enumerated(index: number, schedule: PrefixSchedule, stopAt: (posts: number) => number): number {
  const { id, posts, rumor } = threads[index];
  const asked = queriedLengths({ schedule, posts: posts.length });
  let total = 0;
  for (let actions = 0; actions < 2 ** posts.length; actions++) {
    let probability = 1;
    let stop = posts.length;
    for (let post = posts.length; post >= 1; post--) {
      const stops = ((actions >> (post - 1)) & 1) === 1;
      const p = post === posts.length || !asked.includes(post) ? 0 : stopAt(post);
      probability *= stops ? p : 1 - p;
      if (stops && p > 0) stop = post;
    }
    const right = Math.abs((rumor ? 0 : 1) - (probabilityOf.get(id) ?? [])[stop - 1]);
    // The detector is called at the posts asked until the stop, and at the stop.
    const queries = new Set([...asked.filter((length) => length <= stop), stop]).size;
    const weight = threads.length / (2 * (rumor ? 2 : 3));
    total += probability * weight * (right - (delayCost * stop) / posts.length - queryCost * queries);
  }
  return total;
}

/** The return on one thread and its gradient, from the stop logit of each step. */
function returnAt(logits: readonly number[], rewards: Float32Array) {
  return tf.tidy(() => {
    const labelled = labelledBatch(
      { table: null, taken: tf.zeros([logits.length, 1]) },
      { stopRewards: [rewards], weight: 1 },
    );
    const at = gradientsOf({ z: tf.tensor2d([...logits], [logits.length, 1]) }, ({ z }) => {
      const value = expectedReturn(tf.logSoftmax(matMul(z, tf.tensor2d([[0, 1]]))), labelled);
      return { loss: value, outputs: { value } };
    });
    const [value] = at.outputs.value.dataSync();
    at.outputs.value.dispose();
    return { value, gradient: at.gradients.z.dataSync() };
  });
}

describe.each<[string, PrefixSchedule]>([
  ['every post', { name: 'every' }],
  ['1, 2, 4', { name: 'geometric', start: 1, factor: 2 }],
  ['2, 3, 5', { name: 'geometric', start: 2, factor: 1.5 }],
  ['3 alone', { name: 'lengths', lengths: [3] }],
])('the exact policy gradient of an agent that acts at %s', (_, schedule) => {
  it('and its gradient are those of enumerating all sequences of actions', async () => {
    const { stopRewards, postsSeen } = await rewardsOn(schedule);
    for (const [index, rewards] of stopRewards.entries()) {
      const logits = Array.from(rewards, () => random.normal());
      const sigmoid = (z: number) => 1 / (1 + Math.exp(-z));
      const { value, gradient } = returnAt(logits, rewards);
      const seen = [...postsSeen[index]];
      const at = (own: readonly number[]) => enumerated(index, schedule, (posts) => sigmoid(own[seen.indexOf(posts)]));
      expect(value).toBeCloseTo(at(logits), 5);
      for (let step = 0; step < logits.length; step++) {
        const moved = (by: number) => at(logits.map((z, other) => (other === step ? z + by : z)));
        expect(gradient[step]).toBeCloseTo((moved(1e-5) - moved(-1e-5)) / 2e-5, 5);
      }
    }
  });
});
