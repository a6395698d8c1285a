import { expect, it } from 'vitest';
import { judgementSequence } from '../../../experts/judgement-sequence.ts';
import { rumorTask } from '../../../src/data/task.ts';
import { labelledRows } from '../../../trainers/stop-agent/labelled-threads.ts';
import { buildStopProblem } from '../../../trainers/stop-agent/problem.ts';
import { stateTableOf } from '../../../trainers/stop-agent/states.ts';
import { threadOf } from '../../experts/threads.ts';
import { smallConfig } from './small-problem.ts';

const thread = { ...threadOf({ id: 't', texts: ['a', 'b', 'c'] }), rumor: true };
const said = [
  { label: 'non-rumor', probabilities: { 'non-rumor': 0.75, rumor: 0.25 } },
  { label: 'rumor', probabilities: null },
  { label: 'rumor', probabilities: { 'non-rumor': 0.125, rumor: 0.875 } },
];
const sequence = judgementSequence({ threadId: 't', labels: rumorTask.labels, judgements: said });

/** Missing a rumour costs 8, calling one by mistake 2; each post 0.5. */
async function rewards(target: 'right' | 'probability') {
  const config = smallConfig({ algorithm: 'exact-policy-gradient', minPosts: 1, task: { target, delayCost: 9 } });
  const problem = await buildStopProblem({
    demonstrations: [thread],
    environment: [],
    sequences: new Map([['t', sequence]]),
    task: rumorTask,
    tableOf: (own) =>
      stateTableOf(own, {
        posts: null,
        features: { count: 1, of: async ({ posts }) => new Float32Array(posts.length) },
      }),
    costOf: ({ postsUsed, gold, predicted }) => (gold === predicted ? 0 : gold === 1 ? 8 : 2) + 0.5 * postsUsed,
    config,
    seed: 1,
  });
  return [...labelledRows({ seed: 1, config, problem }).stopRewards[0]];
}

it('rewards a stop with minus what it costs the user, and with nothing else', async () => {
  expect(await rewards('right')).toEqual([-8.5, -1, -1.5]);
  // Expected over the judgement's probabilities; a label without any counts as certain.
  expect(await rewards('probability')).toEqual([-(0.75 * 8 + 0.5), -1, -(0.125 * 8 + 1.5)]);
});
