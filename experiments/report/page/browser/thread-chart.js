/**
 * The stop probability of every agent over the posts, the detector's judgements below it, and where agents and experts stop.
 * @param {{ view: InspectorView, row: InspectedThread, labels: readonly string[], width: number }} shown
 */
function threadChart({ view, row, labels, width }) {
  const posts = row.predicted.length;
  const sides = { left: 34, right: 12 };
  /** The middle of a post's column. @param {number} post */
  const x = (post) => sides.left + ((width - sides.left - sides.right) * (post + 0.5)) / posts;
  const names = stopNames({ view, row, posts, width, x });
  const room = { ...sides, top: 14 + 12 * Math.max(1, ...names.map(({ line }) => line + 1)), height: 120, strip: 16 };
  const bottom = room.top + room.height;
  const height = bottom + room.strip + 46;
  const column = (width - room.left - room.right) / posts;
  /** @param {number} share */
  const y = (share) => bottom - share * room.height;
  const probabilities = row.stopProbability.flatMap((own, agent) =>
    own === null ? [] : [drawnProbability({ own, agent, x, y, last: row.stops[agent] })],
  );
  const strip = row.predicted.map((label, post) =>
    svgElement('rect', {
      x: x(post) - column / 2,
      y: bottom + 6,
      width: Math.max(1, column - (column > 4 ? 1 : 0)),
      height: room.strip,
      class: label < 0 ? 'unread' : `label-${label}`,
      'fill-opacity': strength(row.confidence[post], labels.length),
    }),
  );
  const stops = names.flatMap(({ system, name, at, line }) => [
    svgElement('line', {
      x1: at,
      x2: at,
      y1: room.top - 6,
      y2: bottom + 6 + room.strip,
      class: `stop series-${system}`,
    }),
    svgElement(
      'text',
      { x: at, y: room.top - 9 - 12 * line, class: 'stop-name', 'text-anchor': anchor(at, width) },
      name,
    ),
  ]);
  const experts = Object.entries(expertLetters).flatMap(([expert, letters]) => {
    const stop = row.experts[/** @type {keyof InspectedThread['experts']} */ (expert)];
    if (stop === null || stop >= posts) return [];
    return [
      svgElement(
        'text',
        { x: x(stop), y: bottom + room.strip + 20, class: 'expert', 'text-anchor': anchor(x(stop), width) },
        `▴${letters}`,
      ),
    ];
  });
  const every = Math.max(1, Math.ceil(posts / (width / 44)));
  const numbers = row.predicted.flatMap((_, post) =>
    post % every === 0
      ? [svgElement('text', { x: x(post), y: height - 8, class: 'tick', 'text-anchor': 'middle' }, String(post + 1))]
      : [],
  );
  return svgElement(
    'svg',
    {
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      class: 'thread-chart',
      role: 'img',
      'aria-label': `Stop probability over ${posts} posts. ${summaryOf(view, row, labels)}`,
    },
    ...[0, 0.5, 1].flatMap((share) => [
      svgElement('line', {
        x1: room.left,
        x2: width - room.right,
        y1: y(share),
        y2: y(share),
        class: share === 0.5 ? 'threshold' : 'grid',
      }),
      svgElement('text', { x: room.left - 6, y: y(share) + 4, class: 'tick', 'text-anchor': 'end' }, String(share)),
    ]),
    ...strip,
    ...probabilities,
    ...stops,
    ...mergedExperts(experts),
    ...numbers,
  );
}

/** Experts that stop at the same post stand beside each other, not on one another. @param {Element[]} texts */
function mergedExperts(texts) {
  /** @type {Map<string, Element>} */
  const byPlace = new Map();
  for (const text of texts) {
    const place = text.getAttribute('x') ?? '';
    const first = byPlace.get(place);
    if (first === undefined) byPlace.set(place, text);
    else first.textContent += ` ${text.textContent?.replace('▴', '')}`;
  }
  return [...byPlace.values()];
}

const expertLetters = { conservative: 'CE', earlyAction: 'EAE', misleading: 'ME' };
const expertNames = {
  conservative: 'conservative expert',
  earlyAction: 'early-action expert',
  misleading: 'misleading expert',
};

/** @param {{ own: readonly number[], agent: number, x: (post: number) => number, y: (share: number) => number, last: number }} line */
function drawnProbability({ own, agent, x, y, last }) {
  const path = own
    .map((share, post) => `${post === 0 ? 'M' : 'L'}${x(post).toFixed(1)},${y(share).toFixed(1)}`)
    .join('');
  const stop = Math.min(last, own.length - 1);
  return svgElement(
    'g',
    { class: `probability series-${agent}` },
    svgElement('path', { d: path, fill: 'none' }),
    ...(own.length <= 60
      ? own.map((share, post) => svgElement('circle', { cx: x(post), cy: y(share), r: post === stop ? 5 : 2.5 }))
      : []),
  );
}

/** Sure judgements are strong, a coin is pale. @param {number | null | undefined} confidence @param {number} labels */
function strength(confidence, labels) {
  if (confidence === null || confidence === undefined) return 0.6;
  const chance = 1 / labels;
  return (0.2 + 0.8 * Math.max(0, (confidence - chance) / (1 - chance))).toFixed(2);
}

/** @param {number} at @param {number} width @returns {'start' | 'middle' | 'end'} */
function anchor(at, width) {
  if (at < 70) return 'start';
  return at > width - 70 ? 'end' : 'middle';
}

/**
 * Where the names of the agents stand above their stops: in as many lines as it takes for none to cover another.
 * @param {{ view: InspectorView, row: InspectedThread, posts: number, width: number, x: (post: number) => number }} shown
 */
function stopNames({ view, row, posts, width, x }) {
  /** @type {number[]} */
  const ends = [];
  return view.systems
    .flatMap(({ name, kind }, system) =>
      kind === 'agent' && row.stops[system] < posts
        ? [{ system, name: shortName(name, view), at: x(row.stops[system]) }]
        : [],
    )
    .sort((a, b) => a.at - b.at)
    .map((own) => {
      // About what a letter takes at this size.
      const size = 6.3 * own.name.length;
      const start = own.at - { start: 0, middle: size / 2, end: size }[anchor(own.at, width)];
      const free = ends.findIndex((end) => end <= start);
      const line = free < 0 ? ends.length : free;
      ends[line] = start + size + 8;
      return { ...own, line };
    });
}

/** What tells the agents of a view apart. @param {string} name @param {InspectorView} view */
function shortName(name, view) {
  const agents = view.systems.filter(({ kind }) => kind === 'agent').length;
  return agents === 1 ? name : name.replace(/^[^:]*: /, '');
}

/** @param {InspectorView} view @param {InspectedThread} row @param {readonly string[]} labels */
function summaryOf(view, row, labels) {
  return view.systems
    .flatMap(({ name, kind }, system) =>
      kind === 'agent'
        ? [`${name} stops at post ${row.stops[system] + 1} and answers ${labelName(labels, row.answers[system])}`]
        : [],
    )
    .join('; ');
}

/** @param {readonly string[]} labels @param {number} label */
function labelName(labels, label) {
  return labels[label] ?? 'nothing readable';
}
