import type { TableColumns } from './columns.ts';
import type { LabelMap } from './label-words.ts';
import type { DateOrder } from './times.ts';

/** How the columns of a table are to be read. */
export interface TableOptions {
  readonly columns?: TableColumns | undefined;
  readonly labelMap?: LabelMap | undefined;
  readonly dateOrder?: DateOrder | undefined;
  /** Between the fields of a text file; found from the header unless given. */
  readonly delimiter?: string | undefined;
}
