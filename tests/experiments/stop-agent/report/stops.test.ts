import { describe, expect, it } from 'vitest';
import { byEvent, confusionRows, cumulative } from '../../../../experiments/stop-agent/report/stops.ts';
import { decidedThread as decided } from './decided-thread.ts';

const labels = ['no', 'yes'];

it('counts what is decided by then and how much of it rightly; what has no value is never counted', () => {
  const decisions = [
    decided({ postsUsed: 9, hours: 2 }),
    decided({ postsUsed: 1, hours: 0 }),
    decided({ postsUsed: 9, predicted: 1, hours: null }),
    decided({ postsUsed: 20, predicted: -1, hours: 30 }),
  ];
  expect(cumulative(decisions, ({ postsUsed }) => postsUsed)).toEqual([
    { x: 1, share: 1 / 4, right: 1 / 4 },
    { x: 9, share: 3 / 4, right: 2 / 4 },
    { x: 20, share: 1, right: 2 / 4 },
  ]);
  expect(cumulative(decisions, ({ hours }) => hours).at(-1)).toEqual({ x: 30, share: 3 / 4, right: 2 / 4 });
});

describe('confusionRows', () => {
  it('has gold labels down, answers across, unreadable ones last', () => {
    const decisions = [decided({}), decided({ predicted: 1 }), decided({ gold: 1, predicted: -1 })];
    expect(confusionRows(decisions, labels)).toEqual([
      [1, 1, 0],
      [0, 0, 1],
    ]);
  });
});

describe('events', () => {
  const decisions = [
    decided({ event: 'a', postsUsed: 2 }),
    decided({ event: 'a', postsUsed: 4, gold: 1, predicted: 1 }),
    decided({ event: 'b', postsUsed: 10, predicted: 1 }),
    decided({ event: null }),
  ];

  it('are scored one by one, the largest first', () => {
    expect(byEvent(decisions, labels)).toEqual([
      { event: 'a', threads: 2, macroF1: 1, er: expect.closeTo(0.3, 10), medianPosts: 3 },
      { event: 'b', threads: 1, macroF1: 0, er: 1, medianPosts: 10 },
    ]);
  });
});
