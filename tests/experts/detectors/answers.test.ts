import { describe, expect, it } from 'vitest';
import { concludingAnswer, strictAnswer, substringAnswer } from '../../../experts/detectors/answers.ts';

const words = { rumor: ['Yes', 'Rumor'], 'non-rumor': ['No', 'Non-rumor'] };
const names = { fake: ['fake'], real: ['real'] };

describe('strictAnswer', () => {
  it.each([
    ['Yes', 'rumor'],
    ['yes.', 'rumor'],
    ['**No**', 'non-rumor'],
    ['  "No", because it is confirmed', 'non-rumor'],
    ['Answer: Yes', 'rumor'],
    ['The final answer is "no".', 'non-rumor'],
    ['Non-rumor', 'non-rumor'],
    ['Yes\nThe posts are unverified.', 'rumor'],
    ['Yes - nobody confirms it', 'rumor'],
    ['<think>No, or is it yes?</think>\nYes', 'rumor'],
    ['<think>No', null],
    ['Maybe', null],
    ['No doubt it is one', null],
    ['Yes/No', null],
    ['Yes?', null],
    ['yesterday', null],
    ['Nobody knows', null],
    ['It is a rumor: yes', null],
    ['', null],
  ])('reads %j as %j', (text, label) => {
    expect(strictAnswer({ text, words })).toBe(label);
  });
});

describe('concludingAnswer', () => {
  it.each([
    ['Real comments say so.\nFake', 'fake'],
    ['Some say real.\n\n**Answer: Fake**\n', 'fake'],
    ['Therefore, the claim is deemed Real.', 'real'],
    ['Fake, since nobody saw it', 'fake'],
    ['Fake or Real', null],
    ['It is not real.', null],
    ["It isn't fake.", null],
    ['It is neither fake nor real', null],
    ['It is fake\nbut who knows', null],
    ['The real question is open.', null],
    ['surreal', null],
    ['', null],
  ])('reads %j as %j', (text, label) => {
    expect(concludingAnswer({ text, words: names })).toBe(label);
  });

  it('does not take a label for one that ends like it', () => {
    const labels = { rumor: ['rumor'], 'non-rumor': ['non-rumor'] };
    expect(concludingAnswer({ text: 'So it is a non-rumor.', words: labels })).toBe('non-rumor');
    expect(concludingAnswer({ text: 'So it is a rumor.', words: labels })).toBe('rumor');
  });
});

describe('substringAnswer', () => {
  it.each([
    ['Maybe', 'rumor'],
    ['No', 'non-rumor'],
    ['Not really', 'rumor'],
    ['1', 'rumor'],
    ['false', 'non-rumor'],
    ['I doubt it', null],
  ])('reads %j as %j, as the published code would', (text, label) => {
    expect(substringAnswer({ text, words })).toBe(label);
  });

  it('tries other words by their initial', () => {
    expect(substringAnswer({ text: 'FFF', words: names })).toBe('fake');
  });
});
