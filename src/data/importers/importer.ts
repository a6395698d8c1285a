import type { SkipOptions } from '../bad-item.ts';
import type { ReadingOptions } from '../text-lines.ts';
import type { Thread } from '../thread.ts';
import type { NothingRules } from './nothing.ts';
import type { TableImportOptions } from './table/columns.ts';

/** What an importer is told beside the paths. */
export interface ImportOptions extends SkipOptions, ReadingOptions {
  /** Sort replies that are out of time order. Formats other than `threads` are always sorted. */
  readonly sort?: boolean;
  /** A file of lines `id<TAB>text` with texts that the release leaves out. */
  readonly texts?: string;
  /** Labels to take, by their names in the source. */
  readonly label?: readonly string[] | undefined;
  /** How the columns of a table of posts are to be read. */
  readonly table?: TableImportOptions | undefined;
  /** Words that mean nothing, beside empty cells and \N. */
  readonly nulls?: readonly string[] | undefined;
  /** Times behind it are in the future, which is a warning. */
  readonly now?: Date | undefined;
  /** Called with what the user should know of the result: what was dropped or guessed, and how often. */
  readonly onNote?: ((note: string) => void) | undefined;
  /** Called with what is likely wrong with the result; `onNote` unless given. */
  readonly onWarning?: ((warning: string) => void) | undefined;
}

/** What an importer reads by. */
export interface ImportContext extends ImportOptions {
  /** Counts what was dropped or guessed. At the end it becomes a note, with the number in the place of #. */
  readonly count: (note: string, by?: number) => void;
  /** The same for what is likely wrong. */
  readonly warn: (warning: string, by?: number) => void;
  /** What means nothing. */
  readonly rules: NothingRules;
}

/** Reads one foreign format. */
export interface Importer {
  readonly name: string;
  /** Whose data it is, for help. */
  readonly description: string;
  /** What the paths given to `read` should be, for help and errors. */
  readonly expects: string;
  /** The options, beyond skipping, that mean something here. */
  readonly takes: readonly ('sort' | 'texts' | 'label' | 'encoding' | 'table' | 'nulls')[];
  /**
   * Yields the threads one at a time. A bad item goes through `orSkip`; keys that the format does not need are ignored.
   * @throws InputError for a bad item that is not to be skipped, or paths that are not what the format expects
   */
  read(paths: readonly string[], options: ImportContext): AsyncGenerator<Thread>;
}
