import { entryOf } from '../../../entry-of.ts';
import { InputError } from '../../../errors.ts';
import { quoted } from '../../../shell-words.ts';
import { foldedName } from '../../folded-name.ts';
import { stances, type Thread, veracities } from '../../thread.ts';
import type { NothingRules } from '../nothing.ts';
import { badCell, cellText, listed, type TableRow } from './cells.ts';

/** Names for the values of a label column: `fake=rumor`, `1=escalated`. */
export type LabelMap = Readonly<Record<string, string>>;

/** Values that are shown if none is that of the map. */
const mostShown = 20;

/** A map of labels in use. */
export function labelWords(labelMap: LabelMap) {
  const keyOf = (word: string) => foldedName(word).toLowerCase();
  const words = new Map(Object.entries(labelMap).map(([from, to]) => [keyOf(from), { from, to: foldedName(to) }]));
  const unmet = new Set(words.keys());
  const columns = new Set<string>();
  const values = new Set<string>();
  return {
    /** The columns whose values it names. */
    columns,
    /** The map's name for a value, in the case of the map; null without one. Case and look-alikes do not matter. */
    of(value: string): string | null {
      if (words.size === 0) return null;
      if (values.size < mostShown) values.add(value);
      const key = words.has(keyOf(value)) ? keyOf(value) : withoutGap(keyOf(value));
      unmet.delete(key);
      return words.get(key)?.to ?? null;
    },
    /** @throws InputError for a key of the map that no value has */
    refuseUnmet(): void {
      const [first] = [...words].flatMap(([key, { from }]) => (unmet.has(key) ? [JSON.stringify(from)] : []));
      if (first === undefined) return;
      const shown = listed([...values].map((value) => JSON.stringify(value)));
      throw new InputError(
        columns.size === 0
          ? `--label-map ${first}: no cell of the labels is ${first}; no column of labels is read; name one with --label, --rumor, --veracity or --stance`
          : `--label-map ${first}: no cell of the labels (${[...columns].join(', ')}) is ${first}; its values are ${shown}`,
      );
    },
  };
}

export type LabelWords = ReturnType<typeof labelWords>;

/** In a column with gaps, some programs turn 1 and 0 into 1.0 and 0.0. */
function withoutGap(value: string): string {
  return value.replace(/^(-?\d+)\.0$/, '$1');
}

/** The rumor label of a word in lower case. */
const rumorWords: Readonly<Record<string, boolean>> = {
  rumor: true,
  rumour: true,
  1: true,
  true: true,
  yes: true,
  'non-rumor': false,
  'non-rumour': false,
  nonrumor: false,
  nonrumour: false,
  0: false,
  false: false,
  no: false,
};

/** Whether these values are labels of the rumor task, by their words alone: 1 and true may mean anything. */
export function areRumors(values: Iterable<string>): boolean {
  return [...values].every((value) => /^(?:non-?)?rumou?r$/i.test(value));
}

/** Whether these values are veracities of claims rather than rumor labels. */
export function areVeracities(values: readonly string[]): boolean {
  const words = values.map((value) => value.toLowerCase().replace('rumour', 'rumor'));
  const isVeracity = (word: string) => veracities.some((veracity) => veracity === word);
  return words.every(isVeracity) && words.some((word) => entryOf(rumorWords, word) === undefined);
}

/** Settings for cells of labels. */
interface LabelReading {
  readonly labels: LabelWords;
  readonly rules: NothingRules;
}

/** A further label: the value in the cell, or the map's name for it. */
export function cellLabel(row: TableRow, column: string, { labels, rules }: LabelReading): string | null {
  const value = cellText(row, column, rules);
  return value === null ? null : (labels.of(value) ?? withoutGap(value));
}

/**
 * Whether the cell means rumor.
 * @param reading.values the values in the first rows of the column, if they are few
 * @throws BadItemError for an unknown word, with the remedy
 */
export function cellRumor(
  row: TableRow,
  column: string,
  { values, ...reading }: LabelReading & { values: readonly string[] },
): boolean | null {
  const label = cellWord(row, column, reading);
  if (label === null) return null;
  const rumorOf = (word: string) => entryOf(rumorWords, word);
  const isRumor = rumorOf(label.word);
  if (isRumor !== undefined) return isRumor;
  const isVeracity = veracities.some((veracity) => veracity === label.value);
  const unknown = new Set([label.value, ...values.map((value) => value.toLowerCase())]);
  const options = [...unknown].flatMap((value) =>
    rumorOf(wordOf(value, reading.labels).word) === undefined ? [`--label-map ${quoted(value)}=…`] : [],
  );
  throw badCell(
    row,
    column,
    `${label.byMap}is no label that is known (rumor, non-rumor, 1, 0); ${isVeracity ? `where the column holds veracities, read it with --veracity ${quoted(column)}; ` : ''}for classes of your own, read it with --label ${quoted(column)}; else say what it stands for: ${options.join(' ')}, each rumor or non-rumor`,
  );
}

/** @throws BadItemError for an unknown word, with the remedy */
export function cellVeracity(row: TableRow, column: string, reading: LabelReading): Thread['veracity'] {
  const hint = `, or keep its classes as they are with --label ${quoted(column)}`;
  return oneOf(row, column, { ...reading, words: veracities, hint });
}

/** @throws BadItemError for an unknown word, with the remedy */
export function cellStance(row: TableRow, column: string, reading: LabelReading): Thread['posts'][number]['stance'] {
  return oneOf(row, column, { ...reading, words: stances, hint: '' });
}

function oneOf<Word extends string>(
  row: TableRow,
  column: string,
  { words, hint, ...reading }: LabelReading & { words: readonly Word[]; hint: string },
): Word | null {
  const label = cellWord(row, column, reading);
  if (label === null) return null;
  const word = label.word.replace('rumour', 'rumor');
  const match = words.find((candidate) => candidate === word);
  if (match !== undefined) return match;
  throw badCell(
    row,
    column,
    `${label.byMap}must be one of ${words.join(', ')}; say which it stands for with --label-map ${quoted(label.value)}=…${hint}`,
  );
}

function cellWord(row: TableRow, column: string, { labels, rules }: LabelReading): ReturnType<typeof wordOf> | null {
  const value = cellText(row, column, rules)?.toLowerCase();
  return value === undefined ? null : wordOf(value, labels);
}

/** The word that a value in lower case stands for, and the words that blame the map if it is the cause. */
function wordOf(value: string, labels: LabelWords): { value: string; word: string; byMap: string } {
  const mapped = labels.of(value)?.toLowerCase();
  return mapped === undefined
    ? { value, word: value.replace(/\.0$/, ''), byMap: '' }
    : { value, word: mapped, byMap: `stands for ${JSON.stringify(mapped)} by --label-map, which ` };
}
