import { closest } from 'fastest-levenshtein';
import { counted } from '../../src/counted.ts';
import { csvText } from '../../src/csv-text.ts';
import { shortened } from '../../src/data/bad-item.ts';
import { foldedName } from '../../src/data/folded-name.ts';
import {
  type DelimitedRow,
  delimiterNamed,
  quoteNamed,
  readDelimitedFile,
} from '../../src/data/importers/delimited-file.ts';
import { isNothing, mayMeanNothing, type NothingRules, wordCounts } from '../../src/data/importers/nothing.ts';
import { encodingNamed } from '../../src/data/text-encoding.ts';
import type { ReadingOptions } from '../../src/data/text-lines.ts';
import { InputError } from '../../src/errors.ts';
import { quoted } from '../../src/shell-words.ts';

export interface LabelColumns {
  readonly text: string;
  /** Column of a target or a topic, which is read with the text. */
  readonly about: string | null;
  readonly label: string;
  readonly confidence: string | null;
  readonly gold: string | null;
}

export interface LabelledRow {
  /** The target as one word, then the text. */
  readonly text: string;
  readonly textAlone: string;
  readonly label: string | null;
  readonly confidence: number | null;
  readonly gold: string | null;
}

export interface LabelTableReading extends Pick<ReadingOptions, 'mostBytes'> {
  readonly columns: LabelColumns;
  readonly delimiter: string | null;
  readonly quote?: string | undefined;
  readonly encoding?: string | undefined;
  /** Words that count as empty, besides empty cells and \N. */
  readonly nulls?: readonly string[] | undefined;
}

export interface LabelTable {
  readonly headings: readonly string[];
  /** The cells of every row, in the order of the headings. */
  readonly cells: readonly (readonly string[])[];
  readonly rows: readonly LabelledRow[];
  /** Notes about empty words and skipped rows. */
  readonly notes: readonly string[];
}

const addedColumns = ['selected', 'training_label', 'selection_score', 'selection_reason'] as const;

/** @throws InputError with the invalid column or cell */
export async function readLabelTable(path: string, options: LabelTableReading): Promise<LabelTable> {
  const { columns, delimiter, quote, encoding, nulls = [], mostBytes } = options;
  const cells: string[][] = [];
  const rows: LabelledRow[] = [];
  let headings: readonly string[] = [];
  const words = wordCounts();
  const rules = { words: new Set(nulls.map(foldedName)), onWord: words.onWord };
  let repeated = 0;
  for await (const row of readDelimitedFile(path, {
    delimiter: delimiter === null ? undefined : delimiterNamed(delimiter),
    quote: quote === undefined ? undefined : quoteNamed(quote),
    encoding: encoding === undefined ? undefined : encodingNamed(encoding),
    mostBytes,
    count: () => void repeated++,
  })) {
    if (cells.length === 0) {
      headings = row.headings;
      checkHeadings(headings, { path, columns });
    }
    cells.push(headings.map((heading) => row.value[heading]));
    rows.push(labelledRow(row, { columns, rules }));
  }
  const notes = [
    ...words.notes(),
    ...(repeated === 0
      ? []
      : [`left out ${counted(repeated, 'row')} that ${repeated === 1 ? 'repeats' : 'repeat'} the header`]),
  ];
  return { headings, cells, rows, notes };
}

function checkHeadings(headings: readonly string[], { path, columns }: { path: string; columns: LabelColumns }): void {
  for (const [option, heading] of Object.entries(columns))
    if (heading !== null && !headings.includes(heading))
      throw new InputError(
        `${path} has no column ${JSON.stringify(heading)} (--${option}); did you mean ${JSON.stringify(closest(heading, [...headings]))}? Columns: ${headings.join(', ')}`,
      );
  const written = [...headings, ...addedColumns];
  const twice = written.find((heading, place) => written.indexOf(heading) !== place);
  if (twice !== undefined)
    throw new InputError(
      `two columns of the selection would be called ${JSON.stringify(twice)}: to those of ${path}, select adds ${addedColumns.join(', ')}. Rename one of them, or give the table as it was before a selection`,
    );
}

function labelledRow(
  { value, place }: DelimitedRow,
  { columns, rules }: { columns: LabelColumns; rules: NothingRules },
): LabelledRow {
  /** The folded text of a cell; null if it is empty. */
  const name = (column: string | null) => {
    if (column === null) return null;
    const text = foldedName(value[column]);
    return isNothing(text, { column, rules }) ? null : text;
  };
  const about = name(columns.about);
  const said = name(columns.confidence);
  const confidence = said === null ? null : Number(said);
  if (said !== null && confidence !== null && !(confidence >= 0 && confidence <= 1))
    throw new InputError(
      `${place}, column ${JSON.stringify(columns.confidence)}: a confidence is a probability from 0 to 1${mayMeanNothing(said) ? `; if it means that there is none, add --null ${quoted(said)}` : ''}; found ${shortened(said)}`,
    );
  const textAlone = value[columns.text].trim();
  return {
    textAlone,
    // One word, so that a model may learn what it stands for.
    text: [...(about === null ? [] : [about.replace(/[^\p{L}\p{N}]+/gu, '_')]), textAlone].join(' '),
    label: name(columns.label),
    confidence,
    gold: name(columns.gold),
  };
}

/** The table with the added columns as CSV (RFC 4180). */
export function tableText(
  { headings, cells }: Pick<LabelTable, 'headings' | 'cells'>,
  added: readonly (readonly string[])[],
): string {
  return csvText([[...headings, ...addedColumns], ...cells.map((cellsOfRow, row) => [...cellsOfRow, ...added[row]])]);
}
