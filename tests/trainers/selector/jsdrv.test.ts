import { describe, expect, it } from 'vitest';
import type { Example, VeracityItem } from '../../../experts/task-models/task-model.ts';
import { InputError } from '../../../src/errors.ts';
import { workContext } from '../../../src/work-context.ts';
import { createSelector, type EpochSelection } from '../../../trainers/selector/jsdrv.ts';
import { levels, type SelectorTraining, type Stratum } from '../../../trainers/selector/setup.ts';
import { createScene, leaning, type Scene, sceneClaim, sceneClaims } from './scripted-task-models.ts';
import { trainEpochs } from './train-epochs.ts';

async function train(scene: Scene, prepare: (training: SelectorTraining) => void = () => {}) {
  const trainer = createSelector(scene.settings);
  prepare(trainer.training);
  return { trainer, training: trainer.training, selections: await trainEpochs(trainer) };
}

/** Both policies, whatever they see. */
function decideAll(action: 'retain' | 'discard') {
  return ({ policies }: SelectorTraining) => {
    for (const level of levels)
      policies[level].parameters.set([action === 'retain' ? 1e4 : -1e4], policies[level].features);
  };
}

const postsAsked = ({ stance }: Scene) => stance.asked.map((items) => items.map(({ post }) => post));
const oneEpoch = { epochs: 1, stopAfterFullRewards: null } as const;
const ofAll = (labelled: boolean) =>
  sceneClaims.flatMap(({ posts, label }) => (labelled && label === null ? [] : posts)).sort();

describe('pre-selection', () => {
  it.each([
    [0, [true, true]],
    [1, [false, false]],
  ])('shows claims by Eq. 2 at ε = %i', async (epsilon, labelled) => {
    const claims = [...sceneClaims, sceneClaim('e', { label: null, stances: [0] })];
    const scene = createScene({ claims, config: { ...oneEpoch, claimsPerEpoch: 2, epsilon: { claims: epsilon } } });
    const { selections } = await train(scene);
    expect(selections[0].claims.map(({ claim }) => claims[claim].label !== null)).toEqual(labelled);
  });

  it('shows the first posts in time order at ε = 0', async () => {
    const scene = createScene({ config: { ...oneEpoch, postsPerClaim: 2, epsilon: { posts: 0 } } });
    const { selections } = await train(scene);
    expect(selections[0].posts.map(({ post }) => post)).toEqual([0, 1, 0, 1, 0, 1, 0, 1]);
  });

  it('shows every claim with preselect.claims: false, and every post in time order with preselect.posts: false', async () => {
    const limits = { ...oneEpoch, claimsPerEpoch: 1, postsPerClaim: 1, epsilon: { posts: 1, claims: 0 } };
    const everyClaim = await train(createScene({ config: { ...limits, preselect: { claims: false } } }));
    expect(everyClaim.selections[0].claims.map(({ claim }) => claim).sort()).toEqual([0, 1, 2, 3]);
    expect(everyClaim.selections[0].posts).toHaveLength(4);
    const everyPost = await train(createScene({ config: { ...limits, preselect: { posts: false } } }));
    expect(everyPost.selections[0].claims).toHaveLength(1);
    expect(everyPost.selections[0].posts.map(({ post }) => post)).toEqual([0, 1, 2, 3]);
  });
});

describe('the stance model', () => {
  it('is asked once an epoch: about the posts shown and, for the references, all of labelled claims', async () => {
    const config = { epochs: 2, stopAfterFullRewards: null, claimsPerEpoch: 1, epsilon: { claims: 0 } };
    const scene = createScene({ config });
    await train(scene);
    expect(postsAsked(scene).map((posts) => posts.toSorted())).toEqual([ofAll(true), ofAll(true)]);
    const withUnlabelled = createScene({ config: { ...config, epsilon: { claims: 1 }, postsPerClaim: 1 } });
    const { selections } = await train(withUnlabelled);
    for (const [epoch, posts] of postsAsked(withUnlabelled).entries()) {
      const shown = selections[epoch].posts.map(({ post }) => sceneClaims[3].posts[post]);
      expect(posts.toSorted()).toEqual([...ofAll(true), ...shown].sort());
    }
  });

  it('is asked about the posts shown alone with references: shown-posts', async () => {
    const scene = createScene({ config: { ...oneEpoch, references: 'shown-posts', postsPerClaim: 2 } });
    const { selections } = await train(scene);
    const shown = selections[0].posts.map(({ claim, post }) => sceneClaims[claim].posts[post]);
    expect(postsAsked(scene)[0].toSorted()).toEqual(shown.sort());
  });
});

