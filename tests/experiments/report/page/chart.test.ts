import { describe, expect, it } from 'vitest';
import { draw, inlineSvg } from '../../../../experiments/report/page/chart.ts';
import { shareTable } from '../../../../experiments/selector/report/selector-pages.ts';

describe('inlineSvg', () => {
  it('has no address, no id of another chart, and the colours of the page', async () => {
    const { svg } = await draw({
      name: 'one',
      ...{ title: '', label: 'two bars', caption: '' },
      spec: {
        data: { values: [{ a: 'x', b: 1 }] },
        mark: { type: 'bar', color: '#0072b2', clip: true },
        encoding: {
          x: { field: 'a', type: 'nominal' },
          y: { field: 'b', type: 'quantitative' },
          description: { value: '<b> & "quotes"' },
        },
      },
    });
    expect(svg).toContain('xmlns=');
    const inline = inlineSvg({ name: 'one', svg });
    expect(inline).not.toMatch(/https?:|xmlns/);
    expect(inline).toContain('fill="var(--blue, #0072b2)"');
    // What a browser shows under the pointer.
    expect(inline).toContain('<title>&lt;b&gt; &amp; &quot;quotes&quot;</title></path>');
    for (const [, id] of inline.matchAll(/ id="([^"]*)"/g)) expect(id).toMatch(/^one-/);
    for (const [, id] of inline.matchAll(/url\(#([^)]*)\)/g)) expect(inline).toContain(` id="${id}"`);
    expect(inline).toContain('url(#one-');
  });
});

describe('shareTable', () => {
  it('counts every class among all items of a kind and among the retained ones', () => {
    const item = (label: string, retained: boolean) => ({
      kind: 'post' as const,
      threadId: 't',
      postId: 'p',
      label,
      labelledBy: 'machine' as const,
      confidence: 1,
      retainProbability: 0.5,
      retained,
      right: null,
      explanation: '',
    });
    const items = [item('deny', true), item('deny', false), item('query', false), item('query', false)];
    expect(shareTable(items, { kind: 'post', what: 'stance' })).toEqual({
      heading: ['stance of posts', 'shown', 'retained'],
      rows: [
        ['deny', '2 (50%)', '1 (100%)'],
        ['query', '2 (50%)', '0 (0%)'],
        ['all', '4', '1 (25%)'],
      ],
    });
    expect(shareTable(items, { kind: 'claim', what: 'veracity' }).rows).toEqual([['all', '0', '0 (0%)']]);
  });
});
