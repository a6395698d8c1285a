import { describe, expect, it } from 'vitest';
import { emptyContext, selectionState, stateSize } from '../../../envs/selection-env.ts';
import { stanceClasses } from '../../../experts/task-models/task-model.ts';
import { createHashingEncoder } from '../../../src/text/hashing-encoder.ts';
import { selectorSchema } from '../../../trainers/selector/config.ts';
import {
  addExpectedRewardGradient,
  ascend,
  createSelectorPolicy,
  retainProbability,
} from '../../../trainers/selector/policy.ts';
import { explanationShown } from '../../../trainers/selector/show.ts';

const encoder = createHashingEncoder({ dimensions: 64, characterNgrams: { weight: 0 } });
/** “fake” speaks for a denial and against a support, “confirmed” the other way round: neither word nor label alone tells. */
const items = (['support', 'deny'] as const).flatMap((label) =>
  (['fake', 'confirmed'] as const).map((word) => ({
    label,
    word,
    isRight: (word === 'fake') === (label === 'deny'),
  })),
);

/** Retain probabilities of the items, in order, after a linear policy was rewarded for the right ones. */
async function learnt(explanation: 'label-and-reason' | 'words-with-label'): Promise<number[]> {
  const config = selectorSchema.parse({ explanation });
  const shown = items.map(({ label, word }) =>
    explanationShown(
      {
        distribution: Float64Array.from(stanceClasses, (name) => Number(name === label)),
        explanation: `it says ${word}`,
      },
      { classes: stanceClasses, text: word, config },
    ),
  );
  const vectors = await encoder.encode(shown);
  const states = items.map((_, index) =>
    selectionState({
      claim: new Float32Array(64),
      context: emptyContext(64),
      explanation: vectors.subarray(64 * index, 64 * (index + 1)),
    }),
  );
  const policy = createSelectorPolicy({ features: stateSize({ dimensions: 64, shownClasses: 0 }) });
  for (let step = 0; step < 400; step++) {
    const gradient = new Float64Array(policy.parameters.length);
    for (const [index, state] of states.entries())
      addExpectedRewardGradient(policy, { state, advantage: items[index].isRight ? 1 : -1, weight: 1, gradient });
    ascend(policy, { gradient, learningRate: 0.05 });
  }
  return states.map((state) => retainProbability(policy, state));
}

describe('what a linear policy can learn of an explanation', () => {
  it('retains a word with one label and discards it with another, from words with their label', async () => {
    const probabilities = await learnt('words-with-label');
    for (const [index, { isRight }] of items.entries())
      expect(isRight ? probabilities[index] : 1 - probabilities[index]).toBeGreaterThan(0.9);
  });

  it('cannot from a label and a reason side by side', async () => {
    const probabilities = await learnt('label-and-reason');
    const isRightlyDecided = items.map(({ isRight }, index) => probabilities[index] > 0.5 === isRight);
    expect(isRightlyDecided.filter(Boolean).length).toBeLessThan(4);
  });
});
