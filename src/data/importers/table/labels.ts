import { quoted } from '../../../shell-words.ts';
import { stances, type Thread, veracities } from '../../thread.ts';
import type { NothingRules } from '../nothing.ts';
import { badCell, cellText, type TableRow } from './cells.ts';
import { optionOf } from './columns.ts';
import { type ColumnValues, type LabelWords, labelMapOptions, mappedWord, rumorOf } from './label-words.ts';

/** Settings for cells of labels. */
export interface LabelReading {
  readonly labels: LabelWords;
  readonly rules: NothingRules;
}

/** A further label: the value in the cell, or the map's name for it. */
export function cellLabel(row: TableRow, column: string, { labels, rules }: LabelReading): string | null {
  const value = cellText(row, column, rules);
  if (value === null) return null;
  // In a column with gaps, some programs turn 1 and 0 into 1.0 and 0.0.
  return labels.of(value) ?? value.replace(/^(-?\d+)\.0$/, '$1');
}

/** Whether the cell means rumor. @throws BadItemError for an unknown word, with the remedy */
export function cellRumor(
  row: TableRow,
  column: string,
  { labels, rules, values }: LabelReading & { values: ColumnValues },
): boolean | null {
  const value = cellText(row, column, rules)?.toLowerCase();
  if (value === undefined) return null;
  const mapped = mappedWord(value, labels);
  const isRumor = rumorOf(value, labels);
  if (isRumor !== null) return isRumor;
  const isVeracity = veracities.some((veracity) => veracity === value);
  throw badCell(
    row,
    column,
    `${byMap(mapped)}is no label that is known (rumor, non-rumor, 1, 0); ${isVeracity ? `where the column holds veracities, read it with ${optionOf('veracity')} ${quoted(column)}; ` : ''}for classes of your own, read it with ${optionOf('label')} ${quoted(column)}; else say what it stands for: ${labelMapOptions([value, ...values], labels)}`,
  );
}

/** @throws BadItemError for an unknown word, with the remedy */
export function cellVeracity(row: TableRow, column: string, reading: LabelReading): Thread['veracity'] {
  const hint = () => `, or keep its classes as they are with ${optionOf('label')} ${quoted(column)}`;
  return oneOf(row, column, { ...reading, words: veracities, hint });
}

/** @throws BadItemError for an unknown word, with the remedy */
export function cellStance(row: TableRow, column: string, reading: LabelReading): Thread['posts'][number]['stance'] {
  return oneOf(row, column, { ...reading, words: stances });
}

function oneOf<Word extends string>(
  row: TableRow,
  column: string,
  { words, labels, rules, hint }: LabelReading & { words: readonly Word[]; hint?: () => string },
): Word | null {
  const value = cellText(row, column, rules)?.toLowerCase();
  if (value === undefined) return null;
  const mapped = mappedWord(value, labels);
  const word = (mapped ?? value).replace('rumour', 'rumor');
  const match = words.find((candidate) => candidate === word);
  if (match !== undefined) return match;
  throw badCell(
    row,
    column,
    `${byMap(mapped)}must be one of ${words.join(', ')}; say which it stands for with --label-map ${quoted(value)}=…${hint?.() ?? ''}`,
  );
}

/** Names the map if it is the cause. */
function byMap(mapped: string | null): string {
  return mapped === null ? '' : `stands for ${JSON.stringify(mapped)} by --label-map, which `;
}
