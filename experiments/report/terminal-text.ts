/** No line of a summary is longer than this, whatever the width of the terminal. */
export const summaryWidth = 100;

/** Characters that move a cursor, set colours or a title, or turn the order of characters around. Tabs and line feeds only lay out a text. */
const unseen = /(?![\t\n])\p{Cc}|[\u2028\u2029\p{Bidi_Control}]/gu;

/**
 * A text for a terminal: control characters in texts of others are written as JSON escapes them, so that they are seen and do nothing. A
 * text of JSON means the same afterwards.
 */
export function visibleText(text: string): string {
  return text.replace(unseen, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
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
