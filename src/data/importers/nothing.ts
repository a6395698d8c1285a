import { quoted } from '../../shell-words.ts';

/*
 * One rule for all readers: a cell means nothing if it is empty or holds \N, which databases write, or a word that the
 * user chose. Any other word is a word; words that some programs write for nothing are counted.
 */

/** The rules for words that mean nothing in a file. */
export interface NothingRules {
  /** The user's words that mean nothing. */
  readonly words: ReadonlySet<string>;
  /** Called with each word that was read as nothing, and each that other programs would read so. */
  readonly onWord?: (column: string, word: string, isNothing: boolean) => void;
}

const written = '\\N';

/** Words that programs write for nothing. */
const doubtful: ReadonlySet<string> = new Set([
  ...['nan', '-nan', 'null', '(null)', 'nil', 'none', 'na', 'n/a', '#n/a', '#na', 'nat', '<na>', 'undefined'],
]);

const longest = Math.max(...[...doubtful].map(({ length }) => length));

/** Whether some programs would read this word as nothing. */
export function mayMeanNothing(word: string): boolean {
  return word.length <= longest && doubtful.has(word.toLowerCase());
}

/** Whether a trimmed text means nothing. */
export function isNothing(text: string, { column, rules }: { column: string; rules: NothingRules }): boolean {
  if (text === '') return true;
  if (text === written || rules.words.has(text)) {
    rules.onWord?.(column, text, true);
    return true;
  }
  if (mayMeanNothing(text)) rules.onWord?.(column, text, false);
  return false;
}

/** Counts, by column, how words that may mean nothing were read. */
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
    /** One note per column with such words. */
    notes(): string[] {
      return Array.from(counts, ([column, words]) => {
        const read = Array.from(
          words,
          ([word, { rows, isNothing }]) =>
            `${JSON.stringify(word)} is read as ${isNothing ? 'nothing' : 'a word'} (${rows} ${rows === 1 ? 'row' : 'rows'})`,
        );
        const options = [...words].flatMap(([word, { isNothing }]) => (isNothing ? [] : [`--null ${quoted(word)}`]));
        return `column ${JSON.stringify(column)}: ${read.join(', ')}${options.length === 0 ? '' : `; to read such words as nothing, add ${options.join(' ')}`}`;
      });
    },
  };
}
