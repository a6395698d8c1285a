/**
 * A text of somebody else's, such as the name of a class, as Markdown that shows it as it is: within a line, a heading or a cell of a
 * table. Underscores within words are left alone, as no reader takes them for marks.
 */
export function markdownText(text: string): string {
  return htmlShown(text.replace(/\s*[\r\n]+\s*/g, ' '))
    .replace(/[\\`*|]/g, '\\$&')
    .replace(/(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu, '\\_')
    .replace(/~(?=~)/g, '\\~')
    .replace(/\](?=\()/g, '\\]');
}

/** Markdown whose marks of HTML are shown. Code is left alone, as it is shown as it is already. */
export function withoutHtml(markdown: string): string {
  const parts = markdown.split(/((?<!`)`(?!`)[^`]*(?<!`)`(?!`))/);
  return parts.map((part, index) => (index % 2 === 1 ? part : htmlShown(part))).join('');
}

function htmlShown(text: string): string {
  return text.replace(/&(?=#?\w+;)/g, '&amp;').replace(/</g, '&lt;');
}
