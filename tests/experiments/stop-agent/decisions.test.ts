import { expect, it } from 'vitest';
import { rulesOf } from '../../../experiments/stop-agent/decisions.ts';
import { resolveExperiment } from '../../../experiments/stop-agent/experiment.ts';
import { tiny } from '../cli/command-line.ts';

const namesOf = (more: object) => rulesOf(resolveExperiment({ ...tiny, ...more }, 'x')).map(({ name }) => name);

it('tries every rule once, where numbers stand there twice and where schedules query at the same few posts', () => {
  const evaluation = { firstPosts: [2, 1, 2], hours: [1, 1], confidences: [0.6] };
  for (const maxJudgedPosts of [1, 2])
    expect(namesOf({ evaluation, maxJudgedPosts })).toEqual([
      'first 2 posts',
      'first post',
      'after 1 h',
      'all posts',
      'confidence ≥ 0.6',
    ]);
  expect(namesOf({ evaluation })).toHaveLength(7);
});

it('tries each of several schedules that begin alike, under a name of its own', () => {
  const lengths = (...numbers: number[]) => ({ name: 'lengths', lengths: numbers });
  const confident = (...schedules: object[]) =>
    namesOf({ evaluation: { confidences: [0.6], schedules }, maxJudgedPosts: 30 }).filter((name) => /^conf/.test(name));
  expect(
    confident(lengths(1, 2, 3, 5, 8, 13, 21), lengths(1, 2, 3, 5, 8, 13, 30), lengths(1, 2, 3, 5, 8), lengths(1, 2, 4)),
  ).toEqual([
    'confidence ≥ 0.6, asked at 1, 2, 3, 5, 8, 13, 21',
    'confidence ≥ 0.6, asked at 1, 2, 3, 5, 8, 13, 30',
    'confidence ≥ 0.6, asked at 1, 2, 3, 5, 8',
    'confidence ≥ 0.6, asked at 1, 2, 4',
  ]);
  // The first posts are not all posts, and a schedule behind the last post that is judged is no schedule.
  expect(confident({ name: 'every' }, lengths(1, 2, 3), lengths(31))).toEqual([
    'confidence ≥ 0.6',
    'confidence ≥ 0.6, asked at 1, 2, 3',
  ]);
});
