/**
 * The list of threads with search, filters and orders, and the thread that is chosen.
 * @param {HTMLElement} home
 * @param {InspectorData} data
 */
function startInspector(home, data) {
  if (data.views.length === 0) return;
  let view = data.views[0];
  /** Index of the agent that the lists are about. */
  let lead = 0;
  /** @type {InspectedThread | null} */
  let chosen = null;
  /** @type {InspectedThread[]} */
  let listed = [];

  /** @type {Record<string, (row: InspectedThread) => boolean>} */
  const outcomes = {
    'all threads': () => true,
    'mistakes of the agent': (row) => !isRight(row),
    'right predictions': (row) => isRight(row),
    'systems differ': (row) => row.disagreements[lead] > 0,
  };
  /** @type {Record<string, (a: InspectedThread, b: InspectedThread) => number>} */
  const orders = {
    'most confident mistakes first': (a, b) => b.mistakes[lead] - a.mistakes[lead],
    'most disagreement first': (a, b) => b.disagreements[lead] - a.disagreements[lead],
    'earliest stop first': (a, b) => a.stops[lead] - b.stops[lead],
    'latest stop first': (a, b) => b.stops[lead] - a.stops[lead],
    'longest first': (a, b) => data.threads[b.thread].posts - data.threads[a.thread].posts,
    'as in the data': () => 0,
  };
  const agents = new Set(data.views.flatMap(({ systems }) => agentNames(systems)));
  const seeds = [...new Set(data.views.map(({ seed }) => String(seed)))];
  const events = [...new Set(data.threads.flatMap(({ event }) => (event === null ? [] : [event])))].sort();
  const { form, search, count, selects, finds } = filters('Threads', {
    agent: ['Agent', Object.fromEntries([...agents].map((name) => [name, name]))],
    seed: ['Seed', Object.fromEntries(seeds.map((seed) => [seed, seed]))],
    outcome: ['Show', namedBy(outcomes)],
    label: ['Label', anyOf('any label', data.labels)],
    event: ['Event', anyOf('any event', events.length > 1 ? events : [])],
    order: ['Sort', namedBy(orders)],
  });
  const list = element('ol', { class: 'list', 'aria-label': 'Threads' });
  const detail = element('div', { class: 'detail' });
  const nextSeed = seeds.length > 1 ? 's for the next seed, ' : '';
  const keys = `Keys: ↑ ↓ in the list, j and k for the next and the previous thread, ${nextSeed}/ to search.`;
  home.append(form, element('p', { class: 'hint' }, keys), element('div', { class: 'panes' }, list, detail));

  /** @param {InspectedThread} row */
  const isRight = (row) => row.answers[lead] === data.threads[row.thread].gold;

  /** @param {InspectedThread} row */
  const isShown = (row) => {
    const { id, event, gold, texts } = data.threads[row.thread];
    return (
      outcomes[selects.outcome.value](row) &&
      isWithin(selects.label, data.labels[gold]) &&
      isWithin(selects.event, event) &&
      finds([id, event ?? '', ...(texts ?? [])].join('\n'))
    );
  };

  /** Lists the threads again. The one that was open stays open where it is still listed. */
  const refresh = () => {
    const { agent, seed } = selects;
    const ofSeed = data.views.filter((own) => String(own.seed) === seed.value);
    view = ofSeed.find(({ systems }) => agentNames(systems).includes(agent.value)) ?? ofSeed[0];
    lead = Math.max(0, agentNames(view.systems).indexOf(agent.value));
    const open = chosen?.thread;
    listed = view.rows.filter(isShown).sort(orders[selects.order.value]);
    const where = seeds.length > 1 ? `, seed ${view.seed}` : '';
    count.textContent = `${listed.length.toLocaleString('en')} of ${counted(view.rows.length, 'thread')}${where}`;
    list.replaceChildren(...listed.map((row) => element('li', {}, threadButton(row))));
    choose(listed.find(({ thread }) => thread === open) ?? listed[0] ?? null);
  };

  /** @param {InspectedThread} row */
  const threadButton = (row) => {
    const { texts, id, posts } = data.threads[row.thread];
    const [kind, mark] = isRight(row) ? ['right', '✓'] : ['wrong', '✗'];
    const button = element(
      'button',
      { type: 'button', tabindex: -1, class: kind },
      element('span', { class: 'mark' }, mark),
      element('span', { class: 'claim', dir: 'auto' }, texts?.[0].slice(0, 120) || id),
      element('span', { class: 'quiet' }, `${kind}, stops at ${row.stops[lead] + 1} of ${posts}`),
    );
    button.addEventListener('click', () => choose(row));
    return button;
  };

  const buttons = () => [...list.querySelectorAll('button')];

  /** @param {InspectedThread | null} row */
  const choose = (row) => {
    chosen = row;
    draw();
    const place = row === null ? -1 : listed.indexOf(row);
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
        : threadView({ data, view, row: chosen, lead, width });
    detail.replaceChildren(shown);
    detail.scrollTop = 0;
  };

  /** @param {number} step */
  const move = (step) => {
    if (listed.length === 0) return;
    const place = chosen === null ? 0 : listed.indexOf(chosen) + step;
    const next = Math.min(Math.max(0, place), listed.length - 1);
    choose(listed[next]);
    buttons()[next].focus();
  };

  list.addEventListener('keydown', (pressed) => {
    const { length } = listed;
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -length, End: length }[pressed.key];
    if (step === undefined) return;
    pressed.preventDefault();
    move(step);
  });
  home.addEventListener('keydown', (pressed) => {
    const isTyping = pressed.target instanceof HTMLInputElement || pressed.target instanceof HTMLSelectElement;
    if (isTyping || pressed.ctrlKey || pressed.metaKey || pressed.altKey) return;
    if (pressed.key === 'j') move(1);
    if (pressed.key === 'k') move(-1);
    if (pressed.key === 's') {
      selects.seed.value = seeds[(seeds.indexOf(selects.seed.value) + 1) % seeds.length];
      refresh();
      move(0);
    }
    if (pressed.key !== '/') return;
    pressed.preventDefault();
    search.focus();
  });
  form.addEventListener('input', refresh);
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
