import { describe, expect, it } from 'vitest';
import {
  afterHours,
  allPosts,
  callsOfStop,
  confidentAt,
  firstPosts,
  labelAware,
  type StopRule,
  type StopRuleInput,
} from '../../experts/stop-rules.ts';

function input(given: {
  predicted: number[];
  confidence?: number[];
  hours?: (number | null)[];
  goldLabel?: number;
}): StopRuleInput {
  const { predicted, confidence = predicted.map(() => 0.5), hours = predicted.map((_, i) => i), goldLabel = 1 } = given;
  return {
    goldLabel,
    hours,
    sequence: {
      predicted: Int8Array.from(predicted),
      confidence: Float32Array.from(confidence),
    },
  };
}

const five = input({ predicted: [0, 1, 0, 1, 1] });

describe('first k posts and all posts', () => {
  it('stop at the k-th post, or at the last of a shorter thread', () => {
    expect(firstPosts(1).stopStep(five)).toBe(0);
    expect(firstPosts(3).stopStep(five)).toBe(2);
    expect(firstPosts(5).stopStep(five)).toBe(4);
    expect(firstPosts(50).stopStep(five)).toBe(4);
    expect(allPosts.stopStep(five)).toBe(4);
    expect(allPosts.stopStep(input({ predicted: [1] }))).toBe(0);
  });

  it('are named after what they read, and call the detector once', () => {
    expect([firstPosts(1), firstPosts(4), allPosts].map(({ name, calls }) => [name, calls])).toEqual([
      ['first post', 'one'],
      ['first 4 posts', 'one'],
      ['all posts', 'one'],
    ]);
  });
});

describe('a fixed time after the claim', () => {
  const predicted = [0, 0, 0, 0];
  it.each<[string, (number | null)[], number]>([
    ['the last post within it', [0, 1, 5.9, 6.1], 2],
    ['a post right at it counts', [0, 1, 6, 7], 2],
    ['everything within it', [0, 1, 2, 3], 3],
    ['nothing but the claim within it', [0, 7, 8, 9], 0],
    ['a post without a time is later', [0, 1, null, 2], 1],
    ['no time at all leaves the claim', [null, null, null, null], 0],
    ['a claim without a time counts as read', [null, 1, 2, 7], 2],
  ])('stops at %s', (_, hours, step) => {
    expect(afterHours(6).stopStep(input({ predicted, hours }))).toBe(step);
  });

  it('takes a thread of one post', () => {
    expect(afterHours(6).stopStep(input({ predicted: [1], hours: [null] }))).toBe(0);
  });
});

describe('a confidence threshold', () => {
  it('stops at the first prefix that reaches it, and calls at every post', () => {
    const rule = confidentAt(0.75);
    expect(rule.stopStep(input({ predicted: [0, 1, 0, 1], confidence: [0.6, 0.75, 0.99, 0.7] }))).toBe(1);
    expect(rule.calls).toBe('every');
  });

  it('asks on a schedule, too, and is blind in between', () => {
    const rule = confidentAt(0.75, { name: 'geometric', start: 1, factor: 2 });
    const thread = input({ predicted: [0, 0, 0, 0, 0, 1], confidence: [0.6, 0.7, 0.9, 0.8, 0.9, 0.9] });
    expect(rule.stopStep(thread)).toBe(3);
    expect(rule).toMatchObject({ name: 'confidence ≥ 0.75, asked at 1, 2, 4, 8, 16, …', calls: 'schedule' });
    expect(rule.stopStep(input({ predicted: [0, 0, 1], confidence: [0.6, 0.7, 0.9] }))).toBe(2);
  });

  it('costs the calls of its schedule up to the stop, and one at a stop in between', () => {
    const { sequence } = input({ predicted: [0, 0, 0, 0, 0, 1] });
    const calls = (stop: number, rule: StopRule) => callsOfStop(stop, { ...rule, sequence });
    const doubling = confidentAt(0.75, { name: 'geometric', start: 1, factor: 2 });
    expect([1, 2, 3, 4, 6].map((stop) => calls(stop, doubling))).toEqual([1, 2, 3, 3, 4]);
    expect([1, 4, 6].map((stop) => calls(stop, confidentAt(0.75)))).toEqual([1, 4, 6]);
    expect([1, 4, 6].map((stop) => calls(stop, allPosts))).toEqual([1, 1, 1]);
    // The detector reads six posts: later stops have the judgement of those.
    expect([7, 9].map((stop) => calls(stop, doubling))).toEqual([4, 4]);
  });

  it('passes over prefixes without a confidence, and reads on to the end where none reaches it', () => {
    const rule = confidentAt(0.9);
    expect(rule.stopStep(input({ predicted: [-1, -1, 1], confidence: [Number.NaN, Number.NaN, 0.95] }))).toBe(2);
    expect(rule.stopStep(input({ predicted: [1, 1, 1], confidence: [0.8, Number.NaN, 0.8] }))).toBe(2);
  });
});

describe('the label-aware bound', () => {
  it('stops at the first right judgement, or at the last post where none is', () => {
    expect(labelAware.stopStep(five)).toBe(1);
    expect(labelAware.stopStep(input({ predicted: [0, -1, 0] }))).toBe(2);
    expect(labelAware.stopStep(input({ predicted: [0, 1, 1], goldLabel: 0 }))).toBe(0);
    expect(labelAware.calls).toBe('oracle');
  });
});
