import { InvalidArgumentError } from '@commander-js/extra-typings';
import { InputError } from '../../src/errors.ts';
import { quoted } from '../../src/shell-words.ts';

/** The options that a command's action receives, from the function that declares them. */
export type OptionsOf<Declare extends () => { opts(): unknown }> = ReturnType<ReturnType<Declare>['opts']>;

/**
 * Makes the parser of an option: commander names the option and the text, and then says what is expected.
 * @param read null for a text that is none; its second argument is what the option held before, where it may be repeated
 */
export function optionValue<Value, Earlier>(
  read: (text: string, earlier: Earlier) => Value | null,
  expected: string,
): (text: string, earlier: Earlier) => Value {
  return (text, earlier) => {
    const value = read(text, earlier);
    if (value === null) throw new InvalidArgumentError(expected);
    return value;
  };
}

/** Parses an option that may be repeated. */
export function collect(value: string, previous: string[]): string[] {
  return [...previous, value];
}

/** Parses names with commas between them. */
export function list(text: string): string[] {
  return text.split(',').map((name) => name.trim());
}

function numberThat(isValid: (value: number) => boolean, expected: string) {
  return optionValue((text) => (text.trim() !== '' && isValid(Number(text)) ? Number(text) : null), expected);
}

function wholeNumberOf(text: string): number | null {
  return /^\d+$/.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : null;
}

export const seed = optionValue(wholeNumberOf, 'A seed is a whole number from 0 up, such as 1.');
/** Parses a list of seeds. */
export const seeds = optionValue((text) => {
  const numbers = list(text).flatMap((part) => wholeNumberOf(part) ?? []);
  return numbers.length === list(text).length ? numbers : null;
}, 'Seeds are whole numbers from 0 up, such as 1,2,3.');
export const positiveInteger = numberThat(
  (value) => Number.isInteger(value) && value >= 1,
  'It must be a whole number above 0.',
);
/** Parses a port; 0 means any free one. */
export const port = numberThat(
  (value) => Number.isInteger(value) && value >= 0 && value <= 65_535,
  'It must be a whole number from 0 to 65535.',
);
export const number = numberThat((value) => !Number.isNaN(value), 'It must be a number.');
export const amount = numberThat((value) => value > 0, 'It must be a number above 0.');
export const hours = numberThat((value) => value >= 0, 'It must be a number of hours from 0 up.');

/** A share from 0 to 1, such as 0.1 or 10%; null for another text. */
function shareOf(text: string): number | null {
  const isPercent = text.endsWith('%');
  const number = isPercent ? text.slice(0, -1) : text;
  const value = Number(number) / (isPercent ? 100 : 1);
  return number.trim() !== '' && value >= 0 && value <= 1 ? value : null;
}
export const share = optionValue(shareOf, 'It must be a share from 0 to 1, such as 0.1 or 10%.');
export const positiveShare = optionValue(
  (text) => shareOf(text) || null,
  'It must be a share above 0, such as 0.1 or 10%.',
);

/** A share above 0 and below 1; null for another text. */
export function properShareOf(text: string): number | null {
  const value = shareOf(text) || null;
  return value === 1 ? null : value;
}
export const properShare = optionValue(properShareOf, 'It must be a share between 0 and 1, such as 0.05 or 5%.');

/** Parses `0/10`, the first of ten shares. A missing index is refused: `--shard $UNSET/10` would run the first share everywhere. */
export const indexOfShares = optionValue((text) => {
  const [index, of] = (/^(\d+)\/(\d+)$/.exec(text) ?? []).slice(1).map(Number);
  return index < of ? { index, of } : null;
}, 'Write it as 0/10; shares are counted from 0.');

/** `--dry-run` of `dryRun`. */
export function flagOf(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** Refuses options that would be ignored. @throws InputError if one is present */
export function refuseOptions<Options extends object>(
  options: Options,
  names: readonly (keyof Options & string)[],
  why: string,
): void {
  const conflicting = names.filter((name) => options[name] !== undefined);
  if (conflicting.length > 0) throw new InputError(`${conflicting.map(flagOf).join(', ')} ${why}`);
}

export function commandLineOf(
  words: readonly string[],
  options: Readonly<Record<string, string | number | readonly string[] | undefined>> = {},
): string {
  const flags = Object.entries(options).flatMap(([name, value]) =>
    [value ?? []].flat().flatMap((each) => [flagOf(name), String(each)]),
  );
  return ['earshot', ...words, ...flags].map(quoted).join(' ');
}
