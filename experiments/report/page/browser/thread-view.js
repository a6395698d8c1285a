/**
 * One thread: what is known of it, its chart, who decides where, its posts and debates.
 * @typedef {{ data: InspectorData, view: InspectorView, row: InspectedThread, lead: number, thread: ShownThread }} Opened
 */

/** @param {Omit<Opened, 'thread'> & { width: number }} shown */
function threadView({ width, ...shown }) {
  const { data, view, row, lead } = shown;
  const thread = data.threads[row.thread];
  const facts = [
    ...(data.views.some(({ seed }) => seed !== view.seed) ? [`seed ${view.seed}`] : []),
    ...(thread.event === null ? [] : [`event ${thread.event}`]),
    counted(thread.posts, 'post'),
    ...(thread.time === null ? [] : [thread.time.replace('T', ' ').slice(0, 16)]),
  ];
  const verdict = besideTruth(data.labels, { gold: thread.gold, answer: row.answers[lead] });
  return element(
    'article',
    { 'aria-label': `Thread ${thread.id}` },
    element('h3', {}, `Thread ${thread.id}`),
    element('p', { class: 'quiet' }, `${facts.join(' · ')} `, verdict),
    threadChart(shown, width),
    chartLegend(shown),
    ...row.debates.map((debate) => debateView(debate, data.labels)),
    postList({ ...shown, thread }),
  );
}

/** The paper's word where an agent imitates its experts. @param {InspectedThread} row */
function scoreName({ experts }) {
  return experts === undefined ? 'score' : 'π(stop)';
}

/**
 * The score of every agent over the posts with its threshold, where each stops, and the detector's judgements below.
 * @param {Omit<Opened, 'thread'>} shown
 * @param {number} width
 */
function threadChart({ view, row, data: { labels, alerts } }, width) {
  const posts = row.predicted.length;
  const [left, right, top, bottom, strip] = [34, 12, 10, 140, 16];
  const height = bottom + strip + 30;
  const column = (width - left - right) / posts;
  /** The middle of a post's column. @param {number} post */
  const x = (post) => left + column * (post + 0.5);
  /** @param {number} share */
  const y = (share) => bottom - share * (bottom - top - 10);
  /** @param {number} at @param {number} place @param {string} content @param {string} anchor */
  const text = (at, place, content, anchor) => svgElement('text', { x: at, y: place, 'text-anchor': anchor }, content);
  /** @param {number} at @param {Record<string, string>} attributes */
  const upright = (at, attributes) =>
    svgElement('line', { x1: at, x2: at, y1: top, y2: bottom + strip + 6, ...attributes });
  const every = Math.max(1, Math.ceil(posts / (width / 44)));
  const agents = agentNames(view.systems);
  const stops = agents.map((name, agent) => `${name} stops at post ${row.stops[agent] + 1}`);
  return svgElement(
    'svg',
    {
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      class: 'thread-chart',
      role: 'img',
      'aria-label': stops.join('; '),
    },
    ...[0, 0.5, 1].flatMap((share) => [
      svgElement('line', { x1: left, x2: width - right, y1: y(share), y2: y(share), class: 'grid' }),
      text(left - 6, y(share) + 4, String(share), 'end'),
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
        ...{ x: x(post) - column / 2, y: bottom + 6, width: Math.max(1, column - (column > 4 ? 1 : 0)), height: strip },
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
      const shown = own.length <= 60 ? dots : [];
      return [svgElement('g', { class: 'probability', style: seriesColour(agent) }, line, ...shown)];
    }),
    ...agents.flatMap((_, agent) =>
      row.stops[agent] < posts ? [upright(x(row.stops[agent]), { class: 'stop', style: seriesColour(agent) })] : [],
    ),
    ...row.predicted.flatMap((_, post) =>
      post % every === 0 ? [text(x(post), height - 6, String(post + 1), 'middle')] : [],
    ),
  );
}

/** The first and the last place of each run of true. @param {readonly boolean[]} values @returns {[number, number][]} */
function stretches(values) {
  /** @type {[number, number][]} */
  const runs = [];
  for (const [place, value] of values.entries()) {
    const last = runs.at(-1);
    if (value && last !== undefined && last[1] === place - 1) last[1] = place;
    else if (value) runs.push([place, place]);
  }
  return runs;
}

