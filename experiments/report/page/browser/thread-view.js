/**
 * One thread: what is known of it, its chart, who decides where, its posts and debates.
 * @param {{ data: InspectorData, view: InspectorView, row: InspectedThread, lead: number, width: number }} shown
 */
function threadView({ data, view, row, lead, width }) {
  const thread = data.threads[row.thread];
  const { labels } = data;
  const isRight = row.answers[lead] === thread.gold;
  const facts = [
    data.views.some(({ seed }) => seed !== view.seed) ? `seed ${view.seed}` : null,
    thread.event === null ? null : `event ${thread.event}`,
    counted(thread.posts, 'post'),
    thread.time === null ? null : thread.time.replace('T', ' ').slice(0, 16),
  ];
  return element(
    'article',
    { 'aria-label': `Thread ${thread.id}` },
    element('h3', { tabindex: -1 }, `Thread ${thread.id}`),
    element(
      'p',
      { class: 'quiet' },
      facts.filter((fact) => fact !== null).join(' · '),
      ' ',
      element(
        'span',
        { class: isRight ? 'badge right' : 'badge wrong' },
        `true ${labelName(labels, thread.gold)} / predicted ${labelName(labels, row.answers[lead])}`,
      ),
    ),
    threadChart({ view, row, data, width }),
    chartLegend(view, data, row),
    ...row.debates.map((debate) => debateView(debate, labels)),
    postList({ data, view, row, lead, thread }),
  );
}

/** The paper's word where an agent imitates its experts. @param {InspectedThread} row */
function scoreName({ experts }) {
  return experts === undefined ? 'score' : 'π(stop)';
}

/** @param {InspectorView} view @param {Pick<InspectorData, 'labels' | 'alerts'>} data @param {InspectedThread} row */
function chartLegend(view, { labels, alerts }, row) {
  return element(
    'p',
    { class: 'quiet' },
    ...view.systems.flatMap(({ name, kind }, system) => {
      if (kind !== 'agent') return [];
      const missing = row.stopProbability[system] === null ? ' (not kept)' : '';
      return [
        element('span', { class: 'key line', style: seriesColour(system) }, `${scoreName(row)} of ${name}${missing}`),
        element(
          'span',
          { class: 'key dashed', style: seriesColour(system) },
          `its threshold ${shownScore(row.thresholds[system])}${alerts === null ? '' : ', where the prediction raises an alert'}`,
        ),
      ];
    }),
    ...labels.map((label, index) =>
      element('span', { class: 'key judged', style: labelColour(index) }, `detector: ${label}`),
    ),
    row.experts !== undefined &&
      element('span', { class: 'key' }, '▴ an expert stops: CE conservative, EAE early action, ME misleading'),
  );
}

/** @param {{ data: InspectorData, view: InspectorView, row: InspectedThread, lead: number, thread: ShownThread }} shown */
function postList({ data, view, row, lead, thread }) {
  const shown = row.predicted.length;
  const items = row.predicted.map((label, post) => postItem({ data, view, row, lead, thread, label, post }));
  const rest = thread.posts - shown;
  if (rest > 0) {
    const later = view.systems.flatMap(({ name }, system) =>
      row.stops[system] >= shown ? [`${name} at post ${row.stops[system] + 1}`] : [],
    );
    const deciding = later.length === 0 ? '' : ` There decide: ${later.join(', ')}.`;
    items.push(element('li', { class: 'absent' }, `${counted(rest, 'further post')} not shown.${deciding}`));
  }
  return element('ol', { class: 'posts' }, ...items);
}

/** @param {{ data: InspectorData, view: InspectorView, row: InspectedThread, lead: number, thread: ShownThread, label: number, post: number }} shown */
function postItem({ data, view, row, lead, thread, label, post }) {
  const { labels } = data;
  const confidence = row.confidence[post] ?? null;
  const hours = thread.hours[post] ?? null;
  const text = thread.texts?.[post];
  const here = view.systems.flatMap((system, index) => (row.stops[index] === post ? [{ ...system, index }] : []));
  const tags = [
    ...here
      .filter(({ kind }) => kind === 'agent')
      .map(({ name, index }) => {
        const mark = row.answers[index] === thread.gold ? '✓' : '✗';
        const prediction = labelName(labels, row.answers[index]);
        return element(
          'span',
          { class: 'tag agent', style: seriesColour(index) },
          `${name} stops and predicts ${prediction} ${mark}`,
        );
      }),
    ...experts.flatMap(({ key, name }) =>
      row.experts?.[key] === post ? [element('span', { class: 'tag' }, `${name} would stop`)] : [],
    ),
    ...rulesHere(here.flatMap(({ name, kind }) => (kind === 'agent' ? [] : [name]))),
  ];
  return element(
    'li',
    { class: post > row.stops[lead] ? 'after' : null },
    element(
      'p',
      { class: 'meta' },
      element('b', {}, post === 0 ? 'first post' : `post ${post + 1}`),
      hours !== null && post > 0 && element('span', {}, shownHours(hours)),
      element(
        'span',
        { class: 'judged', style: labelColour(label) },
        `${labelName(labels, label)}${confidence === null ? '' : ` ${confidence.toFixed(2)}`}`,
      ),
      ...row.stopProbability.flatMap((own, agent) =>
        own === null
          ? []
          : [
              element(
                'span',
                { class: 'key line', style: seriesColour(agent) },
                `${scoreName(row)} ${shownScore(own[post])}`,
              ),
            ],
      ),
    ),
    // In elements of their own, left to right and right to left scripts do not mix.
    element('p', { class: text === undefined ? 'absent' : 'text', dir: 'auto' }, text ?? 'text not available'),
    tags.length > 0 && element('p', { class: 'tags' }, ...tags),
  );
}

/** Many rules may stop at one post, so their names are folded. @param {readonly string[]} rules */
function rulesHere(rules) {
  if (rules.length === 0) return [];
  const names = rules.join(' · ');
  return rules.length <= 2
    ? [element('span', { class: 'tag' }, `${names} ${rules.length === 1 ? 'stops' : 'stop'}`)]
    : [element('details', {}, element('summary', {}, `${rules.length} rules stop`), names)];
}
