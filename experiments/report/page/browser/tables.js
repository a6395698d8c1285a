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
