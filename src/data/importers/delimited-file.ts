import { BadItemError, orSkip, type SkipOptions, shortened } from '../bad-item.ts';
import { readLines } from '../text-lines.ts';

/** One row of a table with a header. */
export interface DelimitedRow {
  /** File and line, counted from 1, on which the row starts. */
  readonly place: string;
  /** The fields by their names in the first row. */
  readonly value: Readonly<Record<string, string>>;
}

/** A quoted field that has not ended after this many lines has lost its closing quote. */
const MOST_LINES_A_ROW = 1000;

/**
 * The rows of a CSV or TSV file with a header, one at a time. A field in double quotes may contain delimiters and line
 * breaks. A row with another number of fields than the header is a bad item.
 * @throws InputError for a file that cannot be read, or a bad row that is not to be skipped
 */
export async function* readDelimitedFile(
  path: string,
  options: SkipOptions & { delimiter: ',' | '\t' },
): AsyncGenerator<DelimitedRow> {
  const { delimiter } = options;
  let header: string[] | null = null;
  for await (const { place, text } of joinedRows(path, options)) {
    const fields = splitRow(text, delimiter);
    if (header === null) {
      // Spreadsheets begin a file with a byte order mark.
      header = fields.map((name) => name.replace(/^\uFEFF/, '').trim());
      continue;
    }
    const names: readonly string[] = header;
    const row = await orSkip(options, () => {
      if (fields.length !== names.length)
        throw new BadItemError({
          place,
          value: `${fields.length} fields: ${shortened(text)}`,
          reason: `must have ${names.length} fields (${names.join(', ')})`,
        });
      return { place, value: Object.fromEntries(names.map((name, index) => [name, fields[index]])) };
    });
    if (row !== null) yield row;
  }
}

/** Lines, joined while a quoted field is open. */
async function* joinedRows(
  path: string,
  options: SkipOptions & { delimiter: string },
): AsyncGenerator<{ place: string; text: string }> {
  let open: { place: string; lines: string[] } | null = null;
  for await (const line of readLines(path)) {
    open ??= { place: `${path}:${line.number}`, lines: [] };
    open.lines.push(line.text);
    const text = open.lines.join('\n');
    if (hasOpenQuote(text, options.delimiter)) {
      if (open.lines.length < MOST_LINES_A_ROW) continue;
      const { place } = open;
      await orSkip(options, () => {
        throw new BadItemError({ place, value: shortened(text), reason: 'a quoted field has no end' });
      });
    } else yield { place: open.place, text: text.replace(/\r$/, '') };
    open = null;
  }
  if (open === null) return;
  const { place, lines } = open;
  await orSkip(options, () => {
    throw new BadItemError({ place, value: shortened(lines.join('\n')), reason: 'a quoted field has no end' });
  });
}

function hasOpenQuote(text: string, delimiter: string): boolean {
  let isOpen = false;
  for (let index = 0; index < text.length; index++) {
    if (text[index] !== '"') continue;
    if (isOpen && text[index + 1] === '"') index++;
    else if (isOpen) isOpen = false;
    // Only a quote at the beginning of a field opens one: texts in tab-separated files contain bare quotes.
    else if (index === 0 || text[index - 1] === delimiter) isOpen = true;
  }
  return isOpen;
}

function splitRow(text: string, delimiter: string): string[] {
  const fields: string[] = [];
  for (let start = 0; start <= text.length; ) {
    if (text[start] !== '"') {
      const end = text.indexOf(delimiter, start);
      fields.push(text.slice(start, end < 0 ? text.length : end));
      if (end < 0) break;
      start = end + 1;
      continue;
    }
    let field = '';
    let index = start + 1;
    for (; index < text.length; index++) {
      if (text[index] !== '"') field += text[index];
      else if (text[index + 1] === '"') field += text[++index];
      else break;
    }
    const end = text.indexOf(delimiter, index + 1);
    // What follows a closing quote belongs to the field, as spreadsheets read it.
    fields.push(field + text.slice(index + 1, end < 0 ? text.length : end));
    if (end < 0) break;
    start = end + 1;
  }
  return fields;
}
