import { quoted } from '../../../shell-words.ts';
import { foldedName } from '../../folded-name.ts';
import { veracities } from '../../thread.ts';

/** Names for the values of a label column: `fake=rumor`, `1=escalated`. */
export type LabelMap = Readonly<Record<string, string>>;

/** A map of labels in use. */
export interface LabelWords {
  /** The map's name for a value, in the case of the map; null without one. Case and look-alikes do not matter. */
  of(value: string): string | null;
  /** The map's keys that no value has. */
  unmet(): string[];
}

export function labelWords(labelMap: LabelMap): LabelWords {
  const keyOf = (word: string) => foldedName(word).toLowerCase();
  const words = new Map(Object.entries(labelMap).map(([from, to]) => [keyOf(from), { from, to }]));
  const unmet = new Set(words.keys());
  return {
    of(value) {
      if (words.size === 0) return null;
      // In a column with gaps, some programs turn 1 and 0 into 1.0 and 0.0.
      const key = [keyOf(value), keyOf(value).replace(/^(-?\d+)\.0$/, '$1')].find((spelling) => words.has(spelling));
      if (key === undefined) return null;
      unmet.delete(key);
      return foldedName(words.get(key)?.to ?? '');
    },
    unmet: () => [...words].flatMap(([key, { from }]) => (unmet.has(key) ? [from] : [])),
  };
}

const noWords = labelWords({});

/** The values in the first rows of a column, if they are few. */
export type ColumnValues = readonly string[];

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

/** The meaning of a word in a label column, in lower case and after the map; null for an unknown one. */
export function rumorOf(value: string, labels: LabelWords): boolean | null {
  const word = mappedWord(value, labels) ?? value.replace(/\.0$/, '');
  if (rumors.has(word)) return true;
  return nonRumors.has(word) ? false : null;
}

export function mappedWord(value: string, labels: LabelWords): string | null {
  return labels.of(value)?.toLowerCase() ?? null;
}

/** Whether these values are labels of the rumor task, by their words alone: 1 and true may mean anything. */
export function areRumors(values: Iterable<string>): boolean {
  return [...values].every((value) => /^(?:non-?)?rumou?r$/i.test(value));
}

/** Whether these values are veracities of claims rather than rumor labels. */
export function areVeracities(values: ColumnValues): boolean {
  const words = values.map((value) => value.toLowerCase().replace('rumour', 'rumor'));
  const isVeracity = (word: string) => veracities.some((veracity) => veracity === word);
  return words.every(isVeracity) && words.some((word) => rumorOf(word, noWords) === null);
}

/** The options that name a column's unknown words. */
export function labelMapOptions(values: ColumnValues, labels: LabelWords): string {
  const unknown = [...new Set(values.map((value) => value.toLowerCase()))].filter(
    (value) => rumorOf(value, labels) === null,
  );
  if (unknown.length === 0) return '';
  return `${unknown.map((word) => `--label-map ${quoted(word)}=…`).join(' ')}, each rumor or non-rumor`;
}
