/** No line of a summary is longer than this, whatever the width of the terminal. */
export const summaryWidth = 100;

/**
 * A table for a terminal: the first row is the heading, the first column stands left and is cut where the line would be too
 * long, the others stand right.
 * @param options.width of a line, in characters
 */
export function narrowTable(
  rows: readonly (readonly string[])[],
  { width = summaryWidth }: { width?: number } = {},
): string {
  const [heading, ...body] = rows;
  const widths = heading.map((_, column) => Math.max(...rows.map((row) => characters(row[column]).length)));
  const others = widths.slice(1).reduce((sum, own) => sum + own + gap.length, 0);
  const first = Math.max(shortestName, Math.min(widths[0], width - others));
  const line = ([name, ...cells]: readonly string[]) =>
    [cut(name, first).padEnd(first), ...cells.map((cell, index) => cell.padStart(widths[index + 1]))]
      .join(gap)
      .trimEnd();
  return [line(heading), '─'.repeat(first + others), ...body.map(line)].join('\n');
}

const gap = '  ';
const shortestName = 12;

/** Code points, because a character outside the basic plane counts two in `length`. */
function characters(text: string): string[] {
  return [...text];
}

function cut(text: string, width: number): string {
  const all = characters(text);
  return all.length <= width ? text : `${all.slice(0, width - 1).join('')}…`;
}

/**
 * Breaks the lines of a text at spaces, so that none is longer than `width` characters.
 * @param options.indent before what goes on
 */
export function wrapped(
  text: string,
  { width = summaryWidth, indent = '' }: { width?: number; indent?: string } = {},
): string {
  const lines = text.split('\n').flatMap((line) => {
    const [first, ...others] = line.split(' ');
    const broken = [first];
    for (const word of others) {
      const last = broken[broken.length - 1];
      if (last.length + 1 + word.length > width) broken.push(indent + word);
      else broken[broken.length - 1] = `${last} ${word}`;
    }
    return broken;
  });
  return lines.join('\n');
}

/** A paragraph, or a table whose first row is its heading. */
export type ScreenBlock = string | readonly (readonly string[])[];

/** Paragraphs and tables as a screen shows them, an empty line between them. */
export function screenText(blocks: readonly ScreenBlock[], { width }: { width: number }): string {
  const shown = blocks.map((block) =>
    typeof block === 'string' ? wrapped(block, { width }) : narrowTable(block, { width }),
  );
  return `${shown.join('\n\n')}\n`;
}
