/** A table as CSV: RFC 4180 with plain line feeds. */
export function csvText(rows: readonly (readonly string[])[]): string {
  return rows.map((row) => `${row.map(quotedField).join(',')}\n`).join('');
}

function quotedField(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
