import { expect, it } from 'vitest';
import { workContext } from '../../src/work-context.ts';
import { type Trainer, trainToEnd } from '../../trainers/trainer.ts';

/** Counts, and calls `onIteration` after each. */
function countingTrainer(onIteration: (iteration: number) => void): Trainer<null> {
  let iteration = 0;
  return {
    algorithm: 'counting',
    iterations: 5,
    get iteration() {
      return iteration;
    },
    async iterate() {
      onIteration(++iteration);
      return {};
    },
    policy: async () => null,
    state: async () => ({ arrays: {}, values: null }),
    restore() {},
    dispose() {},
  };
}

it('a training to the end does all iterations, and ends between two when it is told to', async () => {
  const whole = countingTrainer(() => {});
  await trainToEnd(whole, workContext());
  expect(whole.iteration).toBe(5);

  const controller = new AbortController();
  const stopped = countingTrainer((iteration) => iteration === 2 && controller.abort(new Error('enough')));
  await expect(trainToEnd(stopped, workContext({ signal: controller.signal }))).rejects.toThrow('enough');
  expect(stopped.iteration).toBe(2);
});
