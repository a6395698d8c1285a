import { quoted } from '../../shell-words.ts';

/*
 * One rule for all readers: a cell holds nothing where it is empty, where it is \N, which databases write, or where the user gave its
 * word. Any other word is a word, also one that some program writes for nothing; how such words were read is counted.
 */

/** What means nothing in a file. */
export interface NothingRules {
  /** Words that mean nothing, as the user gave them. */
  readonly words: ReadonlySet<string>;
  /** Called with each word that was read as nothing, and each that other programs would read so. */
  readonly onWord: (column: string, word: string, isNothing: boolean) => void;
}

/** For values that are only looked at. */
export function silentRules({ words }: Pick<NothingRules, 'words'>): NothingRules {
  return { words, onWord: () => {} };
}

const written = '\\N';

/** What programs write where there is nothing. */
const doubtful: ReadonlySet<string> = new Set([
  ...['nan', '-nan', 'null', '(null)', 'nil', 'none', 'na', 'n/a', '#n/a', '#na', 'nat', '<na>', 'undefined'],
]);

const longest = Math.max(...[...doubtful].map(({ length }) => length));

/** Whether some programs would read this word as nothing. */
export function mayMeanNothing(word: string): boolean {
  return word.length <= longest && doubtful.has(word.toLowerCase());
}

/** Whether a text, without spaces around it, is nothing. */
export function isNothing(text: string, { column, rules }: { column: string; rules: NothingRules }): boolean {
  if (text === '') return true;
  if (text === written || rules.words.has(text)) {
    rules.onWord(column, text, true);
    return true;
  }
  if (mayMeanNothing(text)) rules.onWord(column, text, false);
  return false;
}

/** Counts how words that may mean nothing were read, by column. */
export function wordCounts() {
  const counts = new Map<string, Map<string, { rows: number; isNothing: boolean }>>();
  return {
    onWord(column: string, word: string, isNothing: boolean): void {
      const words = counts.get(column) ?? new Map<string, { rows: number; isNothing: boolean }>();
      counts.set(column, words);
      const count = words.get(word) ?? { rows: 0, isNothing };
      words.set(word, count);
      count.rows++;
    },
    /** A note for each column that has such words. */
    notes(): string[] {
      return Array.from(counts, ([column, words]) => {
        const read = Array.from(
          words,
          ([word, { rows, isNothing }]) =>
            `${JSON.stringify(word)} is read as ${isNothing ? 'nothing' : 'a word'} (${rows} ${rows === 1 ? 'row' : 'rows'})`,
        );
        const kept = [...words].flatMap(([word, { isNothing }]) => (isNothing ? [] : [`--null ${quoted(word)}`]));
        return `column ${JSON.stringify(column)}: ${read.join(', ')}${kept.length === 0 ? '' : `; to read such words as nothing, add ${kept.join(' ')}`}`;
      });
    },
  };
}
