import { closest } from 'fastest-levenshtein';
import { csvText } from '../../src/csv-text.ts';
import { shortened } from '../../src/data/bad-item.ts';
import { type DelimitedRow, delimiterNamed, readDelimitedFile } from '../../src/data/importers/delimited-file.ts';
import { encodingNamed } from '../../src/data/text-encoding.ts';
import { InputError } from '../../src/errors.ts';

/** Columns of a table of weak labels. */
export interface LabelColumns {
  readonly text: string;
  /** What the label is about, such as a target or a topic: read with the text. */
  readonly about: string | null;
  readonly label: string;
  readonly confidence: string | null;
  readonly gold: string | null;
}

/** A row as far as it matters here; null where a cell is empty. */
export interface LabelledRow {
  /** What the label is about, as one word, then the text. */
  readonly text: string;
  /** The text alone. */
  readonly textAlone: string;
  readonly label: string | null;
  readonly confidence: number | null;
  readonly gold: string | null;
}

export interface LabelTable {
  readonly headings: readonly string[];
  /** The cells of every row, in the order of the headings. */
  readonly cells: readonly (readonly string[])[];
  readonly rows: readonly LabelledRow[];
}

/** What `select` adds to a table. */
const addedColumns = ['selected', 'training_label', 'selection_score', 'selection_reason'] as const;

/** @throws InputError for a file that is no such table, with the column or cell that is wrong */
export async function readLabelTable(
  path: string,
  options: { columns: LabelColumns; delimiter: string | null; encoding?: string },
): Promise<LabelTable> {
  const { columns, delimiter, encoding } = options;
  const cells: string[][] = [];
  const rows: LabelledRow[] = [];
  let headings: readonly string[] | null = null;
  for await (const row of readDelimitedFile(path, {
    delimiter: delimiter === null ? undefined : delimiterNamed(delimiter),
    encoding: encoding === undefined ? undefined : encodingNamed(encoding),
  })) {
    if (headings === null) {
      headings = row.headings;
      checkHeadings(headings, { path, columns });
    }
    cells.push(headings.map((heading) => row.value[heading]));
    rows.push(labelledRow(row, columns));
  }
  if (headings === null) throw new InputError(`${path} has no rows below its header`);
  return { headings, cells, rows };
}

function checkHeadings(headings: readonly string[], { path, columns }: { path: string; columns: LabelColumns }): void {
  for (const [option, heading] of Object.entries(columns))
    if (heading !== null && !headings.includes(heading))
      throw new InputError(
        `${path} has no column ${JSON.stringify(heading)} (--${option}); did you mean ${JSON.stringify(closest(heading, [...headings]))}? Columns: ${headings.join(', ')}`,
      );
  const taken = addedColumns.find((added) => headings.includes(added));
  if (taken !== undefined)
    throw new InputError(
      `${path} has a column ${taken} already, which select would add; give the table as it was before a selection, or rename the column`,
    );
  const twice = headings.find((heading, place) => headings.indexOf(heading) !== place);
  if (twice !== undefined)
    throw new InputError(`${path}: two columns are called ${JSON.stringify(twice)}; rename one of them`);
}

function labelledRow({ value, place }: DelimitedRow, columns: LabelColumns): LabelledRow {
  const cell = (column: string | null) => (column === null ? '' : value[column].trim());
  const about = cell(columns.about);
  const said = cell(columns.confidence);
  const confidence = said === '' ? null : Number(said);
  if (confidence !== null && !(confidence >= 0 && confidence <= 1))
    throw new InputError(
      `${place}, column ${JSON.stringify(columns.confidence)}: a confidence is a probability from 0 to 1; found ${shortened(said)}`,
    );
  return {
    // One word, so that a model may learn what it stands for.
    textAlone: cell(columns.text),
    text: [...(about === '' ? [] : [about.replace(/[^\p{L}\p{N}]+/gu, '_')]), cell(columns.text)].join(' '),
    label: cell(columns.label) || null,
    confidence,
    gold: cell(columns.gold) || null,
  };
}

/** The table with further columns, as a CSV file has it (RFC 4180). */
export function tableText(
  { headings, cells }: Pick<LabelTable, 'headings' | 'cells'>,
  added: readonly (readonly string[])[],
): string {
  return csvText([[...headings, ...addedColumns], ...cells.map((own, row) => [...own, ...added[row]])]);
}
