import { describe, expect, it } from 'vitest';
import { atStopOnly, stopByScores, type TestThread } from '../../../experiments/stop-agent/decisions.ts';
import { sampledScores, stopChances } from '../../../experiments/stop-agent/sampled-stops.ts';
import { macroF1 } from '../../../src/metrics/classification.ts';

const thread = (threadId: string, goldLabel: number, predicted: number[]): TestThread => ({
  threadId,
  sequence: { predicted: Int8Array.from(predicted), confidence: new Float32Array(predicted.length) },
  goldLabel,
  hours: predicted.map(() => null),
  studentConfidence: null,
});

describe('the chances of a stop', () => {
  it('are those of going on until then, and the last post takes the rest', () => {
    expect([...stopChances([0.5, 0.2, 0.1])]).toEqual([0.5, 0.1, 0.4]);
    expect([...stopChances([0, 1, 0.3])]).toEqual([0, 1, 0]);
    expect([...stopChances([0.25])]).toEqual([1]);
  });

  it('leave the last post out where it is not acted upon, but for a thread of one post', () => {
    expect([...stopChances([0.5, 0.25, 0], 'dropped')]).toEqual([0.5, 0.5, 0]);
    expect([...stopChances([0], 'dropped')]).toEqual([1]);
  });
});

it('a stop by scores asks at each post where it would stop, whether the prediction raises an alert', () => {
  const task = { labels: ['no', 'yes'], alerts: ['yes'] };
  const limits = { maxPosts: 9, lastPost: 'decision', deadline: { posts: null, hours: null } } as const;
  const policy = { threshold: 0.5, limits, queries: { ...atStopOnly, lengths: [1] }, task };
  const own = thread('a', 1, [0, 0, 0, 1]);
  // Planned at 1; asked at 2 and at 4, where it stops.
  const found = stopByScores(own, [0.1, 0.9, 0.2, 0.8], policy);
  expect(found).toMatchObject({ postsUsed: 4, queries: 3 });
  expect(stopByScores(own, [0.1, 0.9, 0.2, 0.8], { ...policy, task: { labels: task.labels } })).toMatchObject({
    postsUsed: 2,
  });
});

describe('sampled stops', () => {
  const threads = [thread('a', 0, [1, 0, 0]), thread('b', 1, [1, 0]), thread('c', 1, [0, 1, -1, 1])];
  const stopProbabilities = new Map([
    ['a', [0.3, 0.5, 0.9]],
    ['b', [0.8, 0.1]],
    ['c', [0.2, 0.2, 0.2, 0.2]],
  ]);
  const options = { lastPost: 'decision', task: { labels: ['no', 'yes'] } } as const;

  it('score what every way to stop scores, each as often as it happens', () => {
    const expected = { macroF1: 0, er: 0, queriesPerThread: 0 };
    const chances = threads.map(({ threadId }) => stopChances(stopProbabilities.get(threadId)!));
    const everySecond = { ...atStopOnly, lengths: [2, 4] };
    for (let a = 0; a < 3; a++)
      for (let b = 0; b < 2; b++)
        for (let c = 0; c < 4; c++) {
          const stops = [a, b, c];
          const probability = chances[0][a] * chances[1][b] * chances[2][c];
          const predicted = threads.map(({ sequence }, index) => sequence.predicted[stops[index]]);
          expected.macroF1 += probability * macroF1({ gold: [0, 1, 1], predicted, classes: 2 });
          expected.er += (probability * ((a + 1) / 3 + (b + 1) / 2 + (c + 1) / 4)) / 3;
          // Asked after two and four posts, and at the stop: one, one, two and two queries.
          expected.queriesPerThread +=
            (probability * stops.map((stop) => [1, 1, 2, 2][stop]).reduce((x, y) => x + y)) / 3;
        }
    const scores = sampledScores(threads, { ...options, stopProbabilities, queries: everySecond });
    expect(scores.macroF1).toBeCloseTo(expected.macroF1, 12);
    expect(scores.er).toBeCloseTo(expected.er, 12);
    expect(scores.queriesPerThread).toBeCloseTo(expected.queriesPerThread, 12);
    expect(sampledScores(threads, { ...options, stopProbabilities, queries: atStopOnly }).queriesPerThread).toBeCloseTo(
      1,
      12,
    );
  });

  it('are at alerts alone where labels raise them, and at the last post', () => {
    const own = new Map([['c', [0.5, 0.5, 0.5, 0.5]]]);
    const task = { labels: ['no', 'yes'], alerts: ['yes'] };
    // The predictions are no, yes, none and yes: it stops at the second post as often as at the fourth.
    const { er } = sampledScores([threads[2]], { ...options, task, stopProbabilities: own, queries: atStopOnly });
    expect(er).toBeCloseTo((2 / 4 + 1) / 2, 12);
  });

  it('read the last judgement of a thread that is judged no further', () => {
    const longer = new Map([['b', [0, 0, 0, 1]]]);
    expect(sampledScores([threads[1]], { ...options, stopProbabilities: longer, queries: atStopOnly })).toEqual({
      macroF1: 0,
      er: 1,
      queriesPerThread: 1,
    });
  });
});
