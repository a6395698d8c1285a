import { expect, it } from 'vitest';
import { characterFlags, characterTable } from '../../../src/text/character-table.ts';

it('tells how every character is read, with what another version of Unicode cannot know', () => {
  const table = characterTable();
  const flagsOf = (character: string) => {
    const codePoint = character.codePointAt(0) ?? 0;
    return table.classes.findLast(([start]) => start <= codePoint)?.[1];
  };
  const { letterOrNumber, han, unassigned } = characterFlags;
  const [separator, ignored, letter, ideograph, symbol] = [1, 2, 3, 4, 5];
  expect(flagsOf('a')).toBe(letter + letterOrNumber);
  expect(flagsOf('ع')).toBe(letter + letterOrNumber);
  expect(flagsOf('\u0301')).toBe(letter);
  expect(flagsOf('@')).toBe(letter);
  expect(flagsOf('谣')).toBe(ideograph + letterOrNumber + han);
  expect(flagsOf('か')).toBe(ideograph + letterOrNumber);
  expect(flagsOf('😱')).toBe(symbol);
  expect(flagsOf('\u200d')).toBe(ignored);
  expect(flagsOf(' ')).toBe(separator);
  expect(flagsOf('\ud800')).toBe(separator);
  expect(flagsOf('\u{e0fff}')).toBe(separator + unassigned);
  expect(table).toMatchObject({ compatibility: { ﬁ: 'fi' }, lowercase: { İ: 'i\u0307' } });
  expect(table.classes[0][0]).toBe(0);
  expect(table.classes.every(([start], index) => index === 0 || start > table.classes[index - 1][0])).toBe(true);
});
