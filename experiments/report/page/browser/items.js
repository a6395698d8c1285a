/** How many items are shown at first, and with every further step. */
const itemsAtOnce = 60;

/**
 * What a selector was shown, retained or discarded, with the reasons: searched, filtered, sorted.
 * @param {HTMLElement} home
 * @param {readonly ListedItem[]} items
 */
function startItems(home, items) {
  const { form, count, selects, finds } = filters('Items', {
    kind: [
      'Kind',
      [
        ['post', 'posts'],
        ['claim', 'claims'],
      ],
    ],
    fate: [
      'Show',
      [
        ['all', 'all'],
        ['retained', 'retained'],
        ['discarded', 'discarded'],
        ['wrong', 'wrong labels'],
        ['wrong-retained', 'wrong labels retained'],
      ],
    ],
    label: ['Label', anyOf('any label', [...new Set(items.map(({ label }) => label))].sort())],
    order: [
      'Sort',
      [
        ['probability', 'most likely retained first'],
        ['improbability', 'least likely first'],
        ['confidence', 'most confident label first'],
        ['data', 'as shown to the selector'],
      ],
    ],
  });
  const list = element('ol', { class: 'posts', 'aria-label': 'Items' });
  const more = element('button', { type: 'button', class: 'more' }, 'Show more');
  home.append(form, list, more);

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
    const own = items.filter((item) => item.kind === selects.kind.value);
    found = own
      .filter(fates[selects.fate.value])
      .filter((item) => isWithin(selects.label, item.label))
      .filter((item) => finds(`${item.id}\n${item.text ?? ''}\n${item.explanation}`))
      .sort(orders[selects.order.value]);
    count.textContent = `${found.length.toLocaleString('en')} of ${counted(own.length, selects.kind.value)}`;
    list.replaceChildren();
    shown = 0;
    showMore();
  };
  form.addEventListener('input', refresh);
  more.addEventListener('click', showMore);
  refresh();
}

/** @param {ListedItem} item */
function itemView({ id, text, label, labelledBy, confidence, retainProbability, retained, right, explanation }) {
  const labelled = labelledBy === 'human' ? `${label}, gold` : `${label} ${confidence.toFixed(2)}`;
  return element(
    'li',
    { class: retained ? 'retained' : 'discarded' },
    element(
      'p',
      { class: 'meta' },
      element('b', {}, retained ? 'retained' : 'discarded'),
      element('span', {}, `π(retain) ${retainProbability.toFixed(2)}`),
      element('span', {}, labelled),
      right !== null &&
        element('span', { class: right ? 'badge right' : 'badge wrong' }, right ? 'label right' : 'label wrong'),
      element('span', {}, id),
    ),
    element('p', { class: text === null ? 'absent' : 'text', dir: 'auto' }, text ?? 'text not available'),
    explanation !== '' && element('p', { class: 'quiet' }, `Reason: ${explanation}`),
  );
}
