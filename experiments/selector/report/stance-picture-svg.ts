import type { StancePanel, StancePicture } from './stance-picture.ts';

// Okabe and Ito's colours, which people with any colour vision can tell apart. Yellow comes last: it is pale on white.
const COLOURS = ['#0072B2', '#D55E00', '#009E73', '#CC79A7', '#E69F00', '#56B4E9', '#000000', '#F0E442'];

// Shapes repeat the colours for grey prints: centred paths of about equal area, 8 to 11 pixels wide.
const SHAPES = [
  'M-4.5,0a4.5,4.5 0 1,0 9,0a4.5,4.5 0 1,0 -9,0z',
  'M-4,-4h8v8h-8z',
  'M0,-6.2L5.6,3.6H-5.6z',
  'M0,-5.6L5.6,0L0,5.6L-5.6,0z',
  'M0,6.2L5.6,-3.6H-5.6z',
];

const MARKS_AT_FULL_SIZE = 300;
const WIDTH = 1200;
const MARGIN = 32;
const PANEL = { width: 552, height: 440, top: 96, padding: 20 };
const LEGEND_ROW = 26;
// At 15 pixels in DejaVu Sans, the widest of the fonts that a machine may fall back to.
const CHARACTER_WIDTH = 8.9;

/**
 * A self-contained SVG of two panels on the same axes: every annotated post, and the retained ones, with the discarded ones in
 * grey behind them. Posts whose stance is known to be wrong are hollow.
 */
