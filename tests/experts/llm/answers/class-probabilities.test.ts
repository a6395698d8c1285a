import { describe, expect, it } from 'vitest';
import { classProbabilities, sampledProbabilities } from '../../../../experts/llm/answers/class-probabilities.ts';
import type { TokenLogprob } from '../../../../experts/llm/chat.ts';

/** Tokens with the probabilities of their alternatives, the chosen one first. */
function tokens(...positions: Record<string, number>[]): TokenLogprob[] {
  return positions.map((alternatives) => {
    const top = Object.entries(alternatives).map(([token, probability]) => ({ token, logprob: Math.log(probability) }));
    return { ...top[0], top };
  });
}

const yesNo = { rumor: ['yes'], 'non-rumor': ['no'] };

describe('classProbabilities', () => {
  it('normalises the mass of the first token over the labels', () => {
    const result = classProbabilities({ answerWords: yesNo, logprobs: tokens({ Yes: 0.6, No: 0.2, Maybe: 0.2 }) });
    expect(result?.rumor).toBeCloseTo(0.75, 12);
    expect(result?.['non-rumor']).toBeCloseTo(0.25, 12);
  });

  it('adds the spellings of a word and does not weigh what follows it', () => {
    const logprobs = tokens({ ' yes': 0.3, Yes: 0.2, '▁YES': 0.1, no: 0.1, No: 0.1 }, { '.': 0.5, '!': 0.1 });
    const result = classProbabilities({ answerWords: yesNo, logprobs });
    expect(result?.rumor).toBeCloseTo(0.75, 12);
  });

  it('does not take longer words for the answer', () => {
    const nobody = tokens({ No: 0.7, Yes: 0.1 }, { body: 1 }, { ' knows': 1 });
    // What is left for a no that is not listed is twice as likely as that yes.
    expect(classProbabilities({ answerWords: yesNo, logprobs: nobody })).toBeNull();
    const listed = tokens({ No: 0.7, Yes: 0.1, ' no': 0.1, '.': 0.1 }, { body: 1 }, { ' knows': 1 });
    expect(classProbabilities({ answerWords: yesNo, logprobs: listed })?.rumor).toBeCloseTo(0.5, 12);
    expect(classProbabilities({ answerWords: yesNo, logprobs: tokens({ Nobody: 0.5, yesterday: 0.5 }) })).toBeNull();
  });

  it('makes no label certain because the others are not listed', () => {
    for (const alone of [tokens({ Yes: 0.6 }), [{ token: 'Yes', logprob: Math.log(0.6), top: [] }]])
      expect(classProbabilities({ answerWords: yesNo, logprobs: alone })).toBeNull();
    const pieces = [tokens({ non: 0.7 }), tokens({ '-': 1 }), tokens({ rumor: 1 })].flat();
    const labels = { rumor: ['rumor'], 'non-rumor': ['non-rumor'] };
    expect(classProbabilities({ answerWords: labels, logprobs: pieces })).toBeNull();
    const likely = classProbabilities({ answerWords: yesNo, logprobs: tokens({ Yes: 0.98 }) });
    expect(likely?.['non-rumor']).toBeCloseTo(0.02, 12);
    // The list goes on behind its last entry, with less of each.
    const listed = classProbabilities({ answerWords: yesNo, logprobs: tokens({ Yes: 0.8, ' yes': 0.1, Well: 0.001 }) });
    expect(listed?.['non-rumor']).toBeCloseTo(0.001 / 0.901, 12);
    const several = { a: ['a'], b: ['b'], c: ['c'], d: ['d'] };
    const four = classProbabilities({ answerWords: several, logprobs: tokens({ a: 0.9, b: 0.09, x: 0.0001 }) });
    expect(four?.d).toBeCloseTo(0.0001 / 0.9902, 12);
    expect(classProbabilities({ answerWords: several, logprobs: tokens({ a: 0.9, b: 0.03 }) })).toBeNull();
  });

  it('follows a prefix that labels share, and splits its mass by what may come next', () => {
    const answerWords = { known: ['unclear-known'], unknown: ['unclear-unknown'] };
    const logprobs = tokens({ un: 0.8, x: 0.2 }, { clear: 1 }, { '-': 1 }, { un: 0.75, known: 0.25 }, { known: 1 });
    const result = classProbabilities({ answerWords, logprobs });
    expect(result?.known).toBeCloseTo(0.25, 12);
    expect(result?.unknown).toBeCloseTo(0.75, 12);
  });

  it('tells a word from a longer one of another label', () => {
    const answerWords = { no: ['no'], 'non-rumor': ['non-rumor'], yes: ['yes'] };
    const logprobs = tokens({ no: 0.8, yes: 0.2 }, { 'n-rumor': 0.6, '.': 0.4 }, { '.': 1 });
    const result = classProbabilities({ answerWords, logprobs });
    expect(result?.['non-rumor']).toBeCloseTo(0.48, 12);
    expect(result?.no).toBeCloseTo(0.32, 12);
    expect(result?.yes).toBeCloseTo(0.2, 12);
  });

  it('counts the product for a word of several tokens, and an unfinished word for what it began', () => {
    const answerWords = { a: ['unverified'], b: ['true'] };
    const whole = tokens({ un: 0.5, true: 0.25 }, { verified: 0.5, sure: 0.5 });
    expect(classProbabilities({ answerWords, logprobs: whole })?.a).toBeCloseTo(0.5, 12);
    const cut = tokens({ un: 0.5, true: 0.25 });
    expect(classProbabilities({ answerWords, logprobs: cut })?.a).toBeCloseTo(2 / 3, 12);
  });

  it('skips spaces and quotes before the answer', () => {
    const logprobs = tokens({ '\n': 0.9, No: 0.1 }, { '"': 1 }, { Yes: 0.5, No: 0.5 });
    const result = classProbabilities({ answerWords: yesNo, logprobs });
    expect(result?.rumor).toBeCloseTo(0.45, 12);
  });

  it('is null without tokens', () => {
    expect(classProbabilities({ answerWords: yesNo, logprobs: [] })).toBeNull();
  });
});

describe('sampledProbabilities', () => {
  const labels = ['a', 'b'];

  it('counts readable answers', () => {
    const answers = ['a', 'a', null, 'b', 'a'];
    expect(sampledProbabilities({ labels, answers })).toEqual({ a: 0.75, b: 0.25 });
    expect(sampledProbabilities({ labels, answers: [null, null] })).toBeNull();
  });
});
