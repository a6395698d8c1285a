import { quoted } from '../../../shell-words.ts';
import { stances, type Thread, veracities } from '../../thread.ts';
import { badCell, cellText, type TableRow } from './cells.ts';
import { optionOf } from './columns.ts';
import { type ColumnValues, type LabelMap, labelMapOptions, mappedWord, rumorOf } from './label-words.ts';

/**
 * Whether the cell says rumor. In a column that is only called a label, true and false are refused: they may be about the claim.
 * @throws BadItemError for a word that is not known, with what to do
 */
export function cellRumor(
  row: TableRow,
  column: string,
  { labelMap, values, isNamedRumor }: { labelMap: LabelMap; values: ColumnValues; isNamedRumor: boolean },
): boolean | null {
  const said = cellText(row, column)?.toLowerCase();
  if (said === undefined) return null;
  const mapped = mappedWord(said, labelMap);
  if (mapped === null && !isNamedRumor && (said === 'true' || said === 'false'))
    throw badCell(
      row,
      column,
      `may mean that the thread is a rumor, or that its claim is true; say which with ${optionOf('rumor')} ${column} or ${optionOf('veracity')} ${column}`,
    );
  const isRumor = rumorOf(said, labelMap);
  if (isRumor !== null) return isRumor;
  const isVeracity = veracities.some((known) => known === said);
  throw badCell(
    row,
    column,
    `${byMap(mapped)}is no label that is known (rumor, non-rumor, 1, 0); ${isVeracity ? `where the column holds veracities, read it with ${optionOf('veracity')} ${quoted(column)}; else ` : ''}say what it stands for: ${labelMapOptions([said, ...values], labelMap)}`,
  );
}

/** @throws BadItemError for a word that is not known, with what to do */
export function cellVeracity(
  row: TableRow,
  column: string,
  { labelMap, values }: { labelMap: LabelMap; values: ColumnValues },
): Thread['veracity'] {
  const hint = (said: string) =>
    `, or, where the column says whether the thread is a rumor, read it with ${optionOf('label')} ${quoted(column)}, ${labelMapOptions([said, ...values], labelMap)}`;
  return oneOf(row, column, { words: veracities, labelMap, hint });
}

/** @throws BadItemError for a word that is not known, with what to do */
export function cellStance(
  row: TableRow,
  column: string,
  { labelMap }: { labelMap: LabelMap },
): Thread['posts'][number]['stance'] {
  return oneOf(row, column, { words: stances, labelMap });
}

function oneOf<Word extends string>(
  row: TableRow,
  column: string,
  { words, labelMap, hint }: { words: readonly Word[]; labelMap: LabelMap; hint?: (said: string) => string },
): Word | null {
  const said = cellText(row, column)?.toLowerCase();
  if (said === undefined) return null;
  const mapped = mappedWord(said, labelMap);
  const word = (mapped ?? said).replace('rumour', 'rumor');
  const found = words.find((known) => known === word);
  if (found !== undefined) return found;
  throw badCell(
    row,
    column,
    `${byMap(mapped)}must be one of ${words.join(', ')}; say which it stands for with --label-map ${quoted(said)}=…${hint?.(said) ?? ''}`,
  );
}

/** Where the map is what is wrong, it is said. */
function byMap(mapped: string | null): string {
  return mapped === null ? '' : `stands for ${JSON.stringify(mapped)} by --label-map, which `;
}
