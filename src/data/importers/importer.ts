import type { SkipOptions } from '../bad-item.ts';
import type { Thread } from '../thread.ts';

export interface ImportOptions extends SkipOptions {
  /** Put replies that are out of order into time order. Formats other than `threads` are always sorted. */
  readonly sort?: boolean | undefined;
  /** A file of lines `id<TAB>text` with texts that the release does not hold. */
  readonly texts?: string | undefined;
  /** Called, at the end, with what a reader of the result should know: what was dropped or guessed, and how often. */
  readonly onNote?: ((note: string) => void) | undefined;
}

/** One format of the world. */
export interface Importer {
  readonly name: string;
  /** Whose data it is, for help. */
  readonly description: string;
  /** What the paths given to `read` should be, for help and errors. */
  readonly expects: string;
  /** The options, beyond skipping, that mean something here. */
  readonly takes: readonly ('sort' | 'texts')[];
  read(paths: readonly string[], options: ImportOptions): AsyncGenerator<Thread>;
}