/** Confident judgements are strong, a coin is pale. @param {number | null | undefined} confidence @param {number} labels */
function strength(confidence, labels) {
  if (confidence === null || confidence === undefined) return 0.6;
  const chance = 1 / labels;
  return (0.2 + 0.8 * Math.max(0, (confidence - chance) / (1 - chance))).toFixed(2);
}

/** @param {Omit<Opened, 'thread'>} shown */
function chartLegend({ view, row, data: { labels, alerts } }) {
  const where = alerts === null ? '' : ', where the prediction raises an alert';
  /** @param {string} kind @param {string} style @param {string} text */
  const key = (kind, style, text) => element('span', { class: `key ${kind}`, style }, text);
  return element(
    'p',
    { class: 'quiet' },
    ...agentNames(view.systems).flatMap((name, agent) => {
      const missing = row.stopProbability[agent] === null ? ' (not kept)' : '';
      return [
        key('line', seriesColour(agent), `${scoreName(row)} of ${name}${missing}`),
        key('dashed', seriesColour(agent), `its threshold ${shownScore(row.thresholds[agent])}${where}`),
      ];
    }),
    ...labels.map((label, index) => key('judged', labelColour(index), `detector: ${label}`)),
  );
}

/** @param {Opened} shown */
function postList(shown) {
  const { view, row, thread } = shown;
  const { length } = row.predicted;
  const items = row.predicted.map((_, post) => postItem(shown, post));
  const rest = thread.posts - length;
  if (rest > 0) {
    const later = view.systems.flatMap(({ name }, system) =>
      row.stops[system] >= length ? [`${name} at post ${row.stops[system] + 1}`] : [],
    );
    const deciding = later.length === 0 ? '' : ` There decide: ${later.join(', ')}.`;
    items.push(element('li', { class: 'absent' }, `${counted(rest, 'further post')} not shown.${deciding}`));
  }
  return element('ol', { class: 'posts' }, ...items);
}

const experts = [
  { key: /** @type {const} */ ('conservative'), name: 'conservative expert' },
  { key: /** @type {const} */ ('earlyAction'), name: 'early-action expert' },
  { key: /** @type {const} */ ('misleading'), name: 'misleading expert' },
];

/** @param {Opened} shown @param {number} post */
function postItem({ data: { labels }, view, row, lead, thread }, post) {
  const label = row.predicted[post];
  const confidence = row.confidence[post] ?? null;
  const hours = thread.hours[post] ?? null;
  const text = thread.texts?.[post];
  const here = view.systems.flatMap((system, index) => (row.stops[index] === post ? [{ ...system, index }] : []));
  const rules = here.flatMap(({ name, kind }) => (kind === 'agent' ? [] : [name]));
  const tags = [
    ...here
      .filter(({ kind }) => kind === 'agent')
      .map(({ name, index }) => {
        const mark = row.answers[index] === thread.gold ? '✓' : '✗';
        const prediction = labelName(labels, row.answers[index]);
        const said = `${name} stops and predicts ${prediction} ${mark}`;
        return element('span', { class: 'tag agent', style: seriesColour(index) }, said);
      }),
    ...experts.flatMap(({ key, name }) =>
      row.experts?.[key] === post ? [element('span', { class: 'tag' }, `${name} would stop`)] : [],
    ),
    // Many rules may stop at one post, so their names are folded.
    rules.length > 0 &&
      element('details', {}, element('summary', {}, `${counted(rules.length, 'rule')} here`), rules.join(' · ')),
  ];
  const judged = `${labelName(labels, label)}${confidence === null ? '' : ` ${confidence.toFixed(2)}`}`;
  const scores = row.stopProbability.flatMap((own, agent) => {
    const score = own === null ? null : `${scoreName(row)} ${shownScore(own[post])}`;
    return score === null ? [] : [element('span', { class: 'key line', style: seriesColour(agent) }, score)];
  });
  return element(
    'li',
    { class: post > row.stops[lead] ? 'after' : null },
    meta(
      post === 0 ? 'first post' : `post ${post + 1}`,
      hours !== null && post > 0 && element('span', {}, shownHours(hours)),
      element('span', { class: 'key judged', style: labelColour(label) }, judged),
      ...scores,
    ),
    textOf(text),
    element('p', { class: 'tags' }, ...tags),
  );
}
