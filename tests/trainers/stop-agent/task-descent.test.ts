import * as tf from '@tensorflow/tfjs-core';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { selectBackend } from '../../../src/tensor/backend.ts';
import { RowTables } from '../../../src/tensor/row-tables.ts';
import { createLearner, disposeLearner, refreshStates } from '../../../trainers/stop-agent/setup.ts';
import { createTaskDescent } from '../../../trainers/stop-agent/task-descent.ts';
import { smallMember } from './small-problem.ts';

const member = (taskWeight: number) => smallMember({ more: { imitation: { taskWeight } } });

describe('the descent on the task beside PPO', () => {
  beforeAll(() => selectBackend('cpu'));

  it('gathers the labelled states once, and again where the normaliser has changed them', async () => {
    const learner = await createLearner([member(1)]);
    const gathered = vi.spyOn(RowTables.prototype, 'gather');
    const descent = createTaskDescent(learner);
    if (descent === null) throw new Error('the member gives its task a weight');
    for (let iteration = 0; iteration < 3; iteration++) {
      descent.begin();
      expect(descent.returnsBefore()).toBeNull();
      for (let update = 0; update < 2; update++) tf.dispose(await descent.alsoDescend());
      expect(descent.returnsBefore()).toHaveLength(1);
    }
    expect(gathered).toHaveBeenCalledTimes(1);
    const { mean } = learner.members[0].moments;
    const [before] = descent.returnsBefore() ?? [];
    mean.fill(mean[0] + 3);
    refreshStates(learner);
    descent.begin();
    tf.dispose(await descent.alsoDescend());
    expect(gathered).toHaveBeenCalledTimes(2);
    expect(descent.returnsBefore()?.[0]).not.toBe(before);
    gathered.mockRestore();
    descent.dispose();
    disposeLearner(learner);
  });

  it('is left out where no member gives its task a weight', async () => {
    const learner = await createLearner([member(0)]);
    expect(createTaskDescent(learner)).toBeNull();
    disposeLearner(learner);
  });
});
