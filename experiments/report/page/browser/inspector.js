/**
 * The list of threads with search, filters and orders, and the thread that is chosen.
 * @param {HTMLElement} home
 * @param {InspectorData} data
 * @param {Choice} pageChoice what the whole page is about
 */
function startInspector(home, data, pageChoice) {
  if (data.views.length === 0) return;
  let view = data.views[0];
  /** Index of the agent that the lists are about. */
  let lead = 0;
  /** @type {InspectedThread | null} */
  let chosen = null;
  /** @type {InspectedThread[]} */
  let listed = [];

  const seedNumbers = [...new Set(data.views.map(({ seed }) => seed))];
  const search = element('input', { type: 'search', placeholder: 'words or an id', autocomplete: 'off' });
  const outcome = choice('Show', [
    ['all', 'all threads'],
    ['wrong', 'mistakes of the agent'],
    ['right', 'right answers'],
    ['differ', 'systems differ'],
  ]);
  const label = choice('Label', [
    ['all', 'any label'],
    ...data.labels.map((name, index) => /** @type {[string, string]} */ ([String(index), name])),
  ]);
  const events = [...new Set(data.threads.flatMap(({ event }) => (event === null ? [] : [event])))].sort();
  const event = choice('Event', [
    ['all', 'any event'],
    ...events.map((name) => /** @type {[string, string]} */ ([name, name])),
  ]);
  const order = choice('Sort', [
    ['mistake', 'surest mistakes first'],
    ['disagreement', 'most disagreement first'],
    ['early', 'earliest stop first'],
    ['late', 'latest stop first'],
    ['long', 'longest first'],
    ['data', 'as in the data'],
  ]);
  const count = element('output', { 'aria-live': 'polite' });
  const list = element('ol', { class: 'list', 'aria-label': 'Threads' });
  const detail = element('div', { class: 'detail' });
  const controls = element(
    'form',
    { class: 'controls', role: 'search', 'aria-label': 'Threads' },
    element('label', { class: 'wide' }, element('span', {}, 'Search'), search),
    outcome.labelled,
    label.labelled,
    events.length > 1 && event.labelled,
    order.labelled,
    count,
  );
  home.append(
    controls,
    element(
      'p',
      { class: 'hint' },
      `Keys: ↑ ↓ in the list, j and k for the next and the previous thread, ${seedNumbers.length > 1 ? 's for the next seed, ' : ''}/ to search.`,
    ),
    element('div', { class: 'panes' }, list, detail),
  );

  /** @type {Map<ShownThread, string>} */
  const searched = new Map();
  /** @param {ShownThread} thread */
  const wordsOf = (thread) => {
    const known =
      searched.get(thread) ?? [thread.id, thread.event ?? '', ...(thread.texts ?? [])].join('\n').toLowerCase();
    searched.set(thread, known);
    return known;
  };

  /** @param {InspectedThread} row */
  const isShown = (row) => {
    const thread = data.threads[row.thread];
    const isRight = row.answers[lead] === thread.gold;
    if (outcome.select.value === 'wrong' && isRight) return false;
    if (outcome.select.value === 'right' && !isRight) return false;
    if (outcome.select.value === 'differ' && row.disagreements[lead] === 0) return false;
    if (label.select.value !== 'all' && thread.gold !== Number(label.select.value)) return false;
    if (event.select.value !== 'all' && thread.event !== event.select.value) return false;
    return search.value.trim() === '' || wordsOf(thread).includes(search.value.trim().toLowerCase());
  };

  /** @type {Record<string, (a: InspectedThread, b: InspectedThread) => number>} */
  const orders = {
    mistake: (a, b) => b.mistakes[lead] - a.mistakes[lead],
    disagreement: (a, b) => b.disagreements[lead] - a.disagreements[lead],
    early: (a, b) => a.stops[lead] - b.stops[lead],
    late: (a, b) => b.stops[lead] - a.stops[lead],
    long: (a, b) => data.threads[b.thread].posts - data.threads[a.thread].posts,
    data: () => 0,
  };

  const refresh = () => {
    listed = view.rows.filter(isShown).sort(orders[order.select.value]);
    const ofSeed = seedNumbers.length > 1 ? `, seed ${view.seed}` : '';
    count.textContent = `${listed.length.toLocaleString('en')} of ${counted(view.rows.length, 'thread')}${ofSeed}`;
    list.replaceChildren(...listed.map((row) => element('li', {}, threadButton(row))));
    if (chosen === null || !listed.includes(chosen)) choose(listed[0] ?? null);
    else markChosen();
  };

  /** @param {InspectedThread} row */
  const threadButton = (row) => {
    const thread = data.threads[row.thread];
    const isRight = row.answers[lead] === thread.gold;
    const button = element(
      'button',
      { type: 'button', tabindex: -1, class: isRight ? 'right' : 'wrong' },
      element('span', { class: 'mark' }, isRight ? '✓' : '✗'),
      element('span', { class: 'claim', dir: 'auto' }, thread.texts?.[0].slice(0, 120) || thread.id),
      element(
        'span',
        { class: 'where' },
        `${isRight ? 'right' : 'wrong'}, stops at ${row.stops[lead] + 1} of ${thread.posts}`,
      ),
    );
    button.addEventListener('click', () => choose(row));
    return button;
  };

  const buttons = () => [...list.querySelectorAll('button')];
  const markChosen = () => {
    const place = chosen === null ? -1 : listed.indexOf(chosen);
    for (const [index, button] of buttons().entries()) {
      button.tabIndex = index === Math.max(0, place) ? 0 : -1;
      if (index === place) button.setAttribute('aria-current', 'true');
      else button.removeAttribute('aria-current');
    }
  };

  /** @param {InspectedThread | null} row */
  const choose = (row) => {
    chosen = row;
    draw();
    markChosen();
    const button = row === null ? undefined : buttons()[listed.indexOf(row)];
    // Only the list scrolls, not the page.
    if (button !== undefined) {
      const { offsetTop, offsetHeight } = button;
      if (offsetTop < list.scrollTop || offsetTop + offsetHeight > list.scrollTop + list.clientHeight)
        list.scrollTop = offsetTop - list.clientHeight / 3;
    }
  };

  const draw = () => {
    const width = Math.max(280, Math.floor(detail.clientWidth) - 2);
    detail.replaceChildren(
      chosen === null
        ? element('p', { class: 'absent' }, 'No thread is like that.')
        : threadView({ data, view, row: chosen, lead, width }),
    );
    detail.scrollTop = 0;
  };

  /**
   * Shows another view, and in it the thread that was chosen, where it has it.
   * @param {InspectorView} next
   * @param {number} [agent]
   */
  const show = (next, agent = 0) => {
    if (next === view && agent === lead) return;
    view = next;
    lead = agent;
    const thread = chosen?.thread;
    chosen = view.rows.find((row) => row.thread === thread) ?? null;
    refresh();
    if (chosen !== null) choose(chosen);
  };

  /** @param {number} step @param {boolean} isFocused */
  const move = (step, isFocused) => {
    if (listed.length === 0) return;
    const place = chosen === null ? 0 : listed.indexOf(chosen) + step;
    choose(listed[Math.min(Math.max(0, place), listed.length - 1)]);
    if (isFocused) buttons()[listed.indexOf(/** @type {InspectedThread} */ (chosen))].focus();
  };

  list.addEventListener('keydown', (pressed) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -listed.length, End: listed.length }[
      pressed.key
    ];
    if (step === undefined) return;
    pressed.preventDefault();
    move(step, true);
  });
  home.addEventListener('keydown', (pressed) => {
    const isTyping = pressed.target instanceof HTMLInputElement || pressed.target instanceof HTMLSelectElement;
    if (isTyping || pressed.ctrlKey || pressed.metaKey || pressed.altKey) return;
    if (pressed.key === 'j') move(1, true);
    if (pressed.key === 'k') move(-1, true);
    if (pressed.key === 's') {
      const next = seedNumbers[(seedNumbers.indexOf(view.seed) + 1) % seedNumbers.length];
      pageChoice.choose({ seed: String(next) });
      if (chosen !== null) buttons()[listed.indexOf(chosen)].focus();
    }
    if (pressed.key !== '/') return;
    pressed.preventDefault();
    search.focus();
  });
  controls.addEventListener('submit', (sent) => sent.preventDefault());
  controls.addEventListener('input', refresh);

  /** Follows what the page is about: of all seeds the first is listed. */
  const followChoice = () => {
    const { agent, seed } = pageChoice.chosen();
    const own = data.views.filter((each) => seed === 'all' || String(each.seed) === seed);
    const isOf = (/** @type {InspectorView} */ { systems }) => agentPlace(systems, agent) >= 0;
    const next = own.find(isOf) ?? own[0];
    if (next !== undefined) show(next, Math.max(0, agentPlace(next.systems, agent)));
  };
  pageChoice.onChange(followChoice);

  const followAddress = () => {
    const named = new URLSearchParams(location.hash.slice(1));
    const id = named.get('thread');
    if (id === null) return;
    const isNamed = (/** @type {InspectedThread} */ { thread }) => data.threads[thread].id === id;
    const inSeed = data.views.filter(({ seed }) => String(seed) === named.get('seed'));
    const place = [...inSeed, view, ...data.views].find(({ rows }) => rows.some(isNamed));
    const row = place?.rows.find(isNamed);
    if (place === undefined || row === undefined) return;
    pageChoice.choose({ seed: String(place.seed), agent: named.get('agent') ?? undefined });
    if (!listed.includes(row)) {
      search.value = '';
      for (const { select } of [outcome, label, event]) select.value = 'all';
      refresh();
    }
    choose(row);
    home.scrollIntoView();
    detail.querySelector('h3')?.focus({ preventScroll: true });
  };
  addEventListener('hashchange', followAddress);
  let drawnWidth = 0;
  new ResizeObserver(() => {
    if (Math.abs(detail.clientWidth - drawnWidth) < 8) return;
    drawnWidth = detail.clientWidth;
    draw();
  }).observe(detail);

  refresh();
  followChoice();
  followAddress();
}

/**
 * The place of an agent among systems: the only one has no name of its own.
 * @param {InspectorView['systems']} systems
 * @param {string} agent
 */
function agentPlace(systems, agent) {
  const agents = systems.filter(({ kind }) => kind === 'agent');
  return agents.length === 1 && agents[0].name === 'stop agent' ? 0 : agents.findIndex(({ name }) => name === agent);
}
