import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { InputError } from '../../../src/errors.ts';
import { workContext } from '../../../src/work-context.ts';
import type { selectorSchema } from '../../../trainers/selector/config.ts';
import { createSelector, type EpochSelection, type SelectorTrainer } from '../../../trainers/selector/jsdrv.ts';
import { levels } from '../../../trainers/selector/setup.ts';
import { loadTrainer, saveTrainer } from '../../../trainers/trainer-checkpoint.ts';
import { createScene, leaning, veracityAfter } from './scripted-task-models.ts';
import { trainEpochs } from './train-epochs.ts';

type Config = z.input<typeof selectorSchema>;

/** Models whose answers move with what they were taught. */
function movingTrainer(config: Config, seed = 1): SelectorTrainer {
  const { settings } = createScene({
    config: { epochs: 4, batchClaims: 3, learningRate: 0.05, stopAfterFullRewards: null, ...config },
    seed,
    stancePretraining: [{ item: { threadId: 'p', claim: 'c', post: 'q' }, label: 1, explanation: 'a reason' }],
    stanceOf: ({ post }, taught) => leaning(Number(post.at(-1)), { classes: 3, sureness: 0.4 + taught / 2 }),
    veracityOf: ({ posts }, taught) =>
      veracityAfter[posts.length].map((share, index) => (share + (index === 1 ? taught : 0)) / (1 + taught)),
  });
  return createSelector(settings);
}

function everythingOf({ training }: SelectorTrainer) {
  const { policies, rewards, random, epoch, fullRewards, isTerminated, settings } = training;
  const { stanceModel, veracityModel } = settings;
  const models = [stanceModel.state(), veracityModel.state()];
  return { policies, rewards, random: random.state(), epoch, fullRewards, isTerminated, models };
}

const kinds: [string, Config][] = [
  ['the defaults', {}],
  ['a baseline and shuffled rewards', { baseline: 'running-mean', control: 'shuffled-rewards' }],
  ['gains in cosine', { postReward: 'reward-to-go', agreement: 'cosine', showDistribution: true }],
];

const folder = mkdtempSync(join(tmpdir(), 'earshot-selector-'));
const path = join(folder, 'checkpoint.safetensors');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const owner = { algorithm: 'selector', identity: 'these models' };

async function save(trainer: SelectorTrainer): Promise<void> {
  saveTrainer(path, owner, await trainer.state());
}

function restored(config: Config = {}): SelectorTrainer {
  const trainer = movingTrainer(config);
  trainer.restore(loadTrainer(path, owner));
  return trainer;
}

describe.each(kinds)('a training with %s', (_, config) => {
  it('is the same bit for bit with the same seed, and another with another', async () => {
    const [one, twin, other] = [movingTrainer(config), movingTrainer(config), movingTrainer(config, 2)];
    const selections = await trainEpochs(one);
    expect(await trainEpochs(twin)).toStrictEqual(selections);
    expect(everythingOf(twin)).toStrictEqual(everythingOf(one));
    expect(await trainEpochs(other)).not.toEqual(selections);
  });

  it.each([1, 2, 3])('of 4 epochs is the same bit for bit when it is saved and restored after %i', async (epochs) => {
    const whole = movingTrainer(config);
    const selections = await trainEpochs(whole);
    const begun = movingTrainer(config);
    const first: EpochSelection[] = [];
    while (begun.iteration < epochs) {
      await begun.iterate(workContext());
      if (begun.selection !== null) first.push(begun.selection);
    }
    await save(begun);
    const resumed = restored(config);
    expect(everythingOf(resumed)).toStrictEqual(everythingOf(begun));
    expect([...first, ...(await trainEpochs(resumed))]).toStrictEqual(selections);
    expect(everythingOf(resumed)).toStrictEqual(everythingOf(whole));
  });
});

describe('a checkpoint', () => {
  it('of a training that was never begun, or that has ended, restores as such', async () => {
    await save(movingTrainer({}));
    const begun = restored();
    expect(await trainEpochs(begun)).toStrictEqual(await trainEpochs(movingTrainer({})));
    await save(begun);
    expect(await trainEpochs(restored())).toEqual([]);
  });

  it('of a terminated training restores as terminated', async () => {
    const terminated = movingTrainer({});
    Object.assign(terminated.training, { fullRewards: 100, isTerminated: true });
    await save(terminated);
    const again = restored();
    expect(again.training).toMatchObject({ fullRewards: 100, isTerminated: true });
    expect(await trainEpochs(again)).toEqual([]);
  });

  it('shares nothing with the training that was saved', async () => {
    const trainer = movingTrainer({});
    const state = await trainer.state();
    const again = movingTrainer({});
    again.restore(state);
    await trainEpochs(trainer);
    for (const level of levels) {
      expect(again.training.policies[level].updates).toBe(0);
      expect(again.training.rewards[level]).toEqual({ mean: 0, count: 0, recent: [] });
    }
  });

  it('is refused with other models', async () => {
    await save(movingTrainer({}));
    const load = () => loadTrainer(path, { ...owner, identity: 'others' });
    expect(load).toThrow(InputError);
    expect(load).toThrow(`${path} was trained on states made by these models, and these are made by others; use`);
  });

  it('is refused with a policy of another size', async () => {
    await save(movingTrainer({}));
    const restore = () => restored({ showDistribution: true });
    expect(restore).toThrow(InputError);
    expect(restore).toThrow('posts/parameters is 10, and 13 is needed; use the same encoder');
  });

  it('is refused of anything that is no state of a selector', async () => {
    const state = await movingTrainer({}).state();
    expect(() => movingTrainer({}).restore({ ...state, values: { epoch: 'x' } })).toThrow(
      /not what this trainer expects \(epoch: Invalid input/,
    );
  });
});