export function stancePictureSvg(picture: StancePicture): string {
  const panels = [
    { title: 'All annotated posts', panel: picture.annotated, points: picture.points ?? [], behind: [] },
    {
      title: 'Retained posts',
      panel: picture.retained,
      points: (picture.points ?? []).filter(({ isRetained }) => isRetained),
      behind: (picture.points ?? []).filter(({ isRetained }) => !isRetained),
    },
  ];
  const columns = legendColumns(panels.map(({ panel }) => panel));
  const legendHeight = Math.ceil(picture.annotated.classes.length / columns) * LEGEND_ROW;
  const height = PANEL.top + PANEL.height + legendHeight + 132;
  const place = placing(picture.points ?? []);
  // Marks shrink as posts grow in number, alike in both panels.
  const scale = Math.max(0.5, Math.min(1, Math.sqrt(MARKS_AT_FULL_SIZE / (picture.points?.length || 1))));
  const drawn = panels.map(({ title, panel, points, behind }, index) => {
    const marks = points.map(({ x, y, ...post }) => ({ ...place({ x, y }), ...post }));
    return panelSvg({
      title,
      panel,
      marks,
      discarded: behind.map(place),
      scale,
      columns,
      reason: picture.reason,
      left: MARGIN + index * (WIDTH - 2 * MARGIN - PANEL.width),
    });
  });
  const notes = footnotes(picture).map(
    (note, index) =>
      `<text x="${MARGIN}" y="${height - 58 + index * 20}" font-size="14" fill="#555">${escapeXml(note)}</text>`,
  );
  const title = 'Stances before and after selection';
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" role="img" font-family="Helvetica, Arial, 'Liberation Sans', sans-serif" font-size="16" fill="#222">
<title>${escapeXml(title)}</title>
<rect width="100%" height="100%" fill="#fff"/>
<text x="${MARGIN}" y="42" font-size="24" font-weight="bold">${escapeXml(title)}</text>
${drawn.join('\n')}
${notes.join('\n')}
</svg>
`;
}

function panelSvg(options: {
  title: string;
  panel: StancePanel;
  marks: readonly { x: number; y: number; stance: string; isRight: boolean | null }[];
  discarded: readonly { x: number; y: number }[];
  scale: number;
  columns: number;
  reason: string | null;
  left: number;
}): string {
  const { title, panel, marks, discarded, scale, columns, reason, left } = options;
  const stances = panel.classes.map(({ stance }) => stance);
  const total = panel.classes.reduce((sum, { posts }) => sum + posts, 0);
  const legendTop = PANEL.height + 28;
  const legend = panel.classes.map((entry, index) => {
    const x = (index % columns) * (PANEL.width / columns) + 8;
    const y = legendTop + Math.floor(index / columns) * LEGEND_ROW;
    return `${mark({ x, y: y - 5, kind: index, scale: 1, isHollow: false })}<text x="${x + 12}" y="${y}" font-size="15">${escapeXml(legendText(entry))}</text>`;
  });
  const empty = reason ?? (marks.length === 0 ? 'no posts' : null);
  const silhouetteTop = legendTop + Math.ceil(stances.length / columns) * LEGEND_ROW;
  return `<g transform="translate(${left},${PANEL.top})">
<text x="0" y="-14" font-size="18" font-weight="bold">${escapeXml(title)} (${total.toLocaleString('en')})</text>
<rect width="${PANEL.width}" height="${PANEL.height}" fill="none" stroke="#999"/>
${discarded.map(({ x, y }) => `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="${(3.2 * scale).toFixed(2)}" fill="#c9c9c9"/>`).join('\n')}
${marks.map(({ x, y, stance, isRight }) => mark({ x, y, kind: stances.indexOf(stance), scale, isHollow: isRight === false })).join('\n')}
${empty === null ? '' : `<text x="${PANEL.width / 2}" y="${PANEL.height / 2}" text-anchor="middle" fill="#555">${escapeXml(empty)}</text>`}
${legend.join('\n')}
<text x="0" y="${silhouetteTop}">Mean silhouette by stance: <tspan font-weight="bold">${score(panel.silhouette)}</tspan></text>
</g>`;
}

function mark(options: { x: number; y: number; kind: number; scale: number; isHollow: boolean }): string {
  const { x, y, kind, scale, isHollow } = options;
  const shape = SHAPES[kind % SHAPES.length];
  const colour = COLOURS[kind % COLOURS.length];
  const paint = isHollow
    ? `fill="#fff" fill-opacity="0.6" stroke="${colour}" stroke-width="1.75"`
    : `fill="${colour}" fill-opacity="0.8" stroke="#fff" stroke-width="0.75"`;
  return `<path transform="translate(${x.toFixed(1)},${y.toFixed(1)}) scale(${scale.toFixed(2)})" d="${shape}" ${paint}/>`;
}

/** One scale for both directions, since neither axis of a projection means anything by itself. */
function placing(points: readonly { x: number; y: number }[]): (point: { x: number; y: number }) => {
  x: number;
  y: number;
} {
  const range = (values: readonly number[]) => ({ low: Math.min(...values), high: Math.max(...values) });
  const xs = range(points.map(({ x }) => x));
  const ys = range(points.map(({ y }) => y));
  const room = { x: PANEL.width - 2 * PANEL.padding, y: PANEL.height - 2 * PANEL.padding };
  // Points in one place have no extent; any finite scale puts them in the middle.
  const scale = Math.min(room.x / (xs.high - xs.low || 1), room.y / (ys.high - ys.low || 1));
  return ({ x, y }) => ({
    x: PANEL.width / 2 + (x - (xs.low + xs.high) / 2) * scale,
    y: PANEL.height / 2 - (y - (ys.low + ys.high) / 2) * scale,
  });
}

/** As many columns as the longest entry of either panel allows, but no more than balanced rows need. */
function legendColumns(panels: readonly StancePanel[]): number {
  const entries = panels.flatMap(({ classes }) => classes.map((entry) => legendText(entry).length));
  const fitting = Math.max(1, Math.floor(PANEL.width / (Math.max(...entries, 1) * CHARACTER_WIDTH + 24)));
  const classes = Math.max(1, entries.length / panels.length);
  return Math.ceil(classes / Math.ceil(classes / fitting));
}

function legendText({ stance, posts }: StancePanel['classes'][number]): string {
  return `${stance}: ${posts.toLocaleString('en')}`;
}

function score(silhouette: number | null): string {
  return silhouette === null ? 'undefined' : silhouette.toFixed(2).replace('-', '−');
}

function footnotes({ annotated, seed, points }: StancePicture): string[] {
  const sum = (key: 'posts' | 'shownPosts') =>
    annotated.classes.reduce((total, entry) => total + entry[key], 0).toLocaleString('en');
  const known = (points ?? []).filter(({ isRight }) => isRight !== null);
  const wrong = known.filter(({ isRight }) => isRight === false).length;
  return [
    ...(known.length === 0
      ? []
      : [
          `Hollow: the stance is wrong by the labels of the data, which the selector does not see (${wrong.toLocaleString('en')} of ${known.length.toLocaleString('en')}). Grey: discarded.`,
        ]),
    `Texts embedded: “post [SEP] stance [SEP] reason”. ${sum('shownPosts')} of ${sum('posts')} posts drawn (seed ${seed}), in one UMAP projection for both panels.`,
    'Silhouettes are of the posts drawn, by cosine distance between embeddings: 1 apart, 0 mixed, below 0 nearer to another stance.',
  ];
}

function escapeXml(text: string): string {
  return (
    text
      // biome-ignore lint/suspicious/noControlCharactersInRegex: XML 1.0 has no way to write these, escaped or not.
      .replace(/[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]/g, '')
      .replace(/\p{Surrogate}/gu, '\uFFFD')
      .replace(/&/g, '&amp;')
      .replace(/</g, '&lt;')
      .replace(/>/g, '&gt;')
      .replace(/"/g, '&quot;')
      .replace(/'/g, '&apos;')
  );
}
