import { InvalidArgumentError } from 'commander';

/** For options that take a whole number. */
export function wholeNumber(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isInteger(value)) throw new InvalidArgumentError('It must be a whole number.');
  return value;
}

/** For options that take a count of at least 1. */
export function positiveInteger(text: string): number {
  const value = wholeNumber(text);
  if (value < 1) throw new InvalidArgumentError('It must be a whole number above 0.');
  return value;
}
