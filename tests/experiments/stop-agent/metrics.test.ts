import { describe, expect, it } from 'vitest';
import type { Decision, SystemDecisions } from '../../../experiments/stop-agent/decisions.ts';
import { scoreSystem, scoresJson } from '../../../experiments/stop-agent/metrics.ts';

const decision = (values: Partial<Decision>): Decision => ({
  system: 'agent',
  threadId: 't',
  gold: 0,
  predicted: 0,
  postsUsed: 1,
  posts: 4,
  hours: 0,
  calls: 1,
  ...values,
});

/** Two threads of each label: one of each right, one decided wrongly, one unreadable. */
const decisions: Decision[] = [
  decision({ gold: 0, predicted: 0, postsUsed: 1, posts: 4, hours: 0 }),
  decision({ gold: 0, predicted: 1, postsUsed: 2, posts: 4, hours: 2 }),
  decision({ gold: 1, predicted: 1, postsUsed: 4, posts: 4, hours: 4 }),
  decision({ gold: 1, predicted: -1, postsUsed: 1, posts: 2, hours: null }),
];
const labels = ['non-rumor', 'rumor'];
const system = (calls: SystemDecisions['calls']): SystemDecisions => ({ name: 'agent', calls, decisions });

describe('the metrics of decisions', () => {
  it('are what a hand computes', () => {
    const { values } = scoreSystem(system('one'), { labels });
    // The unreadable answer is a missed rumour and no false non-rumour: F1 = 2·right / (2·right + false + missed).
    const f1NonRumor = 2 / (2 + 0 + 1) /* none called non-rumor wrongly, one missed */;
    const f1Rumor = 2 / (2 + 1 + 1);
    expect(values.macroF1).toBeCloseTo((f1NonRumor + f1Rumor) / 2, 12);
    expect(values.accuracy).toBe(0.5);
    expect(values.er).toBeCloseTo((1 / 4 + 2 / 4 + 4 / 4 + 1 / 2) / 4, 12);
    expect(values.delayPosts).toBeCloseTo((0 + 1 + 3 + 0) / 4, 12);
    expect(values.delayHours).toBeCloseTo((0 + 2 + 4) / 3, 12);
  });

  it('count the calls that are written down, as of an agent that asks on a schedule', () => {
    const asked = decisions.map((own, index) => ({ ...own, calls: index + 1 }));
    const { values, intervals } = scoreSystem(
      { ...system('schedule'), decisions: asked },
      { labels, resample: { seed: 1, resamples: 200 } },
    );
    expect(values.callsPerThread).toBe(10 / 4);
    expect(values.callsSaved).toBeCloseTo(1 - 10 / 14, 12);
    expect(intervals.callsPerThread[0]).toBeLessThan(2.5);
    expect(intervals.callsPerThread[1]).toBeGreaterThan(2.5);
  });

  it('have intervals where they are asked for, around the value', () => {
    const scores = scoreSystem(system('one'), { labels, resample: { seed: 1, resamples: 100 } });
    expect(Object.keys(scores.intervals)).toEqual(['macroF1', 'er', 'callsPerThread']);
    const [low, high] = scores.intervals.er;
    expect(low).toBeLessThan(scores.values.er ?? 0);
    expect(high).toBeGreaterThan(scores.values.er ?? 1);
    expect(scoresJson(scores)).toMatchObject({ er: scores.values.er, erInterval: [low, high], threads: 4 });
  });
});
