import { describe, expect, it } from 'vitest';
import type { Decision, SystemDecisions } from '../../../experiments/stop-agent/decisions.ts';
import { scoreSystem, scoresJson } from '../../../experiments/stop-agent/metrics.ts';
import { evaluationTable } from '../../../experiments/stop-agent/report/systems-table.ts';

const decision = (values: Partial<Decision>): Decision => ({
  system: 'agent',
  threadId: 't',
  gold: 0,
  predicted: 0,
  postsUsed: 1,
  posts: 4,
  hours: 0,
  queries: 1,
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
const system = (queries: SystemDecisions['queries']): SystemDecisions => ({ name: 'agent', queries, decisions });

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

  it('count the queries that are written down, as of an agent that asks on a schedule', () => {
    const asked = decisions.map((own, index) => ({ ...own, queries: index + 1 }));
    const { values, intervals } = scoreSystem(
      { ...system('schedule'), decisions: asked },
      { labels, resample: { seed: 1, resamples: 200 } },
    );
    expect(values.queriesPerThread).toBe(10 / 4);
    expect(values.queriesSaved).toBeCloseTo(1 - 10 / 14, 12);
    expect(intervals.queriesPerThread[0]).toBeLessThan(2.5);
    expect(intervals.queriesPerThread[1]).toBeGreaterThan(2.5);
  });

  it.each([
    [{ gold: 2 }, 'found gold 2, predicted 0, postsUsed 1'],
    [{ predicted: -2 }, 'predicted the same or −1'],
    [{ postsUsed: 5 }, 'postsUsed 1 to 4, its posts; found gold 0, predicted 0, postsUsed 5'],
    [{ postsUsed: 0 }, 'thread t cannot be scored: gold must be 0 to 1'],
  ])('are refused for a decision that its thread or the labels do not allow: %j', (values, problem) => {
    const refused = { ...system('one'), decisions: [...decisions, decision(values)] };
    expect(() => scoreSystem(refused, { labels })).toThrow(problem);
  });

  it('have intervals where they are asked for, around the value', () => {
    const scores = scoreSystem(system('one'), { labels, resample: { seed: 1, resamples: 100 } });
    expect(Object.keys(scores.intervals)).toEqual(['macroF1', 'er', 'queriesPerThread']);
    const [low, high] = scores.intervals.er;
    expect(low).toBeLessThan(scores.values.er ?? 0);
    expect(high).toBeGreaterThan(scores.values.er ?? 1);
    expect(scoresJson(scores)).toMatchObject({ er: scores.values.er, erInterval: [low, high], threads: 4 });
  });

  it('measure alerts where labels of the task raise them', () => {
    const resample = { seed: 1, resamples: 50 };
    const { values, intervals } = scoreSystem(system('one'), { labels, alerts: ['rumor'], resample });
    // A false alert after 2 posts, a true one after 4, and a missed rumor; half of the threads are rumors.
    const late = (deadline: number, latency: number) => 1 - 1 / (1 + Math.exp(latency - deadline));
    expect(values.erde5).toBeCloseTo((0.5 + late(5, 4) + 1) / 4, 12);
    expect(values.erde50Hours).toBeCloseTo((0.5 + late(50, 4) + 1) / 4, 12);
    expect(values).toMatchObject({ alertPrecision: 0.5, alertRecall: 0.5, alertsPerThousand: 500 });
    expect(values).toMatchObject({ medianAlertPosts: 3, medianAlertHours: 4 });
    // Four posts are the median number of posts.
    expect(values.alertSpeed).toBeCloseTo(0.5, 12);
    expect(values.latencyF1).toBeCloseTo(0.25, 12);
    expect(Object.keys(intervals)).toEqual(expect.arrayContaining(['erde5', 'erde50', 'latencyF1', 'alertPrecision']));
    expect(scoreSystem(system('one'), { labels }).values.erde5).toBeNull();
  });

  it('have columns in tables where a system knows them', () => {
    const tableOf = (alerts: string[]) => evaluationTable([scoreSystem(system('one'), { labels, alerts })]);
    expect(tableOf(['rumor']).heading).toEqual(expect.arrayContaining(['macro-F1', 'ERDE 50', 'F latency']));
    expect(tableOf([]).heading).toEqual(
      [
        'system',
        'macro-F1',
        'F1 non-rumor',
        'F1 rumor',
        'earliness',
        'delay, posts',
        'delay, hours',
        'median',
        '90%',
      ].concat(['queries per thread', 'most common stop']),
    );
  });
});
