/** How many items are shown at first, and with every further step. */
const itemsAtOnce = 60;

/**
 * What a selector was shown, retained or discarded, with the reasons: searched, filtered, sorted.
 * @param {HTMLElement} home
 * @param {readonly ListedItem[]} items
 */
function startItems(home, items) {
  const search = element('input', { type: 'search', placeholder: 'words or an id', autocomplete: 'off' });
  const kind = choice('Kind', [
    ['post', 'posts'],
    ['claim', 'claims'],
  ]);
  const fate = choice('Show', [
    ['all', 'all'],
    ['retained', 'retained'],
    ['discarded', 'discarded'],
    ['wrong', 'wrong labels'],
    ['wrong-retained', 'wrong labels retained'],
  ]);
  const labels = [...new Set(items.map(({ label }) => label))].sort();
  const label = choice('Label', [
    ['all', 'any label'],
    ...labels.map((name) => /** @type {[string, string]} */ ([name, name])),
  ]);
  const order = choice('Sort', [
    ['probability', 'most likely retained first'],
    ['improbability', 'least likely first'],
    ['confidence', 'surest label first'],
    ['data', 'as shown to the selector'],
  ]);
  const count = element('output', { 'aria-live': 'polite' });
  const list = element('ol', { class: 'items', 'aria-label': 'Items' });
  const more = element('button', { type: 'button', class: 'more' }, 'Show more');
  const controls = element(
    'form',
    { class: 'controls', role: 'search', 'aria-label': 'Items' },
    kind.labelled,
    element('label', { class: 'wide' }, element('span', {}, 'Search'), search),
    fate.labelled,
    label.labelled,
    order.labelled,
    count,
  );
  home.append(controls, list, more);

  /** @type {ListedItem[]} */
  let found = [];
  let shown = 0;
  const showMore = () => {
    list.append(...found.slice(shown, shown + itemsAtOnce).map(itemView));
    shown = Math.min(found.length, shown + itemsAtOnce);
    more.hidden = shown === found.length;
  };
  /** @type {Record<string, (item: ListedItem) => boolean>} */
  const fates = {
    all: () => true,
    retained: ({ retained }) => retained,
    discarded: ({ retained }) => !retained,
    wrong: ({ right }) => right === false,
    'wrong-retained': ({ right, retained }) => right === false && retained,
  };
  /** @type {Record<string, (a: ListedItem, b: ListedItem) => number>} */
  const orders = {
    probability: (a, b) => b.retainProbability - a.retainProbability,
    improbability: (a, b) => a.retainProbability - b.retainProbability,
    confidence: (a, b) => b.confidence - a.confidence,
    data: () => 0,
  };
  const refresh = () => {
    const words = search.value.trim().toLowerCase();
    const own = items.filter((item) => item.kind === kind.select.value);
    found = own
      .filter(fates[fate.select.value])
      .filter((item) => label.select.value === 'all' || item.label === label.select.value)
      .filter((item) => words === '' || `${item.id}\n${item.text ?? ''}\n${item.reason}`.toLowerCase().includes(words))
      .sort(orders[order.select.value]);
    count.textContent = `${found.length.toLocaleString('en')} of ${counted(own.length, kind.select.value)}`;
    list.replaceChildren();
    shown = 0;
    showMore();
  };
  controls.addEventListener('submit', (sent) => sent.preventDefault());
  controls.addEventListener('input', refresh);
  more.addEventListener('click', showMore);
  refresh();
}

/** @param {ListedItem} item */
function itemView({ id, text, label, labelledBy, confidence, retainProbability, retained, right, reason }) {
  const told = labelledBy === 'human' ? `${label}, by people` : `${label} ${confidence.toFixed(2)}`;
  return element(
    'li',
    { class: retained ? 'retained' : 'discarded' },
    element(
      'p',
      { class: 'meta' },
      element('b', {}, retained ? 'retained' : 'discarded'),
      element('span', {}, `π(retain) ${retainProbability.toFixed(2)}`),
      element('span', {}, told),
      right !== null &&
        element('span', { class: right ? 'badge right' : 'badge wrong' }, right ? 'label right' : 'label wrong'),
      element('span', { class: 'id' }, id),
    ),
    text === null
      ? element('p', { class: 'absent' }, 'text not available')
      : element('p', { class: 'text', dir: 'auto' }, text),
    reason !== '' && element('p', { class: 'reason' }, `Reason: ${reason}`),
  );
}