describe('the veracity model', () => {
  it('is asked once about a claim, with the posts retained, a batch at a time', async () => {
    const scene = createScene({ config: { ...oneEpoch, batchClaims: 3 } });
    const { selections } = await train(scene);
    const [{ posts, claims }] = selections;
    expect(scene.veracity.asked.map((items) => items.length)).toEqual([3, 1]);
    for (const [index, item] of scene.veracity.asked.flat().entries()) {
      const { claim } = claims[index];
      const retained = posts.filter((post) => post.claim === claim && post.isRetained);
      expect(item).toEqual({
        threadId: sceneClaims[claim].threadId,
        claim: sceneClaims[claim].claim,
        posts: retained.map(({ post, prediction }) => ({
          text: sceneClaims[claim].posts[post],
          stance: prediction.distribution,
        })),
      });
    }
  });

  it('is asked about a labelled claim after every retained post, and before the first, with postReward: reward-to-go', async () => {
    const scene = createScene({ config: { ...oneEpoch, postReward: 'reward-to-go' } });
    const { selections } = await train(scene);
    const expected = selections[0].claims.flatMap(({ claim }) => {
      const retained = selections[0].posts.filter((post) => post.claim === claim && post.isRetained).length;
      const counts = claim === 3 ? [retained] : [...Array(retained + 1).keys()];
      return counts.map((posts) => [sceneClaims[claim].threadId, posts]);
    });
    const asked = scene.veracity.asked.flat();
    expect(asked.map(({ threadId, posts }) => [threadId, posts.length])).toEqual(expected);
  });
});

describe('what stands in for the policies', () => {
  it.each([
    ['claims', 'posts'],
    ['posts', 'claims'],
  ] as const)('retain.%s: all retains every one, and its policy learns nothing', async (level, other) => {
    const { training, selections } = await train(createScene({ config: { ...oneEpoch, retain: { [level]: 'all' } } }));
    expect(selections[0][level].every(({ isRetained }) => isRetained)).toBe(true);
    expect(selections[0][other].every(({ isRetained }) => isRetained)).toBe(false);
    expect([training.policies[level].updates, training.policies[other].updates]).toEqual([0, 1]);
    expect(training.policies[level].parameters.every((parameter) => parameter === 0)).toBe(true);
  });

  const retained = (items: readonly { isRetained: boolean }[]) => items.filter(({ isRetained }) => isRetained).length;
  const strata = (level: Partial<Record<number, Stratum>>, shown: number) =>
    Array.from({ length: 6 }, (_, index) => level[index] ?? { shown, retained: 0 });

  it('matchedRandomControl, in size, retains as many items as told, in as many epochs, and learns nothing', async () => {
    const sizes = [
      { posts: 7, claims: 1 },
      { posts: 0, claims: 4 },
      { posts: 16, claims: 0 },
    ];
    const epochs = sizes.map(({ posts, claims }) => ({
      posts: strata({ 2: { shown: 16, retained: posts } }, 0),
      claims: strata({ 1: { shown: 4, retained: claims } }, 0),
    }));
    const scene = createScene({
      config: { epochs: 50, stopAfterFullRewards: null },
      matchedRandomControl: { epochs, alikeIn: 'size' },
    });
    const { training, selections } = await train(scene);
    expect(selections.map(({ posts, claims }) => ({ posts: retained(posts), claims: retained(claims) }))).toEqual(
      sizes,
    );
    expect(training.policies.posts.updates + training.policies.claims.updates).toBe(0);
  });

  it('matchedRandomControl, in class, retains the share of each weak label, of labelled and of unlabelled claims', async () => {
    // Of the posts that say 0: all of labelled claims, none of the unlabelled one. Of those that say 1: none. Others: all.
    const posts = [0, 10, 0, 0, 10, 10].map((count) => ({ shown: 10, retained: count }));
    const epochs = [{ posts, claims: strata({ 1: { shown: 4, retained: 4 } }, 0) }];
    const { selections } = await train(createScene({ matchedRandomControl: { epochs, alikeIn: 'class' } }));
    const kept = selections[0].posts
      .filter(({ isRetained }) => isRetained)
      .map(({ claim, post }) => `${claim}/${post}`);
    expect(kept.sort()).toEqual(['0/0', '0/1', '0/2', '0/3', '2/0', '2/1', '2/2', '2/3', '3/3']);
    // The strata of claims met nothing but one; the others go by the share of all, which is 1.
    expect(retained(selections[0].claims)).toBe(4);
  });

  it('counts what it retained, by label and by whether the claim is labelled', async () => {
    const { training, selections } = await train(createScene({ config: oneEpoch }));
    const [{ posts, claims }] = training.retention;
    // Claims a to c say 0, 1 and 2 four times; the unlabelled one says 0 twice, 1 and 2 once.
    expect(posts.map(({ shown }) => shown)).toEqual([2, 4, 1, 4, 1, 4]);
    expect(posts.reduce((sum, own) => sum + own.retained, 0)).toBe(retained(selections[0].posts));
    expect(claims.reduce((sum, own) => sum + own.retained, 0)).toBe(retained(selections[0].claims));
  });
});

