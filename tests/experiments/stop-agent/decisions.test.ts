import { expect, it } from 'vitest';
import { rulesOf } from '../../../experiments/stop-agent/decisions.ts';
import { resolveExperiment } from '../../../experiments/stop-agent/experiment.ts';
import { tiny } from '../cli/command-line.ts';

it('tries every rule once, where numbers stand there twice and where schedules query at the same few posts', () => {
  const namesOf = (more: object) => rulesOf(resolveExperiment({ ...tiny, ...more }, 'x')).map(({ name }) => name);
  const evaluation = { firstPosts: [2, 1, 2], hours: [1, 1], confidences: [0.6] };
  for (const maxJudgedPosts of [1, 2, 3])
    expect(namesOf({ evaluation, maxJudgedPosts })).toEqual([
      'first 2 posts',
      'first post',
      'after 1 h',
      'all posts',
      'confidence ≥ 0.6',
    ]);
  expect(namesOf({ evaluation })).toHaveLength(7);
});
