const written = document.getElementById('page-data')?.textContent ?? 'null';
const pageData = /** @type {PageData} */ (JSON.parse(written));

for (const table of document.querySelectorAll('table')) makeSortable(table);
startIn('inspector', startInspector);
startIn('items', startItems);
startIn('transcripts', startTranscripts);
// What is folded on the screen would be missing on paper.
addEventListener('beforeprint', () => {
  for (const details of document.querySelectorAll('main details:not(.debate)')) details.setAttribute('open', '');
});

/**
 * @template {'inspector' | 'items' | 'transcripts'} Name
 * @param {Name} name
 * @param {(home: HTMLElement, data: NonNullable<PageData[Name]>) => void} start
 */
function startIn(name, start) {
  const home = document.getElementById(name);
  const data = pageData[name];
  if (home !== null && data) start(home, data);
}

/** Makes the columns of a table sortable: a button in each heading, and the order said to screen readers. */
/** @param {HTMLTableElement} table */
function makeSortable(table) {
  const headings = [...table.querySelectorAll('thead th')];
  for (const [column, heading] of headings.entries()) {
    const button = element('button', { type: 'button', class: 'sort' }, heading.textContent ?? '');
    heading.replaceChildren(button);
    button.addEventListener('click', () => {
      // Numbers are mostly looked at from the largest on.
      const first = heading.classList.contains('number') ? 'descending' : 'ascending';
      const other = first === 'ascending' ? 'descending' : 'ascending';
      const order = heading.getAttribute('aria-sort') === first ? other : first;
      for (const each of headings) each.removeAttribute('aria-sort');
      heading.setAttribute('aria-sort', order);
      sortRows(table, column, order === 'ascending' ? 1 : -1);
    });
  }
}

/**
 * @param {HTMLTableElement} table
 * @param {number} column
 * @param {1 | -1} sign
 */
function sortRows(table, column, sign) {
  const [body] = table.tBodies;
  const rows = [...body.rows].map((row) => ({ row, value: cellValue(row.cells[column]) }));
  rows.sort((a, b) => {
    // Cells without a number stay at the end, whichever way.
    const empty = Number(a.value === '') - Number(b.value === '');
    if (empty !== 0) return empty;
    if (typeof a.value === 'number' && typeof b.value === 'number') return sign * (a.value - b.value);
    return sign * String(a.value).localeCompare(String(b.value), 'en', { numeric: true });
  });
  body.append(...rows.map(({ row }) => row));
}

/** The number that a cell begins with, or its text. @param {HTMLTableCellElement | undefined} cell @returns {number | string} */
function cellValue(cell) {
  const text = cell?.textContent?.trim() ?? '';
  if (text === '–') return '';
  const [number] = /^[+−-]?\d+(\.\d+)?(?![\w.])/.exec(text) ?? [];
  return number === undefined ? text : Number(number.replace('−', '-'));
}
