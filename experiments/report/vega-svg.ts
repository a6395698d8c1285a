import type { TopLevelSpec } from 'vega-lite';

/**
 * Draws a Vega-Lite chart as SVG, without a browser. The same specification is interactive in a page that loads Vega.
 */
export async function chartSvg(spec: TopLevelSpec): Promise<string> {
  // Loaded here, because every command and every process of a sweep would wait for it otherwise.
  const [{ parse, View }, { compile }] = await Promise.all([import('vega'), import('vega-lite')]);
  const view = new View(parse(compile(spec).spec), { renderer: 'none' });
  try {
    return `${await view.toSVG()}\n`;
  } finally {
    view.finalize();
  }
}
