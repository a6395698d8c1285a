import { describe, expect, it } from 'vitest';
import {
  type Costs,
  costsSchema,
  predictionCost,
  readingCost,
  unknownLabels,
  wrongCosts,
} from '../../../experiments/stop-agent/costs.ts';
import { decide, type SystemDecisions, type TestThread } from '../../../experiments/stop-agent/decisions.ts';
import { scoreSystem } from '../../../experiments/stop-agent/metrics.ts';
import { isCandidate, recommended } from '../../../experiments/stop-agent/recommendation.ts';

const labels = ['non-rumor', 'rumor', 'unsure'];
const costs = (parts: Partial<Costs> = {}) => costsSchema.parse(parts);

describe('costs', () => {
  it('of mistakes are one number, or by true label, or by true and predicted label', () => {
    expect(wrongCosts(costs(), labels)).toEqual([
      [0, 1, 1],
      [1, 0, 1],
      [1, 1, 0],
    ]);
    expect(wrongCosts(costs({ wrong: 3 }), labels)[1]).toEqual([3, 0, 3]);
    expect(wrongCosts(costs({ wrong: { rumor: 10, unsure: { rumor: 4 } } }), labels)).toEqual([
      [0, 1, 1],
      [10, 0, 10],
      [1, 4, 0],
    ]);
    expect(unknownLabels(costs({ wrong: { rumour: 1, rumor: { nope: 2 } } }), labels)).toEqual(['rumour', 'nope']);
  });

  it('of reading add up, and are unknown where hours cost something and a time is missing', () => {
    const spent = { postsUsed: 5, posts: 20, hours: 3, queries: 2 };
    expect(readingCost(costs({ perPost: 0.1, perShare: 4, perHour: 0.5, perQuery: 0.25 }), spent)).toBeCloseTo(
      0.5 + 1 + 1.5 + 0.5,
    );
    expect(readingCost(costs({ perHour: 0.5 }), { ...spent, hours: null })).toBeNull();
    expect(readingCost(costs({ perPost: 1 }), { ...spent, hours: null })).toBe(5);
  });

  it('of an answer that could not be read are those of the worst mistake', () => {
    const wrong = wrongCosts(costs({ wrong: { rumor: { unsure: 7 } } }), labels);
    expect(predictionCost(wrong, { gold: 1, predicted: -1 })).toBe(7);
    expect(predictionCost(wrong, { gold: 1, predicted: 1 })).toBe(0);
  });
});

/** Threads of ten posts that are judged right from post 4 on. */
const threads: TestThread[] = Array.from({ length: 60 }, (_, index) => {
  const goldLabel = index % 2;
  const right = (post: number) => post >= 3 || index % 3 === 0;
  return {
    threadId: `t${index}`,
    goldLabel,
    sequence: {
      predicted: Int8Array.from({ length: 10 }, (_, post) => (right(post) ? goldLabel : 1 - goldLabel)),
      confidence: new Float32Array(10).fill(0.9),
    },
    hours: Array.from({ length: 10 }, (_, post) => post / 2),
    studentConfidence: null,
  };
});
const stopping = (name: string, postsUsed: number, lengths: number[] = []): SystemDecisions =>
  decide(
    name,
    threads,
    threads.map(({ hours }) => ({ postsUsed, hours: hours[postsUsed - 1] })),
    { lengths, actsAt: 'every-post', maxPosts: 10 },
  );

it('give an expected cost with its interval', () => {
  const own = costs({ wrong: { rumor: 5, 'non-rumor': 1 }, perHour: 0.1, perQuery: 0.2 });
  const scores = scoreSystem(stopping('first post', 1), {
    labels: ['non-rumor', 'rumor'],
    costs: own,
    resample: { seed: 1, resamples: 200 },
  });
  // Two of three are wrong at the first post, half of them at 5 and half at 1; one query each.
  expect(scores.values.expectedCost).toBeCloseTo((2 / 3) * 3 + 0.2);
  const [low, high] = scores.intervals.expectedCost;
  expect(low).toBeLessThan(2.2);
  expect(high).toBeGreaterThan(2.2);
  expect(scoreSystem(stopping('first post', 1), { labels }).values.expectedCost).toBeNull();
  expect(scoreSystem(stopping('five', 5), { labels }).values).toMatchObject({
    delayHours: 2,
    medianDelayHours: 2,
    longDelayHours: 2,
  });
});

describe('the recommended system', () => {
  const aim = { labels: ['non-rumor', 'rumor'], costs: null, price: { delayCost: 0.1, queryCost: 0 } };
  const candidate = (own: SystemDecisions) => ({ name: own.name, seeds: [own] });

  it('is the best, or a simpler one that is as good: rules before agents, fewer queries before more', () => {
    const agent = candidate(stopping('stop agent', 4));
    const same = candidate(stopping('confidence ≥ 0.9', 4, [1, 2, 3, 4]));
    const once = candidate(stopping('first 4 posts', 4));
    const worse = candidate(stopping('first post', 1));
    expect(recommended([agent, worse], aim)).toMatchObject({ system: agent, best: agent });
    expect(recommended([agent, same, worse], aim)).toMatchObject({ system: same });
    expect(recommended([agent, same, once, worse], aim)).toMatchObject({ system: once });
  });

  it('follows the costs of the user', () => {
    const [early, late] = [candidate(stopping('first post', 1)), candidate(stopping('first 4 posts', 4))];
    expect(recommended([early, late], { ...aim, costs: costs({ perHour: 10 }) }).system).toBe(early);
    expect(recommended([early, late], { ...aim, costs: costs({ wrong: 10, perHour: 0.1 }) }).system).toBe(late);
  });

  it('sees no labels and no stream, and is no copy of the demonstrations', () => {
    expect(isCandidate({ name: 'oracle', queries: 'oracle' })).toBe(false);
    expect(isCandidate({ name: 'behaviour cloning', queries: 'one' })).toBe(false);
    expect(isCandidate({ name: 'stop agent', queries: 'one' })).toBe(true);
  });
});
