import { describe, expect, it } from 'vitest';
import {
  centredCosine,
  emptyContext,
  labelledAgreement,
  meanDistribution,
  preselectClaims,
  preselectPosts,
  retain,
  selectionState,
  stanceReferences,
  stateSize,
  stepsOfPositiveReward,
  unlabelledAgreement,
  veracityPrior,
} from '../../envs/selection-env.ts';
import { InputError } from '../../src/errors.ts';
import { Random } from '../../src/tensor/random.ts';

const random = Random.seeded({ seed: 1, purpose: 'selection env' });

/** All ordered choices of `take` of the items. */
function orders(items: readonly number[], take: number): number[][] {
  if (take === 0) return [[]];
  return items.flatMap((first) =>
    orders(
      items.filter((item) => item !== first),
      take - 1,
    ).map((rest) => [first, ...rest]),
  );
}

/** Each order must come as often as it is probable, within five standard deviations. */
function expectFrequencies(options: {
  items: number;
  take: number;
  draw: () => Int32Array;
  probability: (order: readonly number[]) => number;
}): void {
  const draws = 40_000;
  const counts = new Map<string, number>();
  for (let index = 0; index < draws; index++) {
    const key = options.draw().join();
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  let total = 0;
  for (const order of orders([...Array(options.items).keys()], options.take)) {
    const probability = options.probability(order);
    total += probability;
    const frequency = (counts.get(order.join()) ?? 0) / draws;
    const deviation = Math.sqrt((probability * (1 - probability)) / draws);
    expect(Math.abs(frequency - probability), `${order} at ${frequency}`).toBeLessThanOrEqual(5 * deviation + 1e-12);
    counts.delete(order.join());
  }
  expect(total).toBeCloseTo(1, 12);
  expect([...counts.keys()]).toEqual([]);
}

describe('preselectPosts (Eq. 1)', () => {
  const ofOrder = (order: readonly number[], options: { posts: number; epsilon: number }) => {
    const left = [...Array(options.posts).keys()];
    return order.reduce((product, post) => {
      const isNext = post === left[0];
      const step = (isNext ? 1 - options.epsilon : 0) + options.epsilon / left.length;
      left.splice(left.indexOf(post), 1);
      return product * step;
    }, 1);
  };

  it.each([
    [3, 3, 0.3],
    [4, 2, 0.3],
    [3, 2, 0.75],
    [3, 3, 1],
    [4, 4, 0],
  ])('of %i posts, shows %i with the probabilities of ε = %f', (posts, take, epsilon) => {
    expectFrequencies({
      items: posts,
      take,
      draw: () => preselectPosts({ posts, take, epsilon, random }),
      probability: (order) => ofOrder(order, { posts, epsilon }),
    });
  });

  it('shows the first posts in time order at ε = 0, and each order alike at ε = 1', () => {
    expect([...preselectPosts({ posts: 9, take: 5, epsilon: 0, random })]).toEqual([0, 1, 2, 3, 4]);
    expect(ofOrder([2, 0, 1], { posts: 3, epsilon: 1 })).toBeCloseTo(1 / 6, 12);
  });

  it('shows every post once where more are to be taken than there are', () => {
    const shown = preselectPosts({ posts: 30, take: 100, epsilon: 0.5, random });
    expect([...shown].sort((one, other) => one - other)).toEqual([...Array(30).keys()]);
  });

  it('shows nothing of a claim without posts', () => {
    expect(preselectPosts({ posts: 0, take: 20, epsilon: 0.3, random })).toEqual(new Int32Array(0));
  });
});

describe('preselectClaims (Eq. 2)', () => {
  const ofOrder = (order: readonly number[], options: { isLabelled: readonly boolean[]; epsilon: number }) => {
    const { isLabelled, epsilon } = options;
    const left = { labelled: isLabelled.filter(Boolean).length, unlabelled: isLabelled.filter((own) => !own).length };
    return order.reduce((product, claim) => {
      const [own, other] = isLabelled[claim]
        ? (['labelled', 'unlabelled'] as const)
        : (['unlabelled', 'labelled'] as const);
      const ofKind = left[other] === 0 ? 1 : own === 'labelled' ? 1 - epsilon : epsilon;
      return (product * ofKind) / left[own]--;
    }, 1);
  };
  const mixed = [true, false, true, false, false];

  it.each<[string, boolean[], number, number]>([
    ['one claim', mixed, 1, 0.3],
    ['two claims', mixed, 2, 0.3],
    ['claims until the labelled ones are used up', mixed, 4, 0.3],
    ['claims until the unlabelled ones are used up', [true, true, false, true], 3, 0.6],
    ['labelled ones first at ε = 0', mixed, 3, 0],
    ['unlabelled ones first at ε = 1', mixed, 4, 1],
    ['claims of which none is unlabelled', [true, true, true], 3, 0.3],
    ['claims of which none is labelled', [false, false, false], 3, 0.3],
  ])('shows %s with the probabilities of the equation', (_, isLabelled, take, epsilon) => {
    expectFrequencies({
      items: isLabelled.length,
      take,
      draw: () => preselectClaims({ isLabelled, take, epsilon, random }),
      probability: (order) => ofOrder(order, { isLabelled, epsilon }),
    });
  });

  it('shows a share of ε unlabelled claims while there are enough of both', () => {
    const isLabelled = Array.from({ length: 40_000 }, (_, index) => index % 2 === 0);
    const shown = preselectClaims({ isLabelled, take: 10_000, epsilon: 0.3, random });
    const unlabelled = shown.filter((claim) => !isLabelled[claim]).length;
    expect(unlabelled / shown.length).toBeCloseTo(0.3, 1.3);
  });

  it('shows every claim once where more are to be taken than there are, and none of none', () => {
    const shown = preselectClaims({ isLabelled: mixed, take: 50, epsilon: 0.3, random });
    expect([...shown].sort()).toEqual([0, 1, 2, 3, 4]);
    expect(preselectClaims({ isLabelled: [], take: 50, epsilon: 0.3, random })).toHaveLength(0);
  });
});

describe('a state', () => {
  it('is the claim, the mean of what was retained, the explanation, and the distribution where it is shown', () => {
    const context = emptyContext(2);
    retain(context, [3, 5]);
    retain(context, Float32Array.of(5, 8));
    const parts = { claim: [1, 2], context, explanation: Float32Array.of(7, 9) };
    expect([...selectionState(parts)]).toEqual([1, 2, 4, 6.5, 7, 9]);
    expect([...selectionState({ ...parts, distribution: [0.25, 0.75] })]).toEqual([1, 2, 4, 6.5, 7, 9, 0.25, 0.75]);
    expect(stateSize({ dimensions: 2, shownClasses: 0 })).toBe(6);
    expect(stateSize({ dimensions: 2, shownClasses: 2 })).toBe(8);
  });

  it('has zeros for the context before anything is retained, and keeps them when something is', () => {
    const context = emptyContext(2);
    const before = selectionState({ claim: [1, 2], context, explanation: [3, 4] });
    retain(context, [5, 6]);
    expect([...before]).toEqual([1, 2, 0, 0, 3, 4]);
    expect(context).toEqual({ sum: Float64Array.of(5, 6), count: 1 });
  });
});

const third = 1 / 3;
const uniform = [third, third, third];

describe('centredCosine', () => {
  it.each<[string, number[], number[], number[], number]>([
    ['the same side', [0.8, 0.1, 0.1], [1, 0, 0], uniform, 1],
    // (1, 1, −2) / 6 and (2, −1, −1) / 3: 1/6 over √6/6 · √6/3.
    ['half to the same side', [0.5, 0.5, 0], [1, 0, 0], uniform, 0.5],
    // (−1, 2, −1) / 3 and (2, −1, −1) / 3: −1/3 over 2/3.
    ['another class', [0, 1, 0], [1, 0, 0], uniform, -0.5],
    ['the opposite side', [0, 0.5, 0.5], [1, 0, 0], uniform, -1],
    // (1, −1, 0) / 3 and (1, 1, −2) / 3.
    ['an orthogonal side', [2 * third, 0, third], [2 * third, 2 * third, -third], uniform, 0],
    // (0.2, −0.2) and (−0.3, 0.3): both favour the first class, and lean to different sides of the prior.
    ['the opposite side of a prior that is not uniform', [0.9, 0.1], [0.4, 0.6], [0.7, 0.3], -1],
    ['no side, where p is the prior', [0.5, 0.25, 0.25], [1, 0, 0], [0.5, 0.25, 0.25], 0],
    ['no side, where q is the prior', [1, 0, 0], [0.5, 0.25, 0.25], [0.5, 0.25, 0.25], 0],
  ])('of %s', (_, p, q, prior, cosine) => {
    expect(centredCosine({ p, q, prior })).toBeCloseTo(cosine, 12);
  });

  it('is exactly 0 where only rounding separates a distribution from its prior, or from a right angle', () => {
    // 1/6, 1/3 and 1/2, but for the rounding of sums of 1/36.
    const labels = Array.from({ length: 36 }, (_, index) => (index < 6 ? 0 : index < 18 ? 1 : 2));
    const prior = veracityPrior({ labels, veracities: 3 });
    const predicted = Float64Array.of(1 / 6, third, 1 / 2);
    expect(prior.some((share, index) => share !== predicted[index])).toBe(true);
    for (const label of [0, 1, 2]) expect(labelledAgreement({ predicted, label, prior })).toBe(0);
    const tilted = [1 / 6 + third, third, third - 1 / 6];
    const across = [third - 0.1, third + 0.2, third - 0.1];
    expect(centredCosine({ p: tilted, q: across, prior: uniform })).toBe(0);
  });

  it('is exactly 1 of a distribution with itself, so that it counts as full reward', () => {
    for (const p of [
      [0.7, 0.2, 0.1],
      [0.31, 0.3, 0.39],
      [1, 0, 0],
    ])
      expect(centredCosine({ p, q: p, prior: uniform })).toBe(1);
  });

  it('is never negative without centring, and is with it', () => {
    const drawn = () => {
      const weights = Float64Array.from({ length: 4 }, () => random.uniform() ** 3);
      const sum = weights.reduce((all, own) => all + own, 0);
      return weights.map((weight) => weight / sum);
    };
    const pairs = Array.from({ length: 2000 }, () => ({ p: drawn(), q: drawn() }));
    const uncentred = pairs.map((pair) => centredCosine({ ...pair, prior: [0, 0, 0, 0] }));
    const centred = pairs.map((pair) => centredCosine({ ...pair, prior: [0.25, 0.25, 0.25, 0.25] }));
    expect(Math.min(...uncentred)).toBeGreaterThan(0);
    expect(centred.filter((cosine) => cosine < 0).length).toBeGreaterThan(500);
    for (const cosine of centred) expect(Math.abs(cosine)).toBeLessThanOrEqual(1);
    for (const [index, { p, q }] of pairs.entries())
      expect(centredCosine({ p: q, q: p, prior: [0.25, 0.25, 0.25, 0.25] })).toBeCloseTo(centred[index], 12);
  });
});

describe('priors and references', () => {
  it('meanDistribution is the mean over distributions, and null of none', () => {
    expect(
      meanDistribution([
        [1, 0],
        [0.5, 0.5],
      ]),
    ).toEqual(Float64Array.of(0.75, 0.25));
    expect(meanDistribution([])).toBeNull();
    expect(meanDistribution([], 2)).toBeNull();
  });

  it('veracityPrior is the share of each class among the labels, zero where it has none', () => {
    expect([...veracityPrior({ labels: [0, 2, 2, 2], veracities: 4 })]).toEqual([0.25, 0, 0.75, 0]);
  });

  it('veracityPrior refuses labels of which there are none, and says what to do', () => {
    const prior = () => veracityPrior({ labels: [], veracities: 4 });
    expect(prior).toThrow(InputError);
    expect(prior).toThrow(/no claim has a veracity label.*give threads with veracity/);
  });

  it('stanceReferences are means over posts, not over claims', () => {
    const references = stanceReferences({
      claims: [
        {
          veracity: 0,
          stances: [
            [1, 0],
            [1, 0],
            [0.4, 0.6],
          ],
        },
        { veracity: 0, stances: [[0, 1]] },
        { veracity: 2, stances: [[0.25, 0.75]] },
        { veracity: 3, stances: [] },
      ],
      veracities: 4,
      stances: 2,
    });
    expect(references.ofVeracity[0]?.[0]).toBeCloseTo(2.4 / 4, 12);
    expect(references.ofVeracity[0]?.[1]).toBeCloseTo(1.6 / 4, 12);
    expect(references.ofVeracity[2]).toEqual(Float64Array.of(0.25, 0.75));
    expect(references.prior[0]).toBeCloseTo(2.65 / 5, 12);
    // No claim of veracity 1, and none of 3 with a post.
    expect(references.ofVeracity[1]).toBeNull();
    expect(references.ofVeracity[3]).toBeNull();
  });

  it('stanceReferences have a uniform prior where no labelled claim has a post', () => {
    const references = stanceReferences({ claims: [{ veracity: 0, stances: [] }], veracities: 2, stances: 4 });
    expect(references).toEqual({ prior: Float64Array.of(0.25, 0.25, 0.25, 0.25), ofVeracity: [null, null] });
  });
});

describe('agreement (Eq. 4)', () => {
  it('of a labelled claim is that of the prediction with the true class', () => {
    const prior = Float64Array.from(uniform);
    const of = (predicted: number[], label: number) =>
      labelledAgreement({ predicted: Float64Array.from(predicted), label, prior });
    expect(of([0.6, 0.2, 0.2], 0)).toBeCloseTo(1, 12);
    expect(of([0.5, 0.5, 0], 0)).toBeCloseTo(0.5, 12);
    expect(of([0.5, 0.5, 0], 2)).toBeCloseTo(-1, 12);
    expect(of([0, 1, 0], 0)).toBeCloseTo(-0.5, 12);
  });

  it('of a labelled claim is 0 where all labelled claims are of one class: the truth tells nothing', () => {
    const prior = veracityPrior({ labels: [1, 1, 1], veracities: 3 });
    expect(labelledAgreement({ predicted: Float64Array.of(0.9, 0.1, 0), label: 1, prior })).toBe(0);
  });

  const references = stanceReferences({
    claims: [
      { veracity: 0, stances: [[1, 0, 0]] },
      { veracity: 1, stances: [[0, 1, 0]] },
      { veracity: 2, stances: [[0, 0, 1]] },
    ],
    veracities: 4,
    stances: 3,
  });

  it('of an unlabelled claim is that of its retained posts’ mean stance with its predicted veracity’s', () => {
    const of = (predictedVeracity: number, retained: number[][]) =>
      unlabelledAgreement({ predictedVeracity, retained, references });
    // The mean is (½, ½, 0).
    const retained = [
      [1, 0, 0],
      [0, 1, 0],
    ];
    expect(of(0, retained)).toBeCloseTo(0.5, 12);
    expect(of(1, retained)).toBeCloseTo(0.5, 12);
    expect(of(2, retained)).toBeCloseTo(-1, 12);
    expect(of(0, [[0.8, 0.1, 0.1]])).toBeCloseTo(1, 12);
    expect(
      of(
        0,
        uniform.map((_, post) => [0, 1, 2].map((stance) => (stance === post ? 1 : 0))),
      ),
    ).toBe(0);
  });

  it('of an unlabelled claim is 0 where nothing is retained, or no labelled claim is of the predicted veracity', () => {
    expect(unlabelledAgreement({ predictedVeracity: 0, retained: [], references })).toBe(0);
    expect(unlabelledAgreement({ predictedVeracity: 3, retained: [[1, 0, 0]], references })).toBe(0);
  });
});

describe('stepsOfPositiveReward', () => {
  it('counts positive rewards in a row, and begins again after any other', () => {
    const counts: number[] = [];
    for (const reward of [1, 0.2, 0, 1, 1, 0.7, -1, -0.001, 1])
      counts.push(stepsOfPositiveReward({ before: counts.at(-1) ?? 0, reward }));
    expect(counts).toEqual([1, 2, 0, 1, 2, 3, 0, 0, 1]);
  });
});
