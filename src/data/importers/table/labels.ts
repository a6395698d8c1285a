import type { Thread } from '../../thread.ts';
import { badCell, cellText, type TableRow } from './cells.ts';
import { optionOf } from './columns.ts';

/** What a value of a label column stands for, where its own word does not say: `fake=rumor`, `real=non-rumor`. */
export type LabelMap = Readonly<Record<string, string>>;

const rumors: ReadonlySet<string> = new Set(['rumor', 'rumour', '1', 'true', 'yes']);
const nonRumors: ReadonlySet<string> = new Set([
  'non-rumor',
  'non-rumour',
  'nonrumor',
  'nonrumour',
  '0',
  'false',
  'no',
]);
const veracities = ['true', 'false', 'unverified', 'non-rumor'] as const;
const stances = ['support', 'deny', 'query', 'comment'] as const;

/**
 * Whether the cell says rumor. In a column that is only called a label, true and false are refused: they may be about the claim.
 * @throws BadItemError for a word that is not known, with what to do
 */
export function cellRumor(
  row: TableRow,
  column: string,
  { labelMap, isNamedRumor }: { labelMap: LabelMap; isNamedRumor: boolean },
): boolean | null {
  const said = cellText(row, column)?.toLowerCase();
  if (said === undefined) return null;
  const mapped = lookUp(said, labelMap);
  if (mapped === null && !isNamedRumor && (said === 'true' || said === 'false'))
    throw badCell(
      row,
      column,
      `may mean that the thread is a rumor, or that its claim is true; say which with ${optionOf('rumor')} ${column} or ${optionOf('veracity')} ${column}`,
    );
  const word = mapped ?? said.replace(/\.0$/, '');
  if (rumors.has(word)) return true;
  if (nonRumors.has(word)) return false;
  throw badCell(
    row,
    column,
    `${byMap(mapped)}is no label that is known (rumor, non-rumor, 1, 0); ${veracities.some((known) => known === word) ? `where the column holds veracities, read it with ${optionOf('veracity')} ${argument(column)}; else ` : ''}say what it stands for with --label-map ${argument(said)}=rumor or ${argument(said)}=non-rumor`,
  );
}

/** @throws BadItemError for a word that is not known, with what to do */
export function cellVeracity(row: TableRow, column: string, { labelMap }: { labelMap: LabelMap }): Thread['veracity'] {
  const hint = `, or, where the column says whether the thread is a rumor, read it with ${optionOf('label')} ${column}`;
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
  { words, labelMap, hint = '' }: { words: readonly Word[]; labelMap: LabelMap; hint?: string },
): Word | null {
  const said = cellText(row, column)?.toLowerCase();
  if (said === undefined) return null;
  const mapped = lookUp(said, labelMap);
  const word = (mapped ?? said).replace('rumour', 'rumor');
  const found = words.find((known) => known === word);
  if (found !== undefined) return found;
  throw badCell(
    row,
    column,
    `${byMap(mapped)}must be one of ${words.join(', ')}; say which it stands for with --label-map ${argument(said)}=…${hint}`,
  );
}

function lookUp(said: string, labelMap: LabelMap): string | null {
  const [, mapped] = Object.entries(labelMap).find(([from]) => from.toLowerCase() === said) ?? [];
  return mapped?.toLowerCase() ?? null;
}

/** Where the map is what is wrong, it is said. */
function byMap(mapped: string | null): string {
  return mapped === null ? '' : `stands for ${JSON.stringify(mapped)} by --label-map, which `;
}

function argument(text: string): string {
  return /^[\w.-]+$/.test(text) ? text : `'${text}'`;
}
