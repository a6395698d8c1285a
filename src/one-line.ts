/** A text on one line of at most `most` characters, cut with an ellipsis. */
export function oneLine(text: string, most: number): string {
  const characters = [...text.replaceAll(/\s+/gu, ' ').trim()];
  return characters.length <= most ? characters.join('') : `${characters.slice(0, most - 1).join('')}…`;
}
