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

/** Of the agents, in their order. No chart gives them another meaning. */
export const seriesColours = [
  palette.vermillion,
  palette.blue,
  palette.pink,
  palette.amber,
  palette.sky,
  palette.purple,
] as const;

/** Of a series by its place; beyond six they begin anew. */
export function seriesColour(_: unknown, place: number): string {
  return seriesColours[place % seriesColours.length];
}

/** Of decisions. */
export const outcomeColours = { right: palette.green, wrong: '#4a4a4a' } as const;

export const ink = '#1d1d1f';
export const quiet = '#555555';
const grid = '#e4e4e0';
export const paper = '#ffffff';

/** What every chart looks like. */
export const look = {
  background: paper,
  padding: 6,
  config: {
    font: 'system-ui, sans-serif',
    view: { stroke: null },
    axis: {
      grid: true,
      gridColor: grid,
      domainColor: quiet,
      tickColor: quiet,
      labelColor: quiet,
      titleColor: ink,
      titleFontWeight: 'normal',
      labelFontSize: 11,
      labelLimit: 320,
      titleFontSize: 12,
    },
    legend: {
      labelColor: ink,
      titleColor: ink,
      labelFontSize: 12,
      titleFontSize: 12,
      titleFontWeight: 'normal',
      labelLimit: 320,
      symbolBaseFillColor: quiet,
    },
    title: { color: ink, fontSize: 13, fontWeight: 600, anchor: 'start' },
    header: { labelColor: ink, titleColor: ink, labelFontSize: 12, titleFontSize: 12 },
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
  [outcomeColours.wrong]: '--wrong-bar',
};

/** Of Vega-Lite, which says what it does not know when a chart is drawn. */
export type Spec = Readonly<Record<string, unknown>>;

/** What a channel of a chart shows: numbers, or names. */
export const quantity = (field: string, options: Spec = {}) => ({ field, type: 'quantitative', ...options });
export const category = (field: string, options: Spec = {}) => ({ field, type: 'nominal', ...options });
/** Names in an order. */
export const ordered = (field: string, options: Spec = {}) => ({ field, type: 'ordinal', ...options });

/** What is said of a mark under the pointer or the arrow keys, a fact a line. */
export const details = category('details');

/** A layer that is not read out: other marks say what it shows. */
export const silent = (type: string, encoding: Spec, mark: Spec = {}) => ({
  mark: { type, aria: false, ...mark },
  encoding,
});

/** A layer whose marks are read out. */
export const told = (type: string, encoding: Spec, mark: Spec = {}) => ({
  mark: { type, ...mark },
  encoding: { ...encoding, description: details },
});

/** Filled points, which are read out. */
export const dots = (encoding: Spec, mark: Spec) => told('point', encoding, { filled: true, opacity: 1, ...mark });

/** A chart of a page. */
export interface Chart {
  /** Name of its file, without the ending; letters, digits and hyphens. */
  readonly name: string;
  /** What it shows, for those who do not see it. */
  readonly label: string;
  readonly spec: Spec;
}

export interface DrawnChart extends Omit<Chart, 'spec'> {
  readonly svg: string;
}

/** Draws a chart as SVG, without a browser. */
export async function draw({ spec, ...chart }: Chart): Promise<DrawnChart> {
  // Loaded here, because every command and every process of a sweep would wait for it otherwise.
  const [{ parse, View }, { compile }] = await Promise.all([import('vega'), import('vega-lite')]);
  const view = new View(parse(compile({ ...look, ...spec } as unknown as TopLevelSpec).spec), { renderer: 'none' });
  try {
    return { ...chart, svg: `${await view.toSVG()}\n` };
  } finally {
    view.finalize();
  }
}

/** Draws one chart after another, for all share one processor. */
export async function drawAll(charts: readonly Chart[]): Promise<DrawnChart[]> {
  const drawn: DrawnChart[] = [];
  for (const chart of charts) drawn.push(await draw(chart));
  return drawn;
}

/** The charts as files. */
export function picturesOf(charts: readonly DrawnChart[]): Record<string, string> {
  return Object.fromEntries(charts.map(({ name, svg }) => [`${name}.svg`, svg]));
}

/** A chart in a page, with what stands below it. Its marks can be walked through by the arrow keys. */
export function figure(chart: DrawnChart, caption: Markup | string | null = null): Markup {
  return html`<figure class="chart" id="chart-${chart.name}">
<div class="canvas" tabindex="0" role="group" aria-roledescription="chart" aria-label="${chart.label}">${trusted(inlineSvg(chart))}</div>
${caption === null ? null : html`<figcaption>${caption}</figcaption>`}
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
