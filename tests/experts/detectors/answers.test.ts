import { describe, expect, it } from 'vitest';
import { concludingAnswer, strictAnswer, substringAnswer } from '../../../experts/detectors/answers.ts';

const words = { rumor: ['Yes', 'Rumor'], 'non-rumor': ['No', 'Non-rumor'] };
const names = { fake: ['fake'], real: ['real'] };
const labels = { rumor: ['rumor', 'Rumour'], 'non-rumor': ['non-rumor'] };
const veracity = { 'non-rumor': ['non-rumor'], true: ['True'], false: ['False'], unverified: ['Unverified'] };

describe('strictAnswer', () => {
  it.each([
    ['Yes', 'rumor'],
    ['yes.', 'rumor'],
    ['ＹＥＳ', 'rumor'],
    ['**No**', 'non-rumor'],
    ['\\boxed{No}', 'non-rumor'],
    ['  "No", because it is confirmed', 'non-rumor'],
    ['Answer: Yes', 'rumor'],
    ['**Verdict:** Yes', 'rumor'],
    ['The final answer is "no".', 'non-rumor'],
    ['The answer is: Yes', 'rumor'],
    ['Non-rumor', 'non-rumor'],
    ['Non\u2011rumor', 'non-rumor'],
    ['non\u2013rumor.', 'non-rumor'],
    ['Ru\u200bmor', 'rumor'],
    ['Non rumor', 'non-rumor'],
    ['Non rumor.\nIt is confirmed.', 'non-rumor'],
    ['Yes\nThe posts are unverified.', 'rumor'],
    ['Yes - nobody confirms it', 'rumor'],
    ['Yes \u2014 nobody confirms it', 'rumor'],
    ['Yes, there is no source.', 'rumor'],
    ['Yes, it cannot be verified.', 'rumor'],
    ['Yes, it is a rumor.', 'rumor'],
    ['No, it is not a rumor.', 'non-rumor'],
    ['Maybe', null],
    ['No doubt it is one', null],
    ['Yes/No', null],
    ['Yes or No', null],
    ['Yes?', null],
    ['yesterday', null],
    ['Nobody knows', null],
    ['It is a rumor: yes', null],
    ['No, I can\u2019t help with that.', null],
    ["No. I'm sorry, but I cannot judge people.", null],
    ['No, as an AI language model I have no opinion', null],
    ['Yes, I can help with that! Please provide the posts.', null],
    ['No, cannot determine from the posts.', null],
    ['No - unable to say', null],
    ['Yes, but it is hard to tell.', null],
    ['No. Not enough information.', null],
    ['Yes, it is unclear who said so first.', null],
    ['Yes, the source is unclear.', 'rumor'],
    ['Yes, it is not a rumor.', null],
    ['No, it is a rumor.', null],
    ['Yes. No, wait.', null],
    ['Yes\nNo', null],
    ['Not a rumor', null],
    ['', null],
  ])('reads %j as %j', (text, label) => {
    expect(strictAnswer({ text, words })).toBe(label);
  });

  it.each([
    ['是。', { rumor: ['是', '谣言'], 'non-rumor': ['否', '非谣言'] }, 'rumor'],
    ['**否。**因为没有证据。', { rumor: ['是', '谣言'], 'non-rumor': ['否', '非谣言'] }, 'non-rumor'],
    ['「非谣言」。', { rumor: ['是', '谣言'], 'non-rumor': ['否', '非谣言'] }, 'non-rumor'],
    ['是否', { rumor: ['是', '谣言'], 'non-rumor': ['否', '非谣言'] }, null],
    ['不是。', { rumor: ['是', '谣言'], 'non-rumor': ['否', '非谣言'] }, null],
    ['نعم، بالتأكيد', { yes: ['نعم'], no: ['لا'] }, 'yes'],
    ['हाँ।', { yes: ['हाँ'], no: ['नहीं'] }, 'yes'],
    ['vérifié.', { yes: ['Vérifié'.normalize('NFD')], no: ['Faux'] }, 'yes'],
    ['non-vérifié, car', { yes: ['Vérifié'], no: ['Non\u2011vérifié'] }, 'no'],
  ])('reads %j by words of another language', (text, own, label) => {
    expect(strictAnswer({ text, words: own })).toBe(label);
  });

  it.each([
    ['Unverified: it may be true', null],
    ['False. It is not true.', 'false'],
    ['not entirely true', null],
    ['Nearly true', null],
    ['True', 'true'],
  ])('reads %j as %j of four labels', (text, label) => {
    expect(strictAnswer({ text, words: veracity })).toBe(label);
  });
});

describe('concludingAnswer', () => {
  it.each([
    ['Real comments say so.\nFake', 'fake'],
    ['Some say real.\n\n**Answer: Fake**\n', 'fake'],
    ['It is hardly real.\nMy final verdict: "Fake".', 'fake'],
    ['So:\n- Real', 'real'],
    ['Fake.\n\n---', 'fake'],
    ['Therefore, the claim is deemed Real.', null],
    ['Fake, since nobody saw it', null],
    ['Fake or Real', null],
    ['It is not real.', null],
    ["It isn't fake.", null],
    ['It is neither fake nor real', null],
    ['It is fake\nbut who knows', null],
    ['Answer: not real', null],
    ['~~Fake~~', null],
    ['> Fake', null],
    ['Fake?', null],
    ['The other debater says: "Fake"', null],
    ['I would not call it\nFake\nat all', null],
    ['The real question is open.', null],
    ['surreal', null],
    ['', null],
  ])('reads %j as %j', (text, label) => {
    expect(concludingAnswer({ text, words: names })).toBe(label);
  });

  it.each([
    ['So.\nnon-rumor', 'non-rumor'],
    ['So.\nnon\u2011rumor', 'non-rumor'],
    ['So.\nnon\u2010rumor', 'non-rumor'],
    ['So.\nNon rumor', 'non-rumor'],
    ['So.\nNON\u00a0RUMOR', 'non-rumor'],
    ['So.\nnonrumor', 'non-rumor'],
    ['So.\nnon_rumor', 'non-rumor'],
    ['So.\nrumour', 'rumor'],
    ['So it is a non-rumor.', null],
    ['I do not believe that this is a rumor', null],
    ['There is no evidence that it is a rumor', null],
    ['not a rumor', null],
  ])('reads %j as %j', (text, label) => {
    expect(concludingAnswer({ text, words: labels })).toBe(label);
  });

  it.each(['not entirely true', 'Hardly true', 'It is true that this is false', 'true or false'])(
    'finds no label in %j',
    (text) => {
      expect(concludingAnswer({ text, words: veracity })).toBeNull();
    },
  );
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
