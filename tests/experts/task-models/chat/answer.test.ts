import { describe, expect, it } from 'vitest';
import { predictionOf, readAnswer, writeAnswer } from '../../../../experts/task-models/chat/answer.ts';

const form = {
  field: 'Stance',
  words: { support: ['Support', 'Supports'], deny: ['Deny'], 'non-rumor': ['Non-Rumor'], true: ['True Rumor', 'True'] },
};
type Tokens = readonly Readonly<Record<string, number>>[];

function read(text: string, tokens: Tokens | null = null) {
  const logprobs =
    tokens?.map((alternatives) => {
      const top = Object.entries(alternatives).map(([token, p]) => ({ token, logprob: Math.log(p) }));
      return { ...top[0], top };
    }) ?? null;
  const usage = { requests: 1, inputTokens: 0, cachedInputTokens: 0, outputTokens: 0 };
  return readAnswer({ answer: { text, logprobs, usage, latencyMs: 0, finishReason: 'stop' }, form });
}

describe('readAnswer', () => {
  it.each([
    ['Stance: Support, Reason: it agrees', 'support', 'it agrees'],
    ['stance: SUPPORTS\nreason: it agrees', 'support', 'it agrees'],
    ['**Stance:** Deny\n\n**Reason:** it says no.', 'deny', 'it says no.'],
    ['**Stance**: [Deny], **Reason**: [no]', 'deny', 'no'],
    ['Stance: Deny Reason: no', 'deny', 'no'],
    ['{"stance": "Deny", "reason": "no"}', 'deny', 'no'],
    ['Reason: it says no. Stance: Deny', 'deny', 'it says no.'],
    ['<think>Stance: Support?</think>Stance: Deny, Reason: no', 'deny', 'no'],
    ['The stance: hard to say.\nStance: Deny, Reason: no', 'deny', 'no'],
    ['Support. It agrees with the claim.', 'support', 'It agrees with the claim.'],
    ['Stance: Support - it agrees', 'support', 'it agrees'],
    ['Stance: Non-Rumor, Reason: a', 'non-rumor', 'a'],
    ['Stance: True Rumor, Reason: a\n b', 'true', 'a b'],
    ['Stance: Deny', 'deny', ''],
    ['Stance: Deny, Reason: they say "no" (twice)', 'deny', 'they say "no" (twice)'],
    ['Stance: Deny, Reason: "no" and "never"', 'deny', '"no" and "never"'],
    ['{"stance": "Deny", "reason": "no, never"}', 'deny', 'no, never'],
  ])('reads %j', (text, label, explanation) => {
    expect(read(text)).toEqual({ label, probabilities: null, explanation });
  });

  it.each([
    'I cannot help with that.',
    'Stance: Support or Deny, Reason: both',
    'Stance: Support/Deny',
    'Stance: Support, Deny, or True',
    'Stance: [stance], Reason: [reason]',
    'Stance: Not Support, Reason: x',
    'Stance: Supportless',
    'Stance: Support\nStance: Deny',
    'Stance: Support; Stance: Deny, Reason: both',
    'It may support the claim',
  ])('finds no class in %j', (text) => {
    expect(read(text)).toBeNull();
  });

  it('finds the class word among tokens that begin otherwise than the text', () => {
    const tokens: Tokens = [{ '<think>': 1 }, { 'Stance: ': 1 }, { '</think>': 1 }, { '\n': 1 }];
    const answer: Tokens = [{ Stance: 1 }, { ': ': 1 }, { Sup: 0.75, Deny: 0.25 }, { port: 1 }, { ',': 1 }];
    const found = read('Stance: Support, Reason: \u{1F30A}', [...tokens, ...answer, { '\ufffd': 1 }]);
    expect(found?.probabilities?.support).toBeCloseTo(0.75, 12);
    const pieces: Tokens = [{ '\u2581Stance': 1 }, { ':': 1 }, { '\u2581Deny': 0.8, '\u2581Support': 0.2 }];
    expect(read('Stance: Deny', pieces)?.probabilities?.deny).toBeCloseTo(0.8, 12);
  });

  it('does without tokens that are of another text', () => {
    expect(read('Stance: Deny', [{ Deny: 1 }])).toMatchObject({ label: 'deny', probabilities: null });
  });

  it('reads what it writes', () => {
    const text = writeAnswer({ form, label: 'true', explanation: 'two\nlines: Stance: Deny' });
    expect(text).toBe('Stance: True Rumor, Reason: two lines: Stance: Deny');
    expect(read(text)).toMatchObject({ label: 'true', explanation: 'two lines: Stance: Deny' });
  });
});

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
