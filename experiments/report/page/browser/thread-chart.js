/**
 * The score of every agent over the posts with its threshold, the detector's judgements below, and where agents and experts stop.
 * @param {{ view: InspectorView, row: InspectedThread, data: Pick<InspectorData, 'labels' | 'alerts'>, width: number }} shown
 */
function threadChart({ view, row, data: { labels, alerts }, width }) {
  const posts = row.predicted.length;
  const [left, right, rise, strip] = [34, 12, 120, 16];
  const column = (width - left - right) / posts;
  /** The middle of a post's column. @param {number} post */
  const x = (post) => left + column * (post + 0.5);
  const names = stopNames({ view, row, posts, width, x });
  const top = 14 + 13 * Math.max(1, ...names.map(({ line }) => line + 1));
  const bottom = top + rise;
  const height = bottom + strip + 46;
  /** @param {number} share */
  const y = (share) => bottom - share * rise;
  /** @param {number} at @param {number} place @param {string} content @param {Record<string, string>} [attributes] */
  const text = (at, place, content, attributes = {}) =>
    svgElement('text', { x: at, y: place, 'text-anchor': anchor(at, width), ...attributes }, content);
  const every = Math.max(1, Math.ceil(posts / (width / 44)));
  return svgElement(
    'svg',
    {
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      class: 'thread-chart',
      role: 'img',
      'aria-label': `Score over ${posts} posts. ${summaryOf(view, row, labels)}`,
    },
    ...[0, 0.5, 1].flatMap((share) => [
      svgElement('line', { x1: left, x2: width - right, y1: y(share), y2: y(share), class: 'grid' }),
      text(left - 6, y(share) + 4, String(share), { 'text-anchor': 'end' }),
    ]),
    ...row.thresholds.map((threshold, agent) =>
      svgElement('path', {
        d: stretches(row.predicted.map((label) => alerts === null || alerts.includes(label)))
          .map(([from, to]) => `M${x(from) - column / 2},${y(threshold)}H${x(to) + column / 2}`)
          .join(''),
        class: 'threshold',
        style: seriesColour(agent),
      }),
    ),
    ...row.predicted.map((label, post) =>
      svgElement('rect', {
        x: x(post) - column / 2,
        y: bottom + 6,
        width: Math.max(1, column - (column > 4 ? 1 : 0)),
        height: strip,
        style: labelColour(label),
        'fill-opacity': strength(row.confidence[post], labels.length),
      }),
    ),
    ...row.stopProbability.flatMap((own, agent) => {
      if (own === null) return [];
      const path = own.map((share, post) => `${post === 0 ? 'M' : 'L'}${x(post).toFixed(1)},${y(share).toFixed(1)}`);
      const dots = own.map((share, post) =>
        svgElement('circle', { cx: x(post), cy: y(share), r: post === row.stops[agent] ? 5 : 2.5 }),
      );
      const line = svgElement('path', { d: path.join(''), fill: 'none' });
      return [
        svgElement('g', { class: 'probability', style: seriesColour(agent) }, line, ...(own.length <= 60 ? dots : [])),
      ];
    }),
    ...names.flatMap(({ system, name, at, line }) => [
      svgElement('line', {
        x1: at,
        x2: at,
        y1: top - 6,
        y2: bottom + 6 + strip,
        class: 'stop',
        style: seriesColour(system),
      }),
      text(at, top - 9 - 13 * line, name, { class: 'stop-name' }),
    ]),
    ...expertStops(row, posts).map(({ stop, letters }) => text(x(stop), bottom + strip + 20, `▴${letters}`)),
    ...row.predicted.flatMap((_, post) =>
      post % every === 0 ? [text(x(post), height - 8, String(post + 1), { 'text-anchor': 'middle' })] : [],
    ),
  );
}

const experts = [
  { key: /** @type {const} */ ('conservative'), letters: 'CE', name: 'conservative expert' },
  { key: /** @type {const} */ ('earlyAction'), letters: 'EAE', name: 'early-action expert' },
  { key: /** @type {const} */ ('misleading'), letters: 'ME', name: 'misleading expert' },
];

/** The posts at which experts stop, each once, with the letters of all that do. @param {InspectedThread} row @param {number} posts */
function expertStops(row, posts) {
  const { experts: places } = row;
  if (places === undefined) return [];
  const stops = [...new Set(experts.map(({ key }) => places[key]))];
  return stops.flatMap((stop) => {
    if (stop === null || stop >= posts) return [];
    const own = experts.filter(({ key }) => places[key] === stop);
    return [{ stop, letters: own.map(({ letters }) => letters).join(' ') }];
  });
}

/** The first and the last place of each run of true. @param {readonly boolean[]} values @returns {[number, number][]} */
function stretches(values) {
  /** @type {[number, number][]} */
  const found = [];
  for (const [place, value] of values.entries()) {
    const last = found.at(-1);
    if (value && last !== undefined && last[1] === place - 1) last[1] = place;
    else if (value) found.push([place, place]);
  }
  return found;
}

/** Confident judgements are strong, a coin is pale. @param {number | null | undefined} confidence @param {number} labels */
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
      kind === 'agent' && row.stops[system] < posts ? [{ system, name, at: x(row.stops[system]) }] : [],
    )
    .sort((a, b) => a.at - b.at)
    .map((own) => {
      // About what a letter takes at this size.
      const size = 6.8 * own.name.length;
      const start = own.at - { start: 0, middle: size / 2, end: size }[anchor(own.at, width)];
      const free = ends.findIndex((end) => end <= start);
      const line = free < 0 ? ends.length : free;
      ends[line] = start + size + 8;
      return { ...own, line };
    });
}

/** @param {InspectorView} view @param {InspectedThread} row @param {readonly string[]} labels */
function summaryOf(view, row, labels) {
  return view.systems
    .flatMap(({ name, kind }, system) =>
      kind === 'agent'
        ? [
            `${name} stops at post ${row.stops[system] + 1} and predicts ${labelName(labels, row.answers[system])}; its threshold is ${shownScore(row.thresholds[system])}`,
          ]
        : [],
    )
    .join('; ');
}

/** @param {readonly string[]} labels @param {number} label */
function labelName(labels, label) {
  return labels[label] ?? 'nothing readable';
}
