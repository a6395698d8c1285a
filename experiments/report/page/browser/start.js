const written = document.getElementById('page-data')?.textContent ?? 'null';
const pageData = /** @type {PageData} */ (JSON.parse(written));
const tip = /** @type {HTMLElement} */ (document.getElementById('tip'));

for (const table of document.querySelectorAll('table[data-sortable]'))
  makeSortable(/** @type {HTMLTableElement} */ (table));
const inspectorHome = document.getElementById('inspector');
if (inspectorHome !== null && pageData.inspector !== null) startInspector(inspectorHome, pageData.inspector);
const itemsHome = document.getElementById('items');
if (itemsHome !== null && pageData.items !== null) startItems(itemsHome, pageData.items);
const transcriptsHome = document.getElementById('transcripts');
if (transcriptsHome !== null && pageData.transcripts) startTranscripts(transcriptsHome, pageData.transcripts);
for (const canvas of document.querySelectorAll('.canvas')) makeChartSpeak(/** @type {HTMLElement} */ (canvas), tip);
addEventListener(
  'scroll',
  () => {
    tip.hidden = true;
  },
  { passive: true },
);
// What is folded on the screen would be missing on paper.
addEventListener('beforeprint', () => {
  for (const details of document.querySelectorAll('main details:not(.debate)')) details.setAttribute('open', '');
});
