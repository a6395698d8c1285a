/** How many items are shown at first, and with every further step. */
const itemsAtOnce = 60;

/**
 * What a selector was shown, retained or discarded, with the reasons: searched, filtered, sorted.
 * @param {HTMLElement} home
 * @param {readonly ListedItem[]} items
 */
function startItems(home, items) {
  const list = element('ol', { class: 'posts', 'aria-label': 'Items' });
  const more = element('button', { type: 'button', class: 'more' }, 'Show more');
  /** @type {readonly ListedItem[]} */
  let listed = [];
  const showMore = () => {
    const shown = list.children.length;
    list.append(...listed.slice(shown, shown + itemsAtOnce).map(itemView));
    more.hidden = list.children.length === listed.length;
  };
  const { form, refresh } = listing({
    what: 'item',
    rows: items,
    choices: {
      Kind: [
        ['posts', ({ kind }) => kind === 'post'],
        ['claims', ({ kind }) => kind === 'claim'],
      ],
      Show: [
        ['all', () => true],
        ['retained', ({ retained }) => retained],
        ['discarded', ({ retained }) => !retained],
        ['wrong labels', ({ right }) => right === false],
        ['wrong labels retained', ({ right, retained }) => right === false && retained],
      ],
      Label: anyOf('any label', [...new Set(items.map(({ label }) => label))].sort(), ({ label }) => label),
    },
    orders: [
      ['most likely retained first', (a, b) => b.retainProbability - a.retainProbability],
      ['least likely first', (a, b) => a.retainProbability - b.retainProbability],
      ['most confident label first', (a, b) => b.confidence - a.confidence],
      ['as shown to the selector', () => 0],
    ],
    textOf: ({ id, text, explanation }) => `${id}\n${text ?? ''}\n${explanation}`,
    show(found) {
      listed = found;
      list.replaceChildren();
      showMore();
    },
  });
  home.append(form, list, more);
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
