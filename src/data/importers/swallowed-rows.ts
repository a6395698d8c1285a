/** The field of a record that would contain rows if its quotes meant nothing. */
export interface SwallowedRows {
  /** The field's column, from 0. */
  readonly column: number;
  /** The field's lines. */
  readonly lines: number;
}

const lineBreak = /\r\n|\r|\n/;

/**
 * Looks for rows within a field: in a table without quotes, a text that begins with one extends to the next. Texts of
 * several lines may look similar, so a line counts only if it has as many fields as the record, and at least half of
 * the comparable ones are of the same kind.
 */
export function swallowedRows(record: readonly string[], delimiter: string): SwallowedRows | null {
  for (const [column, field] of record.entries()) {
    if (!lineBreak.test(field)) continue;
    const lines = field.split(lineBreak);
    const isRow = (line: string, index: number) => {
      const before = index === 0 ? record.slice(0, column) : [];
      const after = index === lines.length - 1 ? record.slice(column + 1) : [];
      const cells = line.split(delimiter);
      if (before.length + cells.length + after.length !== record.length) return false;
      // Fields within the record itself are always alike.
      const compared = cells.flatMap((cell, place) => {
        const other = record[before.length + place];
        const isText = before.length + place === column;
        return isText || cell.trim() === '' || other.trim() === '' ? [] : [kindOf(cell) === kindOf(other)];
      });
      const alike = compared.filter(Boolean).length;
      return alike > 0 && alike * 2 >= compared.length;
    };
    if (lines.some(isRow)) return { column, lines: lines.length };
  }
  return null;
}

/** A number with more digits is an id, not a count. */
const mostOfCount = 7;

/** The kinds of a cell's characters, such as letters, digits and hyphens, and whether it has outer spaces. */
function kindOf(cell: string): string {
  if (/^\d+$/.test(cell)) return cell.length > mostOfCount ? 'long number' : 'number';
  const sorts = cell.replace(/\p{L}+/gu, 'a').replace(/\p{N}+/gu, '9');
  return [cell === cell.trim() ? '' : ' ', ...[...new Set(sorts)].sort()].join('');
}
