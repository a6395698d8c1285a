/** How many items are shown at first, and with every further step. */
const itemsAtOnce = 60;

/** @type {Record<string, (item: ListedItem) => boolean>} */
const fates = {
  all: () => true,
  retained: ({ retained }) => retained,
  discarded: ({ retained }) => !retained,
  'wrong labels': ({ right }) => right === false,
  'wrong labels retained': ({ right, retained }) => right === false && retained,
};

/** @type {Record<string, (a: ListedItem, b: ListedItem) => number>} */
const itemOrders = {
  'most likely retained first': (a, b) => b.retainProbability - a.retainProbability,
  'least likely first': (a, b) => a.retainProbability - b.retainProbability,
  'most confident label first': (a, b) => b.confidence - a.confidence,
  'as shown to the selector': () => 0,
};

/**
 * What a selector was shown, retained or discarded, with the reasons: searched, filtered, sorted.
 * @param {HTMLElement} home
 * @param {readonly ListedItem[]} items
 */
function startItems(home, items) {
  const labels = [...new Set(items.map(({ label }) => label))].sort();
  const { form, count, selects, finds } = filters('Items', {
    kind: ['Kind', { post: 'posts', claim: 'claims' }],
    fate: ['Show', namedBy(fates)],
    label: ['Label', anyOf('any label', labels)],
    order: ['Sort', namedBy(itemOrders)],
  });
  const list = element('ol', { class: 'posts', 'aria-label': 'Items' });
  const more = element('button', { type: 'button', class: 'more' }, 'Show more');
  home.append(form, list, more);

  /** @type {ListedItem[]} */
  let listed = [];
  const showMore = () => {
    const shown = list.children.length;
    list.append(...listed.slice(shown, shown + itemsAtOnce).map(itemView));
    more.hidden = list.children.length === listed.length;
  };
  const refresh = () => {
    const own = items.filter((item) => item.kind === selects.kind.value);
    listed = own
      .filter(fates[selects.fate.value])
      .filter((item) => isWithin(selects.label, item.label))
      .filter((item) => finds(`${item.id}\n${item.text ?? ''}\n${item.explanation}`))
      .sort(itemOrders[selects.order.value]);
    count.textContent = `${listed.length.toLocaleString('en')} of ${counted(own.length, selects.kind.value)}`;
    list.replaceChildren();
    showMore();
  };
  form.addEventListener('input', refresh);
  more.addEventListener('click', showMore);
  refresh();
}

/** @param {ListedItem} item */
function itemView({ id, text, label, labelledBy, confidence, retainProbability, retained, right, explanation }) {
  const fate = retained ? 'retained' : 'discarded';
  const labelled = labelledBy === 'human' ? `${label}, gold` : `${label} ${confidence.toFixed(2)}`;
  return element(
    'li',
    { class: fate },
    meta(
      fate,
      element('span', {}, `π(retain) ${retainProbability.toFixed(2)}`),
      element('span', {}, labelled),
      right !== null && badge(right, right ? 'label right' : 'label wrong'),
      element('span', {}, id),
    ),
    textOf(text ?? undefined),
    explanation !== '' && element('p', { class: 'quiet' }, `Reason: ${explanation}`),
  );
}