describe('termination', () => {
  /** Every claim but the last is labelled and known to the veracity model. */
  const claims = Array.from({ length: 6 }, (_, index) =>
    sceneClaim(`c${index}`, { label: index % 3, stances: [index % 3] }),
  );
  const rightly = ({ threadId }: VeracityItem) => [...leaning(Number(threadId[1]) % 3, { classes: 3 })];

  it('comes with the batch in which so many claims in a row had full reward, after that epoch’s tuning', async () => {
    const config = { epochs: 9, batchClaims: 2, stopAfterFullRewards: 3 };
    const scene = createScene({ claims, config, veracityOf: rightly });
    const { trainer, training, selections } = await train(scene);
    expect(selections.map((selection) => selection.claims.length)).toEqual([4]);
    expect(training).toMatchObject({ isTerminated: true, epoch: 1 });
    expect([scene.stance.tuned.length, scene.veracity.tuned.length]).toEqual([1, 1]);
    expect([trainer.iteration, trainer.iterations, await trainEpochs(trainer)]).toEqual([1, 1, []]);
    expect([training.epoch, scene.stance.tuned.length]).toEqual([1, 1]);
  });

  it('counts on from epoch to epoch', async () => {
    const scene = createScene({ claims, config: { epochs: 9, stopAfterFullRewards: 10 }, veracityOf: rightly });
    const { training, selections } = await train(scene);
    expect(selections.map((selection) => selection.claims.length)).toEqual([6, 4]);
    expect(training.isTerminated).toBe(true);
  });

  it('does not come where a claim now and then is predicted wrongly, or with null', async () => {
    const sometimesWrong = (item: VeracityItem) => (item.threadId === 'c5' ? [1, 0, 0] : rightly(item));
    const doubtful = await train(
      createScene({ claims, config: { epochs: 4, stopAfterFullRewards: 11 }, veracityOf: sometimesWrong }),
    );
    expect(doubtful.training).toMatchObject({ isTerminated: false, epoch: 4 });
    const never = await train(
      createScene({ claims, config: { epochs: 4, stopAfterFullRewards: null }, veracityOf: rightly }),
    );
    expect(never.training).toMatchObject({ isTerminated: false, epoch: 4, fullRewards: 24 });
  });
});

