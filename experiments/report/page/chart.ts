import type { TopLevelSpec } from 'vega-lite';
import { html, type Markup, trusted } from './html.ts';

// Okabe and Ito's colours, which people with any colour vision can tell apart.
export const palette = {
  blue: '#0072b2',
  vermillion: '#d55e00',
  green: '#009e73',
  pink: '#cc79a7',
  amber: '#e69f00',
  sky: '#56b4e9',
  purple: '#7a5fc0',
  grey: '#767676',
} as const;

const { vermillion, blue, pink, amber, sky, purple } = palette;
const seriesColours = [vermillion, blue, pink, amber, sky, purple];

export const ink = '#1d1d1f';
export const quiet = '#555555';
const grid = '#e4e4e0';
export const paper = '#ffffff';

/** Width of a plot in pixels: with its axis it fits on a phone, where text stays as large as it is here. Desks enlarge it. */
export const plotWidth = 250;

const textSize = 12;
const titled = { labelFontSize: textSize, titleFontSize: textSize, titleFontWeight: 'normal', labelLimit: 320 };

/** The style of every chart. */
const look = {
  background: paper,
  padding: 4,
  config: {
    font: 'system-ui, sans-serif',
    view: { stroke: null },
    axis: { ...titled, gridColor: grid, domainColor: quiet, tickColor: quiet, labelColor: quiet, titleColor: ink },
    legend: { ...titled, labelColor: ink, titleColor: ink, symbolBaseFillColor: quiet, orient: 'top', columns: 2 },
    title: { color: ink, fontSize: 13, fontWeight: 600, anchor: 'start' },
    header: { ...titled, labelColor: ink, titleColor: ink },
    text: { color: ink },
  },
} as const;

/** The colours of charts that follow the page into the dark, by the variable of the style sheet. */
const themed: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.entries(palette).map(([name, colour]) => [colour, `--${name}`])),
  [ink]: '--ink',
  [quiet]: '--quiet',
  [grid]: '--grid',
  [paper]: '--paper',
};

/** Of Vega-Lite, which reports what it does not know when a chart is drawn. */
export type Spec = Readonly<Record<string, unknown>>;

/** A channel of a chart that shows numbers. */
export const quantity = (field: string, options: Spec = {}) => ({ field, type: 'quantitative', ...options });
export const category = (field: string, options: Spec = {}) => ({ field, type: 'nominal', ...options });
/** Names in an order. */
export const ordered = (field: string, options: Spec = {}) => ({ field, type: 'ordinal', ...options });

/** Names with the colours of their places; beyond six they begin again. */
export function series(field: string, names: readonly string[], options: Spec = {}) {
  const range = names.map((_, place) => seriesColours[place % seriesColours.length]);
  return category(field, { title: null, sort: null, ...options, scale: { domain: names, range } });
}

/** A layer without names: other marks tell what it shows. */
export const silent = (type: string, encoding: Spec, mark: Spec = {}) => ({
  mark: { type, aria: false, ...mark },
  encoding,
});

/** A layer whose marks are explained under the pointer: the field `details`, a fact per line. */
export const told = (type: string, encoding: Spec, mark: Spec = {}) => ({
  mark: { type, ...mark },
  encoding: { ...encoding, description: category('details') },
});

/** Filled points, which are explained. */
export const dots = (encoding: Spec, mark: Spec) => told('point', encoding, { filled: true, opacity: 1, ...mark });

/** A chart of a page. */
export interface Chart {
  /** Name of its file, without the ending; letters, digits and hyphens. */
  readonly name: string;
  readonly title: string;
  /** The content in words, for screen readers. */
  readonly label: string;
  /** How to read it. */
  readonly caption: string;
  readonly spec: Spec;
}

export interface DrawnChart extends Omit<Chart, 'spec'> {
  readonly svg: string;
}

declare module 'vega' {
  export const textMetrics: { width: (item: { fontSize?: number }, text: unknown) => number };
}

/** Of a letter, by the size of its font: Vega knows no fonts, and would leave room for far wider ones. */
const letterWidth = 0.57;

/** Draws a chart as SVG, without a browser. */
export async function draw({ spec, ...chart }: Chart): Promise<DrawnChart> {
  // Loaded here, because every command and every process of a sweep would wait for it otherwise.
  const [{ parse, textMetrics, View }, { compile }] = await Promise.all([import('vega'), import('vega-lite')]);
  textMetrics.width = (item, text) => letterWidth * (item.fontSize ?? textSize) * String(text ?? '').length;
  const isOfSeveral = 'facet' in spec || 'vconcat' in spec;
  const whole = chartable({ ...look, ...(isOfSeveral ? {} : { width: plotWidth }), ...spec });
  const view = new View(parse(compile(whole as unknown as TopLevelSpec).spec), { renderer: 'none' });
  try {
    return { ...chart, svg: `${withTitles(await view.toSVG())}\n` };
  } finally {
    view.finalize();
  }
}

/** Vega keeps names in plain objects, and would take a class called `constructor` for what every object has: an invisible sign tells them apart. */
function chartable(value: unknown): unknown {
  if (typeof value === 'string') return value in Object.prototype ? `\u2060${value}` : value;
  if (Array.isArray(value)) return value.map(chartable);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, chartable(part)]));
}

/** Turns Vega's labels of marks into titles, which browsers show under the pointer. */
function withTitles(svg: string): string {
  return svg.replace(
    /<path aria-label="([^"]*)" role="graphics-symbol"([^>]*)\/>/g,
    '<path$2><title>$1</title></path>',
  );
}

/** A chart in a page, with what stands above and below it. */
export function figure(chart: DrawnChart): Markup {
  const { name, title, label, caption } = chart;
  return html`<figure id="chart-${name}">
<h3>${title}</h3>
<div class="canvas" role="img" aria-label="${label}">${trusted(inlineSvg(chart))}</div>
<figcaption>${caption}</figcaption>
</figure>`;
}

/**
 * An SVG as it may stand in HTML: without names of XML, which are addresses; with ids of its own, for those of several charts
 * would clash; and with colours of the page.
 */
export function inlineSvg({ name, svg }: Pick<DrawnChart, 'name' | 'svg'>): string {
  return svg
    .trim()
    .replace(/ xmlns(:xlink)?="[^"]*"/g, '')
    .replace(/ id="([^"]*)"/g, ` id="${name}-$1"`)
    .replace(/url\(#([^)]*)\)/g, `url(#${name}-$1)`)
    .replace(/ xlink:href="#/g, ` href="#${name}-`)
    .replace(/ (fill|stroke)="(#[0-9a-fA-F]{6})"/g, (whole, attribute, colour) => {
      const variable = themed[colour.toLowerCase()];
      return variable === undefined ? whole : ` ${attribute}="var(${variable}, ${colour})"`;
    })
    .replace('<svg ', '<svg aria-hidden="true" focusable="false" ');
}
