/** The text with blanks in the place of links, so that everything else stays where it was. */
export function withoutLinks(text: string): string {
  return text.replace(/https?:\/\/\S+|www\.\S+/gi, (link) => ' '.repeat(link.length));
}
