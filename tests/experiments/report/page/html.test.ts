import { describe, expect, it } from 'vitest';
import { escapeHtml, html, scriptJson, trusted } from '../../../../experiments/report/page/html.ts';

const hostile = `</script><script>alert('x')</script> "quoted" & <!-- \u0001`;

describe('html', () => {
  it('escapes text between tags and between quotes, and leaves markup alone', () => {
    const made = html`<p title="${hostile}">${hostile}${trusted('<b>own</b>')}${null}${[html`<i>${1}</i>`, 'a<b']}</p>`;
    expect(made.markup).toBe(`<p title="${escapeHtml(hostile)}">${escapeHtml(hostile)}<b>own</b><i>1</i>a&lt;b</p>`);
    expect(escapeHtml(hostile)).toBe(
      '&lt;/script&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &quot;quoted&quot; &amp; &lt;!-- ',
    );
  });
});

describe('scriptJson', () => {
  it('holds nothing that could end its element or its line, and reads back as what it was', () => {
    const value = { text: `${hostile}\u2028\u2029`, list: ['<!--', '<script'] };
    const { markup } = scriptJson(value);
    expect(markup).not.toMatch(/[<\u2028\u2029]/);
    expect(JSON.parse(markup)).toEqual(value);
  });
});
