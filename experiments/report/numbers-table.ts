import { markdownTable } from 'markdown-table';

/**
 * A table in Markdown, whose columns are numbers and stand right, but for the first.
 * @param options.texts further columns that are texts and stand left, by their headings
 */
export function numbersTable(
  heading: readonly string[],
  rows: readonly (readonly string[])[],
  { texts = [] }: { texts?: readonly string[] } = {},
): string {
  const align = heading.map((title, column) => (column === 0 || texts.includes(title) ? 'l' : 'r'));
  return markdownTable([heading, ...rows], { align });
}
