/*
 * The files of this folder are put one after another into the page, inside one function: they share their names. Whatever
 * comes from a thread is set as text, never as markup.
 */

/**
 * @typedef {import('../page-data.ts').PageData} PageData
 * @typedef {import('../page-data.ts').InspectorData} InspectorData
 * @typedef {import('../page-data.ts').InspectorView} InspectorView
 * @typedef {import('../page-data.ts').InspectedThread} InspectedThread
 * @typedef {import('../page-data.ts').ShownThread} ShownThread
 * @typedef {import('../page-data.ts').ListedItem} ListedItem
 * @typedef {import('../page-data.ts').Debate} Debate
 * @typedef {import('../page-data.ts').ShownTranscript} ShownTranscript
 * @typedef {Node | string | null | false} Child
 */

/**
 * Options of a choice, each with the rows that it shows.
 * @template Row
 * @typedef {readonly (readonly [name: string, isShown: (row: Row) => boolean])[]} Choice
 */

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, string | number | boolean | null>} [attributes] true without a value; false and null leave one out
 * @param {Child[]} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  setAttributes(made, attributes);
  made.append(...children.filter((child) => child !== null && child !== false));
  return made;
}

/**
 * @param {string} tag
 * @param {Record<string, string | number | boolean | null>} [attributes]
 * @param {Child[]} children
 */
function svgElement(tag, attributes = {}, ...children) {
  // The document knows the name of the language; writing it here would be the one address of the page.
  const made = document.createElementNS(svgNamespace(), tag);
  setAttributes(made, attributes);
  made.append(...children.filter((child) => child !== null && child !== false));
  return made;
}

/** @returns {string} */
function svgNamespace() {
  const holder = document.createElement('template');
  holder.innerHTML = '<svg></svg>';
  return /** @type {Element} */ (holder.content.firstElementChild).namespaceURI ?? '';
}

/**
 * @param {Element} made
 * @param {Record<string, string | number | boolean | null>} attributes
 */
function setAttributes(made, attributes) {
  for (const [name, value] of Object.entries(attributes))
    if (value !== null && value !== false) made.setAttribute(name, value === true ? '' : String(value));
}

/**
 * A form above a list: choices, an order, a search, and how many rows are listed.
 * @template Row
 * @param {{
 *   what: string,
 *   rows: readonly Row[],
 *   choices: Record<string, Choice<Row>>,
 *   orders: readonly (readonly [name: string, order: (a: Row, b: Row) => number])[],
 *   textOf: (row: Row) => string,
 *   show: (listed: readonly Row[]) => void,
 * }} of the choices by their titles; those with one option are not shown
 */
function listing({ what, rows, choices, orders, textOf, show }) {
  const search = element('input', { type: 'search', placeholder: 'words or an id', autocomplete: 'off' });
  const count = element('output', { 'aria-live': 'polite' });
  const form = element('form', { class: 'controls', role: 'search', 'aria-label': `Which ${what}s` });
  /** @param {string} title @param {readonly (readonly [name: string, own: unknown])[]} options */
  const select = (title, options) => {
    const own = element('select', {}, ...options.map(([name], value) => element('option', { value }, name)));
    if (options.length > 1) form.append(element('label', {}, element('span', {}, title), own));
    return own;
  };
  const filters = Object.entries(choices).map(([title, options]) => ({ options, own: select(title, options) }));
  const order = select('Sort', orders);
  form.append(element('label', {}, element('span', {}, 'Search'), search), count);
  form.addEventListener('submit', (sent) => sent.preventDefault());
  const refresh = () => {
    const words = search.value.trim().toLowerCase();
    const listed = rows
      .filter((row) => filters.every(({ options, own }) => options[own.selectedIndex][1](row)))
      .filter((row) => words === '' || textOf(row).toLowerCase().includes(words));
    if (orders.length > 0) listed.sort(orders[order.selectedIndex][1]);
    count.textContent = counted(listed.length, what);
    show(listed);
  };
  form.addEventListener('input', refresh);
  return { form, refresh };
}

/**
 * All rows, or those with one of some names.
 * @template Row
 * @param {string} all
 * @param {readonly string[]} names
 * @param {(row: Row) => string | null} of
 */
function anyOf(all, names, of) {
  return [/** @type {Choice<Row>[number]} */ ([all, () => true]), ...eachOf(names, of)];
}

/**
 * The rows of each of some names.
 * @template Row
 * @param {readonly string[]} names
 * @param {(row: Row) => string | null} of
 */
function eachOf(names, of) {
  return names.map((name) => /** @type {Choice<Row>[number]} */ ([name, (row) => of(row) === name]));
}

/** The colour of an agent by its place, as charts have it. @param {number} place */
function seriesColour(place) {
  return `--colour: var(--${['vermillion', 'blue', 'pink', 'amber', 'sky', 'purple'][place % 6]})`;
}

/** The colour of a label; grey of what could not be read. @param {number} label */
function labelColour(label) {
  return `--label: var(--${label < 0 ? 'grid' : ['sky', 'amber', 'green', 'pink'][label % 4]})`;
}

/** @param {number} count @param {string} what */
function counted(count, what) {
  return `${count.toLocaleString('en')} ${what}${count === 1 ? '' : 's'}`;
}

/** A score, or a threshold of it, as which 0.99995 is not 1. @param {number} score */
function shownScore(score) {
  const text = score.toFixed(3);
  return text === '1.000' && score < 1 ? String(Number(score.toPrecision(6))) : text;
}

/** @param {number} hours since the first post */
function shownHours(hours) {
  if (hours < 1 / 60) return `+${Math.round(hours * 3600)} s`;
  if (hours < 2) return `+${Math.round(hours * 60)} min`;
  return hours < 48 ? `+${hours.toFixed(1)} h` : `+${(hours / 24).toFixed(1)} days`;
}

/** @param {readonly string[]} labels @param {number} label */
function labelName(labels, label) {
  return labels[label] ?? 'nothing readable';
}

/** @param {boolean} isRight @param {string} text */
function badge(isRight, text) {
  return element('span', { class: isRight ? 'badge right' : 'badge wrong' }, text);
}

/** A prediction beside the true label. @param {readonly string[]} labels @param {{ gold: number, answer: number }} of */
function besideTruth(labels, { gold, answer }) {
  return badge(gold === answer, `true ${labelName(labels, gold)} / predicted ${labelName(labels, answer)}`);
}

/** A line about what follows. @param {string} name @param {Child[]} facts */
function meta(name, ...facts) {
  return element('p', { class: 'meta' }, element('b', {}, name), ...facts);
}

/** A text of others. In an element of its own, left to right and right to left scripts do not mix. @param {string | undefined} text */
function textOf(text) {
  return element('p', { class: text === undefined ? 'absent' : 'text', dir: 'auto' }, text ?? 'text not available');
}
