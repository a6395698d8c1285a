import { expect, it } from 'vitest';
import { agentName } from '../../../../experiments/stop-agent/decisions.ts';
import type { SystemSummary } from '../../../../experiments/stop-agent/report/aggregate.ts';
import { readingSentence } from '../../../../experiments/stop-agent/report/reading.ts';

const system = (
  name: string,
  calls: SystemSummary['calls'],
  [macroF1, er, callsPerThread]: readonly [number, number, number],
) => {
  const value = (mean: number) => ({ mean, deviation: 0 });
  return { name, calls, values: { macroF1: value(macroF1), er: value(er), callsPerThread: value(callsPerThread) } };
};
const sentence = (...others: ReturnType<typeof system>[]) => {
  const systems = [
    system(agentName, 'schedule', [0.78, 0.4, 3]),
    system('all posts', 'one', [0.8, 1, 1]),
    system('first post', 'one', [0.6, 0.1, 1]),
    system('first 4 posts', 'one', [0.79, 0.5, 1]),
    ...others,
  ];
  return readingSentence(systems, 'mine');
};

it('says what an agent keeps beside the best fixed rule that is no later', () => {
  const said =
    'Reading 40 % of the posts, mine keeps 98 % of the macro-F1 of reading everything; the best fixed rule as early keeps 75 %';
  expect(sentence()).toBe(`${said}.`);
  // Later, or with more calls, or no better than the fixed rule: none is like the agent.
  expect(sentence(system('confidence ≥ 0.9', 'every', [0.79, 0.45, 3]))).toBe(`${said}.`);
  expect(sentence(system('confidence ≥ 0.8', 'every', [0.79, 0.3, 5]))).toBe(`${said}.`);
  expect(sentence(system('confidence ≥ 0.6', 'every', [0.5, 0.2, 2]))).toBe(`${said}.`);
});

it('does not keep from the reader a rule that asks on the way and does better than every fixed one', () => {
  expect(sentence(system('confidence ≥ 0.7', 'every', [0.79, 0.3, 2.5]))).toContain(
    'keeps 75 %; confidence ≥ 0.7, as early with as few calls, keeps 99 %.',
  );
});
