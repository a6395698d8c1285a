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

it('says what an agent keeps beside the best rule that reads and queries no more', () => {
  const keeps = (rule: string, share: number) =>
    `Reading 40 % of the posts with 3.0 queries per thread, mine keeps 98 % of the macro-F1 of reading everything. The best rule that reads and queries no more, ${rule}, keeps ${share} %.`;
  expect(sentence()).toBe(keeps('first post', 75));
  // Later, or with more queries, or no better: none takes its place.
  expect(sentence(system('confidence ≥ 0.9', 'every', [0.79, 0.45, 3]))).toBe(keeps('first post', 75));
  expect(sentence(system('confidence ≥ 0.8', 'every', [0.79, 0.3, 5]))).toBe(keeps('first post', 75));
  expect(sentence(system('confidence ≥ 0.6', 'every', [0.5, 0.2, 2]))).toBe(keeps('first post', 75));
  // Rules that ask on the way, and those of a student, count like others.
  expect(sentence(system('confidence ≥ 0.7', 'every', [0.79, 0.3, 2.5]))).toBe(keeps('confidence ≥ 0.7', 99));
  expect(sentence(system('student ≥ 0.9', 'one', [0.76, 0.3, 1]))).toBe(keeps('student ≥ 0.9', 95));
});
