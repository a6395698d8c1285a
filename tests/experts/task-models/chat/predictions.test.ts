import { describe, expect, it } from 'vitest';
import { predictionOf } from '../../../../experts/task-models/chat/predictions.ts';

describe('predictionOf', () => {
  const classes = ['a', 'b'];
  const answer = (label: string, explanation = '') => ({ label, probabilities: null, explanation });

  it('explains the likeliest class', () => {
    const answers = [answer('a', 'first'), answer('b', 'second'), answer('b', 'third')];
    expect(predictionOf({ classes, answers, smoothing: 0.5 })).toEqual({
      distribution: Float64Array.of(1.5 / 4, 2.5 / 4),
      explanation: 'second',
    });
  });
});
