import { describe, expect, it } from 'vitest';
import type { Example, StanceItem } from '../../../experts/task-models/task-model.ts';
import { createSelector, type EpochSelection } from '../../../trainers/selector/jsdrv.ts';
import { levels } from '../../../trainers/selector/setup.ts';
import { createScene, type Scene, sceneClaims } from './scripted-task-models.ts';
import { trainEpochs } from './train-epochs.ts';

async function train(scene: Scene): Promise<EpochSelection[]> {
  const trainer = createSelector(scene.settings);
  // Different sureness for every item.
  for (const level of levels) trainer.training.policies[level].parameters.fill(0.3);
  return trainEpochs(trainer);
}

const twoEpochs = { epochs: 2, stopAfterFullRewards: null } as const;
const stancePretraining: Example<StanceItem>[] = [
  { item: { threadId: 'p', claim: 'a target', post: 'for it' }, label: 0, explanation: '' },
];

describe('pretraining', () => {
  it('is once, of stances on other data, of veracities on the labelled claims, whose posts have no stances yet', async () => {
    const scene = createScene({ config: twoEpochs, stancePretraining });
    await train(scene);
    expect(scene.stance.pretrained).toEqual([stancePretraining]);
    expect(scene.veracity.pretrained).toEqual([
      sceneClaims.slice(0, 3).map(({ threadId, claim, posts, label }) => ({
        item: { threadId, claim, posts: posts.map((text) => ({ text, stance: null })) },
        label,
        explanation: '',
      })),
    ]);
  });

  it.each([
    [false, true],
    [true, false],
  ])('is skipped as told: stance %s, veracity %s', async (stance, veracity) => {
    const scene = createScene({ config: { ...twoEpochs, pretrain: { stance, veracity } }, stancePretraining });
    await train(scene);
    expect([scene.stance.pretrained.length, scene.veracity.pretrained.length]).toEqual([
      stance ? 1 : 0,
      veracity ? 1 : 0,
    ]);
  });

  it('of stances is skipped without examples', async () => {
    const scene = createScene({ config: twoEpochs });
    await train(scene);
    expect(scene.stance.pretrained).toEqual([]);
  });
});

describe('tuning', () => {
  it('of stances is once an epoch on the retained posts and the machine’s labels, the surest first', async () => {
    const scene = createScene({ config: twoEpochs });
    const selections = await train(scene);
    expect(scene.stance.tuned).toHaveLength(2);
    for (const [epoch, { posts }] of selections.entries()) {
      const surest = posts
        .filter(({ isRetained }) => isRetained)
        .toSorted((one, other) => other.retainProbability - one.retainProbability);
      expect(new Set(surest.map(({ retainProbability }) => retainProbability)).size).toBeGreaterThan(2);
      expect(surest.length).toBeLessThan(posts.length);
      expect(scene.stance.tuned[epoch]).toEqual(
        surest.map(({ claim, post }) => {
          const { threadId, claim: text, posts: texts } = sceneClaims[claim];
          return {
            item: { threadId, claim: text, post: texts[post] },
            label: Number(texts[post].at(-1)),
            explanation: `because of ${texts[post]}`,
          };
        }),
      );
    }
  });

  /** What the veracity model of the scene says after so many posts: the first of equally likely ones. */
  const saidAfter = [2, 0, 0, 1, 1];

  it.each([
    ['by-policy', 1],
    ['by-policy', 2],
    ['always', 1],
    ['always', 2],
  ] as const)('of veracities is on the retained claims, labelled claims %s, seed %i', async (labelledClaims, seed) => {
    const scene = createScene({ config: { ...twoEpochs, labelledClaims }, seed });
    const selections = await train(scene);
    expect(scene.veracity.tuned).toHaveLength(2);
    for (const [epoch, { claims, posts }] of selections.entries()) {
      const taught = claims
        .filter(({ claim, isRetained }) => isRetained || (labelledClaims === 'always' && claim !== 3))
        .toSorted((one, other) => other.retainProbability - one.retainProbability);
      const expected = taught.map(({ claim }) => {
        const { threadId, claim: text, posts: texts, label } = sceneClaims[claim];
        const retained = posts.filter((post) => post.claim === claim && post.isRetained);
        const said = saidAfter[retained.length];
        return {
          item: {
            threadId,
            claim: text,
            posts: retained.map(({ post, prediction }) => ({ text: texts[post], stance: prediction.distribution })),
          },
          label: label ?? said,
          explanation: label === null || label === said ? `${threadId} has ${retained.length} posts` : '',
        };
      });
      expect(scene.veracity.tuned[epoch]).toEqual(expected);
    }
    const explained = scene.veracity.tuned.flat().map(({ explanation }) => explanation !== '');
    expect(new Set(explained).size).toBe(2);
  });

  it('teaches a human label without the machine’s reason for another, and with its reason for the same', async () => {
    const scene = createScene({
      config: { ...twoEpochs, retain: { claims: 'all' } },
      veracityOf: () => [0.1, 0.8, 0.1],
    });
    await train(scene);
    for (const { item, label, explanation } of scene.veracity.tuned.flat()) {
      expect(label).toBe({ a: 0, b: 1, c: 2, d: 1 }[item.threadId]);
      expect(explanation !== '').toBe(item.threadId === 'b' || item.threadId === 'd');
    }
  });

  it('leaves the posts of a discarded claim to the stance model', async () => {
    const scene = createScene({ config: { epochs: 6, stopAfterFullRewards: null, retain: { posts: 'all' } } });
    const selections = await train(scene);
    const retained = selections.map(({ claims }) => claims.filter(({ isRetained }) => isRetained).length);
    expect(Math.min(...retained)).toBeLessThan(4);
    expect(scene.veracity.tuned.map((examples) => examples.length)).toEqual(retained);
    for (const examples of scene.stance.tuned) expect(examples).toHaveLength(16);
  });

  it.each([
    [false, true],
    [true, false],
  ])('is skipped as told: stance %s, veracity %s', async (stance, veracity) => {
    const scene = createScene({ config: { ...twoEpochs, tune: { stance, veracity } } });
    await train(scene);
    expect([scene.stance.tuned.length, scene.veracity.tuned.length]).toEqual([stance ? 2 : 0, veracity ? 2 : 0]);
  });
});
