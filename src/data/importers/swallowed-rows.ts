/** Where a record holds what would be rows of their own, if its quotes meant nothing. */
export interface SwallowedRows {
  /** Of the field, from 0. */
  readonly column: number;
  /** Of the field. */
  readonly lines: number;
}

const lineBreak = /\r\n|\r|\n/;

/**
 * Looks for rows within a field: in a table without quotes, a text that begins with one takes in all up to the next. Texts of several
 * lines may look alike, so a line counts only where it has as many fields as the record, and at least half of those that can be
 * compared are of the same kind.
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
      // Fields of the record itself are always alike.
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

/** More digits are the id of a platform and not a count. */
const mostOfCount = 7;

/** Which sorts of characters it has, such as letters, digits and hyphens, and whether spaces stand around it. */
function kindOf(cell: string): string {
  if (/^\d+$/.test(cell)) return cell.length > mostOfCount ? 'long number' : 'number';
  const sorts = cell.replace(/\p{L}+/gu, 'a').replace(/\p{N}+/gu, '9');
  return [cell === cell.trim() ? '' : ' ', ...[...new Set(sorts)].sort()].join('');
}
