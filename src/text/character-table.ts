import { classify, SEPARATOR } from './text-scanner.ts';

/**
 * How this version of Node reads every character, for a program in another language. Unicode grows each year, and two
 * programs agree on a text only if they agree on its version.
 */
export interface CharacterTable {
  /** Version of Unicode, such as 15.0. */
  readonly unicode: string;
  /** [first code point, flags], ascending: the flags hold up to the next entry. */
  readonly classes: readonly (readonly [start: number, flags: number])[];
  /** NFKC of every character that it changes; a program with an older Unicode does not know all of them. */
  readonly compatibility: Readonly<Record<string, string>>;
  /** The lower case of every character that has one. */
  readonly lowercase: Readonly<Record<string, string>>;
}

/** Flags added to the class of the scanner (1 separator, 2 ignored, 3 letter, 4 ideograph, 5 symbol). */
export const characterFlags = { letterOrNumber: 8, han: 16, unassigned: 32 } as const;

const letterOrNumber = /[\p{L}\p{N}]/u;
const han = /\p{Script=Han}/u;
const unassigned = /\p{Cn}/u;

/** Code points per block: most of Unicode is unassigned or for private use, which is uniform. */
const block = 256;
const alike = /^(?:\p{Cn}+|\p{Co}+)$/u;

let table: CharacterTable | undefined;

/** The table of the running program, made once: reading every assigned character takes noticeable time. */
export function characterTable(): CharacterTable {
  table ??= readCharacters();
  return table;
}

function readCharacters(): CharacterTable {
  const classes: [number, number][] = [];
  const compatibility: Record<string, string> = {};
  const lowercase: Record<string, string> = {};
  for (const codePoint of unlikeCodePoints()) {
    const isSurrogate = codePoint >= 0xd800 && codePoint <= 0xdfff;
    const flags = isSurrogate ? SEPARATOR : flagsOf(String.fromCodePoint(codePoint));
    if (classes.at(-1)?.[1] !== flags) classes.push([codePoint, flags]);
    if (isSurrogate) continue;
    const character = String.fromCodePoint(codePoint);
    const composed = character.normalize('NFKC');
    if (composed !== character) compatibility[character] = composed;
    const lower = character.toLowerCase();
    if (lower !== character) lowercase[character] = lower;
  }
  return { unicode: process.versions.unicode ?? 'unknown', classes, compatibility, lowercase };
}

/** Every code point, but only the first of a uniform block. */
function* unlikeCodePoints(): Generator<number> {
  for (let start = 0; start <= 0x10ffff; start += block) {
    const characters = String.fromCodePoint(...Array.from({ length: block }, (_, index) => start + index));
    const end = start + (alike.test(characters) ? 1 : block);
    for (let codePoint = start; codePoint < end; codePoint++) yield codePoint;
  }
}

function flagsOf(character: string): number {
  return (
    classify(character) +
    (letterOrNumber.test(character) ? characterFlags.letterOrNumber : 0) +
    (han.test(character) ? characterFlags.han : 0) +
    (unassigned.test(character) ? characterFlags.unassigned : 0)
  );
}
