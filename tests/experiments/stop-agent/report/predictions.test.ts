import { describe, expect, it } from 'vitest';
import { byEvent, eventTable } from '../../../../experiments/stop-agent/report/predictions.ts';
import { decidedThread as decided } from './decided-thread.ts';

const labels = ['no', 'yes'];

describe('events', () => {
  const decisions = [
    decided({ event: 'a', postsUsed: 2 }),
    decided({ event: 'a', postsUsed: 4, gold: 1, predicted: 1 }),
    decided({ event: 'b', postsUsed: 10, predicted: 1 }),
    decided({ event: null }),
  ];

  it('are scored one by one, the largest first', () => {
    expect(eventTable(byEvent(decisions), { labels })).toEqual({
      heading: ['by event', 'threads', 'macro-F1', 'earliness', 'median posts'],
      rows: [
        ['a', '2', '1.000', '0.300', '3.0'],
        ['b', '1', '0.000', '1.000', '10.0'],
      ],
    });
  });

  it('are scored by their alerts where labels raise some', () => {
    expect(eventTable(byEvent(decisions), { labels, alerts: ['yes'] })).toEqual({
      heading: ['by event', 'threads', 'F latency', 'alert precision', 'alert recall', 'median posts'],
      rows: [
        ['a', '2', expect.stringMatching(/^0\.[1-9]/), '1.000', '1.000', '3.0'],
        ['b', '1', '0.000', '0.000', '0.000', '10.0'],
      ],
    });
  });
});
