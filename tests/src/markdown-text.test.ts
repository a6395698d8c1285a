import { describe, expect, it } from 'vitest';
import { markdownText, withoutHtml } from '../../src/markdown-text.ts';

describe('markdownText', () => {
  it.each([
    ['a|b', 'a\\|b'],
    ['<img src=x onerror=alert(1)>', '&lt;img src=x onerror=alert(1)>'],
    ['&lt;', '&amp;lt;'],
    ['Ruhe & Ordnung', 'Ruhe & Ordnung'],
    ['__proto__', '\\_\\_proto\\_\\_'],
    ['not_escalated', 'not_escalated'],
    ['*hot* `code`', '\\*hot\\* \\`code\\`'],
    ['`<b>`', '\\`&lt;b>\\`'],
    ['[here](javascript:alert)', '[here\\](javascript:alert)'],
    ['+0.004 [−0.015, +0.029]', '+0.004 [−0.015, +0.029]'],
    ['two\r\nlines', 'two lines'],
    ['\\|', '\\\\\\|'],
  ])('shows %j as it is', (text, markdown) => {
    expect(markdownText(text)).toBe(markdown);
  });
});

it('leaves the marks and the code of a paragraph', () => {
  expect(withoutHtml('**best** of `earshot report <run>`, not <b>')).toBe(
    '**best** of `earshot report <run>`, not &lt;b>',
  );
  expect(withoutHtml('always __proto__, in `__init__.py`')).toBe('always \\_\\_proto\\_\\_, in `__init__.py`');
});
