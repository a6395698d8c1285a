import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { InputError } from '../../../src/errors.ts';
import { restoreSelector, saveSelector } from '../../../trainers/selector/checkpoint.ts';
import type { jsdrvSchema } from '../../../trainers/selector/config.ts';
import { type EpochSelection, trainSelector } from '../../../trainers/selector/jsdrv.ts';
import { createSelectorTraining, levels, type SelectorTraining } from '../../../trainers/selector/setup.ts';
import { temporaryFolder } from '../../src/data/fixtures.ts';
import { createScene, leaning, veracityAfter } from './scripted-task-models.ts';

type Config = z.input<typeof jsdrvSchema>;

/** Models whose answers move with what they were taught. */
function movingTraining(config: Config, seed = 1): SelectorTraining {
  const { settings } = createScene({
    config: { epochs: 4, batchClaims: 3, learningRate: 0.05, stopAfterFullRewards: null, ...config },
    seed,
    stancePretraining: [{ item: { threadId: 'p', claim: 'c', post: 'q' }, label: 1, explanation: 'a reason' }],
    stanceOf: ({ post }, taught) => leaning(Number(post.at(-1)), { classes: 3, sureness: 0.4 + taught / 2 }),
    veracityOf: ({ posts }, taught) =>
      veracityAfter[posts.length].map((share, index) => (share + (index === 1 ? taught : 0)) / (1 + taught)),
  });
  return createSelectorTraining(settings);
}

async function train(training: SelectorTraining): Promise<EpochSelection[]> {
  const selections: EpochSelection[] = [];
  await trainSelector(training, { onEpoch: (selection) => void selections.push(selection) });
  return selections;
}

function everythingOf({ policies, rewards, random, epoch, fullRewards, isTerminated, settings }: SelectorTraining) {
  const { stanceModel, veracityModel } = settings;
  const models = [stanceModel.state(), veracityModel.state()];
  return { policies, rewards, random: random.state(), epoch, fullRewards, isTerminated, models };
}

const kinds: [string, Config][] = [
  ['the defaults', {}],
  [
    'a hidden layer, a baseline and shuffled rewards',
    { hidden: 2, baseline: 'running-mean', control: 'shuffled-rewards' },
  ],
  ['gains in cosine', { postReward: 'gain', agreement: 'cosine', showDistribution: true }],
];

describe.each(kinds)('a training with %s', (_, config) => {
  it('is the same bit for bit with the same seed, and another with another', async () => {
    const [one, twin, other] = [movingTraining(config), movingTraining(config), movingTraining(config, 2)];
    const selections = await train(one);
    expect(await train(twin)).toStrictEqual(selections);
    expect(everythingOf(twin)).toStrictEqual(everythingOf(one));
    expect(await train(other)).not.toEqual(selections);
  });

  it.each([1, 2, 3])('of 4 epochs is the same bit for bit when it is saved and restored after %i', async (epochs) => {
    const path = join(temporaryFolder(), 'checkpoint.safetensors');
    const whole = movingTraining(config);
    const selections = await train(whole);
    const begun = movingTraining(config);
    const controller = new AbortController();
    const first: EpochSelection[] = [];
    const interrupted = trainSelector(begun, {
      signal: controller.signal,
      onEpoch(selection) {
        first.push(selection);
        if (begun.epoch < epochs) return;
        saveSelector(path, begun, 'these models');
        controller.abort();
      },
    });
    await expect(interrupted).rejects.toThrow(/abort/);
    const resumed = movingTraining(config);
    restoreSelector(path, resumed, 'these models');
    expect(everythingOf(resumed)).toStrictEqual(everythingOf(begun));
    expect([...first, ...(await train(resumed))]).toStrictEqual(selections);
    expect(everythingOf(resumed)).toStrictEqual(everythingOf(whole));
  });
});

describe('a checkpoint', () => {
  it('of a training that was never begun, or that has ended, restores as such', async () => {
    const path = join(temporaryFolder(), 'checkpoint.safetensors');
    saveSelector(path, movingTraining({}), 'm');
    const begun = movingTraining({});
    restoreSelector(path, begun, 'm');
    expect(await train(begun)).toStrictEqual(await train(movingTraining({})));
    saveSelector(path, begun, 'm');
    const ended = movingTraining({});
    restoreSelector(path, ended, 'm');
    expect(await train(ended)).toEqual([]);
  });

  it('of a terminated training restores as terminated', async () => {
    const path = join(temporaryFolder(), 'checkpoint.safetensors');
    const terminated = movingTraining({});
    Object.assign(terminated, { fullRewards: 100, isTerminated: true });
    saveSelector(path, terminated, 'm');
    const restored = movingTraining({});
    restoreSelector(path, restored, 'm');
    expect(restored).toMatchObject({ fullRewards: 100, isTerminated: true });
    expect(await train(restored)).toEqual([]);
  });

  it('shares nothing with the training that was saved', async () => {
    const path = join(temporaryFolder(), 'checkpoint.safetensors');
    const training = movingTraining({});
    saveSelector(path, training, 'm');
    const restored = movingTraining({});
    restoreSelector(path, restored, 'm');
    await train(training);
    for (const level of levels) {
      expect(restored.policies[level].updates).toBe(0);
      expect(restored.rewards[level]).toEqual({ mean: 0, count: 0, recent: [] });
    }
  });

  it('is refused with other models', () => {
    const path = join(temporaryFolder(), 'checkpoint.safetensors');
    saveSelector(path, movingTraining({}), 'these models');
    const restore = () => restoreSelector(path, movingTraining({}), 'others');
    expect(restore).toThrow(InputError);
    expect(restore).toThrow(`${path} was trained with these models, and this is others; use the same encoder`);
  });

  it('is refused with a policy of another size', () => {
    const path = join(temporaryFolder(), 'checkpoint.safetensors');
    saveSelector(path, movingTraining({}), 'm');
    const restore = () => restoreSelector(path, movingTraining({ hidden: 3 }), 'm');
    expect(restore).toThrow(InputError);
    expect(restore).toThrow('posts/parameters has 10 entries, and 34 are needed; use the same encoder');
  });
});
