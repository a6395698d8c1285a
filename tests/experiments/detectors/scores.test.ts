import { expect, it } from 'vitest';
import type { DetectorDecision } from '../../../experiments/detectors/decisions.ts';
import { confusionOf } from '../../../experiments/detectors/scores.ts';

function decided(gold: string, prediction: string | null): DetectorDecision {
  const spent = { calls: 0, inputTokens: 0, outputTokens: 0, cost: 0, seconds: null };
  return {
    ...{ system: 'detector', item: 't', event: null, part: 'test', place: { replies: 'all' }, gold, prediction },
    ...{ probabilities: null, numbers: { posts: 1, abstained: 0, ...spent }, texts: { explanation: '', key: null } },
  };
}

it('counts predictions under their own label, even where labels are numbers, and leaves out those that do not occur', () => {
  const labels = ['many', '10', 'none', '2'];
  const decisions = [
    decided('many', 'many'),
    decided('many', '2'),
    decided('many', '2'),
    decided('10', null),
    decided('2', '2'),
  ];
  expect(confusionOf({ labels, categories: null }, decisions)).toEqual({
    labels: ['many', '10', '2'],
    counts: [
      [1, 0, 2, 0],
      [0, 0, 0, 1],
      [0, 0, 1, 0],
    ],
  });
});
