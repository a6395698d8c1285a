import type { SkipOptions } from '../bad-item.ts';
import type { ReadingOptions } from '../text-lines.ts';
import type { Thread } from '../thread.ts';
import type { NothingRules } from './nothing.ts';
import type { TableImportOptions } from './table/columns.ts';

/** Options of an importer besides the paths. */
export interface ImportOptions extends SkipOptions, ReadingOptions {
  /** Whether to sort replies that are out of time order. Formats other than `threads` are always sorted. */
  readonly sort?: boolean;
  /** A file of lines `id<TAB>text` with texts that the release leaves out. */
  readonly texts?: string;
  /** Labels to import, by their names in the source. */
  readonly label?: readonly string[] | undefined;
  /** Options for tables of posts. */
  readonly table?: TableImportOptions | undefined;
  /** Words that mean nothing, like empty cells and \N. */
  readonly nulls?: readonly string[] | undefined;
  /** Later times are in the future, which is a warning. */
  readonly now?: Date | undefined;
  /** Called with facts about the result that the user should know: what was dropped or guessed, and how often. */
  readonly onNote?: ((note: string) => void) | undefined;
  /** Called with likely mistakes in the result; `onNote` by default. */
  readonly onWarning?: ((warning: string) => void) | undefined;
}

/** The options, counters and rules of a running import. */
export interface ImportContext extends ImportOptions {
  /** Counts a note. It is reported at the end, with its number in place of #. */
  readonly count: (note: string, by?: number) => void;
  /** Counts a warning about a likely mistake, reported like a note. */
  readonly warn: (warning: string, by?: number) => void;
  /** The rules for words that mean nothing. */
  readonly rules: NothingRules;
}

/** Reads one foreign format. */
export interface Importer {
  readonly name: string;
  /** The source of the data, for help. */
  readonly description: string;
  /** The paths that `read` expects, for help and errors. */
  readonly expects: string;
  /** The options, besides skipping, that the format takes. */
  readonly takes: readonly ('sort' | 'texts' | 'label' | 'encoding' | 'table' | 'nulls')[];
  /**
   * Yields the threads one at a time. A bad item goes through `orSkip`; keys that the format does not need are ignored.
   * @throws InputError for a bad item that is not skipped, or paths that the format does not expect
   */
  read(paths: readonly string[], options: ImportContext): AsyncGenerator<Thread>;
}
