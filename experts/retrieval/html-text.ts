const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' };

/** The text of a piece of HTML: tags gone, character references resolved, white space joined. */
export function htmlText(html: string): string {
  return html
    .replace(/<[^>]*>/g, '')
    .replace(/&(?:#(\d+)|#x([\da-f]+)|(\w+));/gi, (whole, decimal, hexadecimal, name) => {
      if (name !== undefined) return NAMED[name.toLowerCase()] ?? whole;
      const code = decimal === undefined ? Number.parseInt(hexadecimal, 16) : Number(decimal);
      return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : '';
    })
    .replace(/\s+/g, ' ')
    .trim();
}

/** The paragraphs of an article's HTML; what tables (info boxes), notes and styles hold is no part of them. */
export function htmlParagraphs(html: string): string[] {
  const prose = ['table', 'style', 'script', 'sup', 'figure'].reduce((rest, tag) => withoutElement(rest, tag), html);
  return [...prose.matchAll(/<p(?:\s[^>]*)?>([\s\S]*?)<\/p>/gi)].map((match) => htmlText(match[1])).filter(Boolean);
}

/** Tables nest, so that a pattern alone would end at the first inner end tag. */
function withoutElement(html: string, tag: string): string {
  let kept = '';
  let depth = 0;
  let position = 0;
  for (const match of html.matchAll(new RegExp(`<(/?)${tag}(?:\\s[^>]*)?>`, 'gi'))) {
    if (depth === 0) kept += html.slice(position, match.index);
    depth = match[1] === '' ? depth + 1 : Math.max(0, depth - 1);
    position = match.index + match[0].length;
  }
  return depth === 0 ? kept + html.slice(position) : kept;
}
