import { InvalidArgumentError } from '@commander-js/extra-typings';
import { InputError } from '../../src/errors.ts';
import { quoted } from '../../src/shell-words.ts';

/** The options that a command's action receives, from the function that declares them. */
export type OptionsOf<Declare extends () => { opts(): unknown }> = ReturnType<ReturnType<Declare>['opts']>;

/** Parses an option that may be repeated. */
export function collect(value: string, previous: string[]): string[] {
  return [...previous, value];
}

export function seed(text: string): number {
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(Number(text)))
    throw new InvalidArgumentError('A seed is a whole number from 0 up, such as 1.');
  return Number(text);
}

/** Parses a list of seeds. */
export function seeds(text: string): number[] {
  return text.split(',').map((part) => seed(part.trim()));
}

function numberThat(isValid: (value: number) => boolean, message: string) {
  return (text: string): number => {
    const value = Number(text);
    if (text.trim() === '' || !isValid(value)) throw new InvalidArgumentError(message);
    return value;
  };
}

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
export const share = numberThat((value) => value >= 0 && value <= 1, 'It must be a number from 0 to 1.');
/** Parses a share above 0 and below 1. */
export const properShare = numberThat(
  (value) => value > 0 && value < 1,
  'It must be a number between 0 and 1, such as 0.05.',
);

export function percentage(text: string): number {
  const [, number = '', sign] = /^([\d.]+)(%?)$/.exec(text.trim()) ?? [];
  const value = Number(number) / (sign === '%' ? 100 : 1);
  if (!(number !== '' && value > 0 && value <= 1))
    throw new InvalidArgumentError('It must be a share above 0, such as 0.1 or 10%.');
  return value;
}

/** Parses `0/10`, the first of ten shares. A missing index is refused: `--shard $UNSET/10` would run the first share everywhere. */
export function indexOfShares(text: string): { index: number; of: number } {
  const [index, of] = (/^(\d+)\/(\d+)$/.exec(text) ?? []).slice(1).map(Number);
  if (!(index < of)) throw new InvalidArgumentError(`${text} is not of the form 0/10; shares are counted from 0.`);
  return { index, of };
}

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
