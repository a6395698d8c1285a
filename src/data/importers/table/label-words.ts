import { quoted } from '../../../shell-words.ts';
import { foldedName } from '../../folded-name.ts';
import { veracities } from '../../thread.ts';

/** What a value of a label column is called, where its own word will not do: `fake=rumor`, `1=escalated`. */
export type LabelMap = Readonly<Record<string, string>>;

/** A map of labels in use. */
export interface LabelWords {
  /** What the map calls a value, in the case of the map; null where it does not name it. Case and look-alikes do not matter. */
  of(said: string): string | null;
  /** The keys that no value has met. */
  unmet(): string[];
}

export function labelWords(labelMap: LabelMap): LabelWords {
  const keyOf = (word: string) => foldedName(word).toLowerCase();
  const words = new Map(Object.entries(labelMap).map(([from, to]) => [keyOf(from), { from, to }]));
  const unmet = new Set(words.keys());
  return {
    of(said) {
      if (words.size === 0) return null;
      // A column of whole numbers with a gap is one of 1.0 and 0.0 in some programs.
      const key = [keyOf(said), keyOf(said).replace(/^(-?\d+)\.0$/, '$1')].find((own) => words.has(own));
      if (key === undefined) return null;
      unmet.delete(key);
      return foldedName(words.get(key)?.to ?? '');
    },
    unmet: () => [...words].flatMap(([key, { from }]) => (unmet.has(key) ? [from] : [])),
  };
}

const noWords = labelWords({});

/** Those that the first rows of a column hold, where they are few. */
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

/** What a word of a label column says, in lower case and by the map; null where it is none that is known. */
export function rumorOf(said: string, labels: LabelWords): boolean | null {
  const word = mappedWord(said, labels) ?? said.replace(/\.0$/, '');
  if (rumors.has(word)) return true;
  return nonRumors.has(word) ? false : null;
}

export function mappedWord(said: string, labels: LabelWords): string | null {
  return labels.of(said)?.toLowerCase() ?? null;
}

/** Whether labels of these values are those of the task of rumors, by their words alone: 1 and true may mean anything. */
export function areRumors(values: Iterable<string>): boolean {
  return [...values].every((value) => /^(?:non-?)?rumou?r$/i.test(value));
}

/** Whether a column of these values says what became of a claim, and not whether it is a rumor. */
export function areVeracities(values: ColumnValues): boolean {
  const words = values.map((value) => value.toLowerCase().replace('rumour', 'rumor'));
  const isVeracity = (word: string) => veracities.some((known) => known === word);
  return words.every(isVeracity) && words.some((word) => rumorOf(word, noWords) === null);
}

/** The options that say what the words of a column stand for that are not known. */
export function labelMapOptions(values: ColumnValues, labels: LabelWords): string {
  const unknown = [...new Set(values.map((value) => value.toLowerCase()))].filter(
    (value) => rumorOf(value, labels) === null,
  );
  if (unknown.length === 0) return '';
  return `${unknown.map((word) => `--label-map ${quoted(word)}=…`).join(' ')}, each rumor or non-rumor`;
}
