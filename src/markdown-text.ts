/**
 * Escapes a foreign text, such as a class name, for a line, heading or table cell of Markdown. Underscores within words
 * stay, because no reader takes them for marks.
 */
export function markdownText(text: string): string {
  return htmlShown(text.replace(/\s*[\r\n]+\s*/g, ' '))
    .replace(/[\\`*|]/g, '\\$&')
    .replace(/(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu, '\\_')
    .replace(/~(?=~)/g, '\\~')
    .replace(/\](?=\()/g, '\\]');
}

/** Escapes HTML in Markdown, and names such as `__proto__`, which would be bold; except in code, which is shown as it is. */
export function withoutHtml(markdown: string): string {
  const parts = markdown.split(/((?<!`)`(?!`)[^`]*(?<!`)`(?!`))/);
  return parts.map((part, index) => (index % 2 === 1 ? part : htmlShown(part).replaceAll('__', '\\_\\_'))).join('');
}

function htmlShown(text: string): string {
  return text.replace(/&(?=#?\w+;)/g, '&amp;').replace(/</g, '&lt;');
}