describe('edges', () => {
  it.each<[string, Parameters<typeof sceneClaim>[1]['label'][], RegExp]>([
    ['no claim at all', [], /none of the 0 claims has a veracity label.*seed claims/],
    ['no labelled claim', [null, null], /none of the 2 claims has a veracity label.*give threads with veracity/],
    [
      'a label that the veracity model does not know',
      [0, 3],
      /claim c1 has the label 3; it must be null or from 0 to 2/,
    ],
    ['a label that is no index', [0.5], /claim c0 has the label 0.5/],
    ['a negative label', [0, -1], /claim c1 has the label -1/],
  ])('refuses %s', (_, labels, message) => {
    const claims = labels.map((label, index) => sceneClaim(`c${index}`, { label, stances: [0] }));
    const create = () => createSelector(createScene({ claims }).settings);
    expect(create).toThrow(InputError);
    expect(create).toThrow(message);
  });

  it('refuses two claims of one id', () => {
    const { settings } = createScene({ claims: [...sceneClaims, sceneClaims[1]] });
    expect(() => createSelector(settings)).toThrow('two claims have the id "b"; ids must be unique');
  });

  function expectSound({ training, selections }: { training: SelectorTraining; selections: EpochSelection[] }): void {
    for (const level of levels) expect(training.policies[level].parameters.every(Number.isFinite)).toBe(true);
    for (const { meanPostReward, posts, claims } of selections) {
      expect(meanPostReward).toBeGreaterThanOrEqual(-1);
      for (const { retainProbability } of [...posts, ...claims]) expect(retainProbability).toBeLessThanOrEqual(1);
      for (const { reward } of claims) expect(Math.abs(reward)).toBeLessThanOrEqual(1);
    }
  }

  it('tunes on nothing, soundly, where the policies retain nothing', async () => {
    const scene = createScene({ config: { epochs: 3, stopAfterFullRewards: null, postReward: 'reward-to-go' } });
    const result = await train(scene, decideAll('discard'));
    expectSound(result);
    expect(scene.stance.tuned).toEqual([[], [], []]);
    expect(scene.veracity.tuned).toEqual([[], [], []]);
    for (const { posts, claims, meanPostReward } of result.selections) {
      expect([posts.length, claims.length, meanPostReward]).toEqual([16, 4, 0]);
      expect(claims.find(({ claim }) => claim === 3)?.reward).toBe(0);
    }
  });

  it('shows claims without replies, labelled or not, from the claim alone', async () => {
    const bare = [
      sceneClaim('e', { label: 2, stances: [] }),
      sceneClaim('f', { label: null, stances: [] }),
      sceneClaim('g', { label: 0, stances: [] }),
    ];
    for (const claims of [[...sceneClaims, ...bare], bare]) {
      const scene = createScene({
        claims,
        config: { epochs: 2, stopAfterFullRewards: null, postReward: 'reward-to-go', agreement: 'cosine' },
      });
      const result = await train(scene);
      expectSound(result);
      expect(result.selections[0].claims).toHaveLength(claims.length);
      expect(scene.veracity.asked.flat().filter(({ threadId }) => threadId === 'f')).toHaveLength(2);
    }
  });

  it('gives no reward where an unlabelled claim is predicted to be what no labelled one is', async () => {
    const claims = [sceneClaims[0], sceneClaims[1], sceneClaims[3]];
    const scene = createScene({
      claims,
      config: { epochs: 2, stopAfterFullRewards: null, agreement: 'cosine' },
      veracityOf: ({ threadId }) => (threadId === 'd' ? [0, 0, 1] : [0.2, 0.8, 0]),
    });
    const result = await train(scene);
    expectSound(result);
    for (const { claims: shown } of result.selections)
      expect(shown.toSorted((one, other) => one.claim - other.claim).map(({ reward }) => Math.sign(reward))).toEqual([
        -1, 1, 0,
      ]);
  });

  it('stops at an abort: before anything is asked, or between batches', async () => {
    const scene = createScene({ stancePretraining: [stanceExample] });
    const trainer = createSelector(scene.settings);
    await expect(trainer.iterate(workContext({ signal: AbortSignal.abort() }))).rejects.toThrow(/abort/);
    expect([...scene.stance.pretrained, ...scene.veracity.pretrained, ...scene.stance.asked]).toEqual([]);
    const controller = new AbortController();
    const done: number[] = [];
    const slow = createScene({ config: { batchClaims: 1 } });
    const aborted = createSelector(slow.settings).iterate(
      workContext({
        signal: controller.signal,
        onProgress(stage, claims, total) {
          expect([stage, total]).toEqual(['selecting, epoch 1', 4]);
          if (done.push(claims) === 2) controller.abort(new Error('enough'));
        },
      }),
    );
    await expect(aborted).rejects.toThrow('enough');
    expect([done, slow.veracity.tuned.length]).toEqual([[1, 2], 0]);
  });
});

const stanceExample: Example<{ threadId: string; claim: string; post: string }> = {
  item: { threadId: 'p', claim: 'a target', post: 'for it' },
  label: 0,
  explanation: '',
};
