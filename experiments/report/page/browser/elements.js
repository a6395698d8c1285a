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
 * @typedef {Node | string | null | false} Child
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
 * A list to choose from, with its label.
 * @param {string} label
 * @param {readonly (readonly [value: string, shown: string])[]} options
 */
function choice(label, options) {
  const select = element('select', {}, ...options.map(([value, shown]) => element('option', { value }, shown)));
  return { select, labelled: element('label', {}, element('span', {}, label), select) };
}

/** @param {number} count @param {string} what */
function counted(count, what) {
  return `${count.toLocaleString('en')} ${what}${count === 1 ? '' : 's'}`;
}

/** @param {number} hours since the claim */
function shownHours(hours) {
  if (hours < 1 / 60) return `+${Math.round(hours * 3600)} s`;
  if (hours < 2) return `+${Math.round(hours * 60)} min`;
  return hours < 48 ? `+${hours.toFixed(1)} h` : `+${(hours / 24).toFixed(1)} days`;
}
