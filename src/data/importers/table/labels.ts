import { quoted } from '../../../shell-words.ts';
import { stances, type Thread, veracities } from '../../thread.ts';
import type { NothingRules } from '../nothing.ts';
import { badCell, cellText, type TableRow } from './cells.ts';
import { optionOf } from './columns.ts';
import { type ColumnValues, type LabelWords, labelMapOptions, mappedWord, rumorOf } from './label-words.ts';

/** How cells of labels are read. */
export interface LabelReading {
  readonly labels: LabelWords;
  readonly rules: NothingRules;
}

/** A label of one's own: the value as it stands there, or what the map calls it. */
export function cellLabel(row: TableRow, column: string, { labels, rules }: LabelReading): string | null {
  const said = cellText(row, column, rules);
  if (said === null) return null;
  // A column of whole numbers with a gap is one of 1.0 and 0.0 in some programs.
  return labels.of(said) ?? said.replace(/^(-?\d+)\.0$/, '$1');
}

/**
 * Whether the cell says rumor.
 * @throws BadItemError for a word that is not known, with what to do
 */
export function cellRumor(
  row: TableRow,
  column: string,
  { labels, rules, values }: LabelReading & { values: ColumnValues },
): boolean | null {
  const said = cellText(row, column, rules)?.toLowerCase();
  if (said === undefined) return null;
  const mapped = mappedWord(said, labels);
  const isRumor = rumorOf(said, labels);
  if (isRumor !== null) return isRumor;
  const isVeracity = veracities.some((known) => known === said);
  throw badCell(
    row,
    column,
    `${byMap(mapped)}is no label that is known (rumor, non-rumor, 1, 0); ${isVeracity ? `where the column holds veracities, read it with ${optionOf('veracity')} ${quoted(column)}; ` : ''}for classes of your own, read it with ${optionOf('label')} ${quoted(column)}; else say what it stands for: ${labelMapOptions([said, ...values], labels)}`,
  );
}

/** @throws BadItemError for a word that is not known, with what to do */
export function cellVeracity(row: TableRow, column: string, reading: LabelReading): Thread['veracity'] {
  const hint = () => `, or keep its classes as they are with ${optionOf('label')} ${quoted(column)}`;
  return oneOf(row, column, { ...reading, words: veracities, hint });
}

/** @throws BadItemError for a word that is not known, with what to do */
export function cellStance(row: TableRow, column: string, reading: LabelReading): Thread['posts'][number]['stance'] {
  return oneOf(row, column, { ...reading, words: stances });
}

function oneOf<Word extends string>(
  row: TableRow,
  column: string,
  { words, labels, rules, hint }: LabelReading & { words: readonly Word[]; hint?: () => string },
): Word | null {
  const said = cellText(row, column, rules)?.toLowerCase();
  if (said === undefined) return null;
  const mapped = mappedWord(said, labels);
  const word = (mapped ?? said).replace('rumour', 'rumor');
  const found = words.find((known) => known === word);
  if (found !== undefined) return found;
  throw badCell(
    row,
    column,
    `${byMap(mapped)}must be one of ${words.join(', ')}; say which it stands for with --label-map ${quoted(said)}=…${hint?.() ?? ''}`,
  );
}

/** Where the map is what is wrong, it is said. */
function byMap(mapped: string | null): string {
  return mapped === null ? '' : `stands for ${JSON.stringify(mapped)} by --label-map, which `;
}
