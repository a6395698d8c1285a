/** Markup that may stand in a page as it is. Only `html` and `trusted` make it, so that foreign text cannot get in unescaped. */
export interface Markup {
  readonly markup: string;
}

type Child = Markup | string | number | null | readonly Child[];

/**
 * A template of HTML. Values are escaped wherever they stand between quotes or tags; markup and lists of it are put in as
 * they are, null as nothing.
 * @example html`<p title="${text}">${rows.map((row) => html`<b>${row}</b>`)}</p>`
 */
export function html(strings: TemplateStringsArray, ...values: readonly Child[]): Markup {
  return {
    markup: strings.map((text, index) => text + (index < values.length ? written(values[index]) : '')).join(''),
  };
}

/** Markup that was made elsewhere, such as a chart: nothing in it is escaped. */
export function trusted(markup: string): Markup {
  return { markup };
}

function written(child: Child): string {
  if (child === null) return '';
  if (typeof child === 'string' || typeof child === 'number') return escapeHtml(String(child));
  return 'markup' in child ? child.markup : child.map(written).join('');
}

/** For text between tags and between quotes. Control characters that HTML forbids are left out. */
export function escapeHtml(text: string): string {
  return (
    text
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed.
      .replace(/[\u0000-\u0008\u000B\u000C\u000E-\u001F]/g, '')
      .replace(/&/g, '&amp;')
      .replace(/</g, '&lt;')
      .replace(/>/g, '&gt;')
      .replace(/"/g, '&quot;')
      .replace(/'/g, '&#39;')
  );
}

/**
 * JSON that may stand in a script element. A `<` inside a string could end the element or open a comment, so it is written
 * as an escape, which JSON allows in strings; outside of strings JSON has none.
 */
export function scriptJson(value: unknown): Markup {
  return trusted(
    JSON.stringify(value)
      .replace(/</g, '\\u003c')
      .replace(/\u2028/g, '\\u2028')
      .replace(/\u2029/g, '\\u2029'),
  );
}
