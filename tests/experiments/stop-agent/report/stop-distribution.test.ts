import { describe, expect, it } from 'vitest';
import {
  byEvent,
  confusionRows,
  histogram,
  hourBins,
  postBins,
  stopsByEvent,
} from '../../../../experiments/stop-agent/report/stop-distribution.ts';
import { decidedThread as decided } from './decided-thread.ts';

const labels = ['no', 'yes'];

describe('histogram', () => {
  it('counts by bin, class and outcome; an unreadable answer is wrong, and what has no value is left out', () => {
    const decisions = [
      decided({ postsUsed: 1 }),
      decided({ postsUsed: 9, predicted: 1 }),
      decided({ postsUsed: 10, gold: 1, predicted: 1 }),
      decided({ postsUsed: 14, gold: 1, predicted: -1 }),
      decided({ postsUsed: 1000, gold: 1, predicted: 1 }),
    ];
    const posts = histogram(decisions, { bins: postBins, valueIn: ({ postsUsed }) => postsUsed, labels });
    expect(posts.filter(({ threads }) => threads > 0)).toEqual([
      { bin: '1', label: 'no', outcome: 'right', threads: 1, share: 1 / 2 },
      { bin: '9', label: 'no', outcome: 'wrong', threads: 1, share: 1 / 2 },
      { bin: '10–14', label: 'yes', outcome: 'right', threads: 1, share: 1 / 3 },
      { bin: '10–14', label: 'yes', outcome: 'wrong', threads: 1, share: 1 / 3 },
      { bin: '100+', label: 'yes', outcome: 'right', threads: 1, share: 1 / 3 },
    ]);
    const timed = [0, 1 / 60, 0.5, 3, 30].map((hours) => decided({ hours }));
    const hours = histogram([...timed, decided({ hours: null })], {
      bins: hourBins,
      valueIn: (decision) => decision.hours,
      labels,
    });
    expect(hours.filter(({ threads }) => threads > 0).map(({ bin }) => bin)).toEqual([
      'under 1 min',
      '1–10 min',
      '10–60 min',
      '3–6 h',
      '24 h or more',
    ]);
  });
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

  it('spread over bins in shares of their threads', () => {
    expect(stopsByEvent(decisions, { events: 1 })).toEqual([
      { event: 'a', bin: '2', threads: 1, share: 0.5 },
      { event: 'a', bin: '4', threads: 1, share: 0.5 },
    ]);
  });
});
