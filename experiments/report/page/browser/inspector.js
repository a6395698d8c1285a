/**
 * The list of threads with search, filters and orders, and the thread that is chosen.
 * @param {HTMLElement} home
 * @param {InspectorData} data
 */
function startInspector(home, data) {
  if (data.views.length === 0) return;
  /** A thread as the lists show it of each agent. */
  const rows = data.views.flatMap((view) =>
    agentNames(view.systems).flatMap((agent, lead) => view.rows.map((row) => ({ view, row, agent, lead }))),
  );
  /** @typedef {(typeof rows)[number]} Row */
  /** @type {Row | null} */
  let chosen = null;
  /** @type {readonly Row[]} */
  let listed = [];
  const agents = [...new Set(rows.map(({ agent }) => agent))];
  const seeds = [...new Set(data.views.map(({ seed }) => String(seed)))];
  const events = [...new Set(data.threads.flatMap(({ event }) => (event === null ? [] : [event])))].sort();
  const list = element('ol', { class: 'list', 'aria-label': 'Threads' });
  const detail = element('div', { class: 'detail' });

  /** @param {Row} of */
  const threadOf = ({ row }) => data.threads[row.thread];
  /** @param {Row} of */
  const isRight = (of) => of.row.answers[of.lead] === threadOf(of).gold;

  const { form, refresh } = listing({
    what: 'thread',
    rows,
    choices: {
      Agent: eachOf(agents, ({ agent }) => agent),
      Seed: eachOf(seeds, ({ view }) => String(view.seed)),
      Show: [
        ['all threads', () => true],
        ['mistakes of the agent', (of) => !isRight(of)],
        ['right predictions', isRight],
        ['systems differ', ({ row, lead }) => row.disagreements[lead] > 0],
      ],
      Label: anyOf('any label', data.labels, (of) => data.labels[threadOf(of).gold]),
      Event: anyOf('any event', events.length > 1 ? events : [], (of) => threadOf(of).event),
    },
    orders: [
      ['most confident mistakes first', (a, b) => b.row.mistakes[b.lead] - a.row.mistakes[a.lead]],
      ['most disagreement first', (a, b) => b.row.disagreements[b.lead] - a.row.disagreements[a.lead]],
      ['earliest stop first', (a, b) => a.row.stops[a.lead] - b.row.stops[b.lead]],
      ['latest stop first', (a, b) => b.row.stops[b.lead] - a.row.stops[a.lead]],
      ['longest first', (a, b) => threadOf(b).posts - threadOf(a).posts],
      ['as in the data', () => 0],
    ],
    textOf(of) {
      const { id, event, texts } = threadOf(of);
      return [id, event ?? '', ...(texts ?? [])].join('\n');
    },
    /** The thread that was open stays open where it is still listed. */
    show(found) {
      const open = chosen?.row.thread;
      listed = found;
      list.replaceChildren(...listed.map((of) => element('li', {}, threadButton(of))));
      choose(listed.find(({ row }) => row.thread === open) ?? listed[0] ?? null);
    },
  });
  home.append(form, element('div', { class: 'panes' }, list, detail));

  /** @param {Row} of */
  const threadButton = (of) => {
    const { texts, id, posts } = threadOf(of);
    const [kind, mark] = isRight(of) ? ['right', '✓'] : ['wrong', '✗'];
    const button = element(
      'button',
      { type: 'button', tabindex: -1, class: kind },
      element('span', { class: 'mark' }, mark),
      element('span', { class: 'claim', dir: 'auto' }, texts?.[0].slice(0, 120) || id),
      element('span', { class: 'quiet' }, `${kind}, stops at ${of.row.stops[of.lead] + 1} of ${posts}`),
    );
    button.addEventListener('click', () => choose(of));
    return button;
  };

  const buttons = () => [...list.querySelectorAll('button')];

  /** @param {Row | null} of */
  const choose = (of) => {
    chosen = of;
    draw();
    const place = of === null ? -1 : listed.indexOf(of);
    for (const [index, button] of buttons().entries()) {
      button.tabIndex = index === Math.max(0, place) ? 0 : -1;
      button.ariaCurrent = index === place ? 'true' : null;
    }
    const button = buttons()[place];
    // Only the list scrolls, not the page.
    if (button !== undefined) {
      const { offsetTop, offsetHeight } = button;
      if (offsetTop < list.scrollTop || offsetTop + offsetHeight > list.scrollTop + list.clientHeight)
        list.scrollTop = offsetTop - list.clientHeight / 3;
    }
  };

  const draw = () => {
    const width = Math.max(280, Math.floor(detail.clientWidth) - 2);
    const shown =
      chosen === null
        ? element('p', { class: 'absent' }, 'No thread is like that.')
        : threadView({ data, ...chosen, width });
    detail.replaceChildren(shown);
    detail.scrollTop = 0;
  };

  list.addEventListener('keydown', (pressed) => {
    const { length } = listed;
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -length, End: length }[pressed.key];
    if (step === undefined || chosen === null) return;
    pressed.preventDefault();
    const next = Math.min(Math.max(0, listed.indexOf(chosen) + step), length - 1);
    choose(listed[next]);
    buttons()[next].focus();
  });
  let drawnWidth = 0;
  new ResizeObserver(() => {
    if (Math.abs(detail.clientWidth - drawnWidth) < 8) return;
    drawnWidth = detail.clientWidth;
    draw();
  }).observe(detail);
  refresh();
}

/** @param {InspectorView['systems']} systems */
function agentNames(systems) {
  return systems.flatMap(({ name, kind }) => (kind === 'agent' ? [name] : []));
}
