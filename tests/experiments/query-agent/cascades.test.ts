import { describe, expect, it } from 'vitest';
import { allCascades, type Cascade, followCascade } from '../../../experiments/query-agent/cascades.ts';
import { outcomeOf, returnsOf } from '../../../experiments/query-agent/outcomes.ts';
import type { QueryThread } from '../../../trainers/query-agent/states.ts';

const judged = (label: number, confidence: number, cost: number) => ({
  label,
  probabilities: label === 0 ? [confidence, 1 - confidence] : [1 - confidence, confidence],
  cost,
});

/** The cheap detector grows sure; the dear one is asked from two posts on. */
const thread: QueryThread = {
  id: 'a',
  posts: 8,
  lengths: [1, 2, 4],
  gold: 1,
  judgements: [
    [judged(0, 0.6, 0.01), null],
    [judged(0, 0.8, 0.02), judged(1, 0.9, 0.1)],
    [judged(1, 0.95, 0.03), judged(1, 0.99, 0.2)],
  ],
};
const rule = (own: Partial<Cascade>): Cascade => ({
  name: '',
  detector: 0,
  first: 1,
  last: 4,
  confidence: 0.9,
  second: null,
  ...own,
});
const ask = (step: number, detector: number) => ({ step, detector });

describe('a cascade', () => {
  it('asks its first detector until that is sure', () => {
    const asks = [ask(0, 0), ask(1, 0), ask(2, 0)];
    expect(followCascade(thread, rule({}))).toEqual({ asks, step: 2, detector: 0, judgedAt: 2 });
    expect(followCascade(thread, rule({ confidence: 0.7 }))).toEqual({
      asks: asks.slice(0, 2),
      step: 1,
      detector: 0,
      judgedAt: 1,
    });
  });

  it('asks the second at its last post where the first is never sure, or at the next post where it can be asked', () => {
    expect(followCascade(thread, rule({ last: 2, second: 1 }))).toEqual({
      asks: [ask(0, 0), ask(1, 0), ask(1, 1)],
      step: 1,
      detector: 1,
      judgedAt: 1,
    });
    expect(followCascade(thread, rule({ last: 1, second: 1 }))).toMatchObject({ step: 1, judgedAt: 1 });
  });

  it('is paid for each ask at its own price, and for being right', () => {
    const outcome = outcomeOf(thread, followCascade(thread, rule({ last: 2, second: 1 })));
    expect(outcome).toMatchObject({ predicted: 1, postsUsed: 2, asks: [2, 1], detector: 1 });
    expect(returnsOf([outcome], 0.4)[0]).toBeCloseTo(1 - 0.1 - 0.13, 12);
  });

  it('asks about short threads whole', () => {
    const short = { ...thread, posts: 1, lengths: [1], judgements: [[judged(0, 0.6, 0.01), judged(1, 0.9, 0.1)]] };
    expect(followCascade(short, rule({ first: 4, second: 1 }))).toEqual({
      asks: [ask(0, 0), ask(0, 1)],
      step: 0,
      detector: 1,
      judgedAt: 0,
    });
  });

  it('is one of all, with single detectors among them', () => {
    const all = allCascades({ names: ['cheap', 'dear'], lengths: [1, 2] });
    const names = all.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names).toEqual(
      expect.arrayContaining(['dear at 2', 'cheap from 1 to 2 ≥ 0.9', 'cheap at 1 ≥ 0.9, else dear']),
    );
  });
});
