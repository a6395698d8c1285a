/**
 * One thread: what is known of it, its chart, who decides where, its posts and debates.
 * @param {{ data: InspectorData, view: InspectorView, row: InspectedThread, lead: number, width: number }} shown
 */
function threadView({ data, view, row, lead, width }) {
  const thread = data.threads[row.thread];
  const { labels } = data;
  const answer = row.answers[lead];
  const isRight = answer === thread.gold;
  const facts = [
    data.views.some(({ seed }) => seed !== view.seed) ? `seed ${view.seed}` : null,
    `is ${labelName(labels, thread.gold)}`,
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
      { class: 'facts' },
      facts.filter((fact) => fact !== null).join(' · '),
      ' ',
      element(
        'span',
        { class: isRight ? 'badge right' : 'badge wrong' },
        isRight ? 'answered right' : `answered ${labelName(labels, answer)}: wrong`,
      ),
    ),
    threadChart({ view, row, labels, width }),
    chartLegend(view, labels, row),
    ...row.debates.map((debate) => debateView(debate, labels)),
    postList({ data, view, row, lead, thread }),
  );
}

/** @param {InspectorView} view @param {readonly string[]} labels @param {InspectedThread} row */
function chartLegend(view, labels, row) {
  const agents = view.systems.flatMap(({ name, kind }, system) =>
    kind === 'agent'
      ? [
          element(
            'span',
            { class: `key line series-${system}` },
            `π(stop) of ${name}${row.stopProbability[system] === null ? ' (not kept)' : ''}`,
          ),
        ]
      : [],
  );
  const judgements = labels.map((label, index) =>
    element('span', { class: `key square label-${index}` }, `detector says ${label}`),
  );
  return element(
    'p',
    { class: 'keys' },
    ...agents,
    ...judgements,
    element('span', { class: 'key' }, '▴ an expert stops: CE conservative, EAE early action, ME misleading'),
  );
}

/** @param {InspectedThread['debates'][number]} debate @param {readonly string[]} labels */
function debateView({ posts, answer, turns, explanation }, labels) {
  return element(
    'details',
    { class: 'debate' },
    element('summary', {}, `What was said of the first ${counted(posts, 'post')}: ${labelName(labels, answer)}`),
    ...turns.flatMap(({ role, text }) => [element('h4', {}, role), element('p', { class: 'said' }, text)]),
    explanation === '' ? null : element('p', {}, element('b', {}, 'Explanation: '), explanation),
  );
}

/** @param {{ data: InspectorData, view: InspectorView, row: InspectedThread, lead: number, thread: ShownThread }} shown */
function postList({ data, view, row, lead, thread }) {
  const shown = row.predicted.length;
  const items = row.predicted.map((label, post) => postItem({ data, view, row, lead, thread, label, post }));
  const rest = thread.posts - shown;
  if (rest > 0)
    items.push(
      element('li', { class: 'rest' }, `${counted(rest, 'further post')} not shown. ${laterStops(view, row, shown)}`),
    );
  return element('ol', { class: 'posts' }, ...items);
}

/** @param {InspectorView} view @param {InspectedThread} row @param {number} shown */
function laterStops(view, row, shown) {
  const later = view.systems.flatMap(({ name }, system) =>
    row.stops[system] >= shown ? [`${name} at post ${row.stops[system] + 1}`] : [],
  );
  return later.length === 0 ? '' : `There decide: ${later.join(', ')}.`;
}

/** @param {{ data: InspectorData, view: InspectorView, row: InspectedThread, lead: number, thread: ShownThread, label: number, post: number }} shown */
function postItem({ data, view, row, lead, thread, label, post }) {
  const { labels } = data;
  const confidence = row.confidence[post] ?? null;
  const hours = thread.hours[post] ?? null;
  const text = thread.texts?.[post];
  const agents = view.systems.flatMap(({ name, kind }, system) =>
    kind === 'agent' && row.stops[system] === post
      ? [
          element(
            'span',
            { class: `tag agent series-${system}` },
            `${name} stops and answers ${labelName(labels, row.answers[system])} ${row.answers[system] === thread.gold ? '✓' : '✗'}`,
          ),
        ]
      : [],
  );
  const experts = Object.entries(expertNames).flatMap(([expert, name]) =>
    row.experts[/** @type {keyof InspectedThread['experts']} */ (expert)] === post
      ? [element('span', { class: 'tag' }, `${name} would stop`)]
      : [],
  );
  const rules = view.systems.flatMap(({ name, kind }, system) =>
    kind !== 'agent' && row.stops[system] === post ? [name] : [],
  );
  const probabilities = row.stopProbability.flatMap((own, agent) =>
    own === null ? [] : [element('span', { class: `probability series-${agent}` }, `π(stop) ${own[post].toFixed(2)}`)],
  );
  return element(
    'li',
    { class: post > row.stops[lead] ? 'after' : null },
    element(
      'p',
      { class: 'meta' },
      element('b', {}, post === 0 ? 'claim' : `post ${post + 1}`),
      hours !== null && post > 0 && element('span', {}, shownHours(hours)),
      element(
        'span',
        { class: `judged ${label < 0 ? 'unread' : `label-${label}`}` },
        `${labelName(labels, label)}${confidence === null ? '' : ` ${confidence.toFixed(2)}`}`,
      ),
      ...probabilities,
    ),
    // Without a script between them, left to right and right to left scripts keep to themselves.
    text === undefined
      ? element('p', { class: 'absent' }, 'text not available')
      : element('p', { class: 'text', dir: 'auto' }, text),
    agents.length + experts.length + rules.length > 0 &&
      element('p', { class: 'tags' }, ...agents, ...experts, rulesHere(rules)),
  );
}

/** Many rules may stop at one post, so their names are folded. @param {readonly string[]} rules */
function rulesHere(rules) {
  if (rules.length === 0) return null;
  const names = rules.join(' · ');
  if (rules.length <= 2)
    return element('span', { class: 'tag rules' }, `${names} ${rules.length === 1 ? 'stops' : 'stop'}`);
  return element('details', { class: 'rules' }, element('summary', {}, `${rules.length} rules stop`), names);
}
