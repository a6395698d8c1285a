/**
 * Shows what a mark stands for: under the pointer, and by the arrow keys when the chart has the focus.
 * @param {HTMLElement} canvas
 * @param {HTMLElement} tip
 */
function makeChartSpeak(canvas, tip) {
  const marks = [...canvas.querySelectorAll('.role-mark [aria-label]')];
  if (marks.length === 0) return;
  /** @type {Element[]} */
  let across = [];
  let current = -1;
  /** @param {Element} mark @param {boolean} isSpoken */
  const show = (mark, isSpoken) => {
    for (const other of canvas.querySelectorAll('.current')) other.classList.remove('current');
    mark.classList.add('current');
    showTip(tip, { text: mark.getAttribute('aria-label') ?? '', near: mark.getBoundingClientRect(), isSpoken });
  };
  const hide = () => {
    for (const other of canvas.querySelectorAll('.current')) other.classList.remove('current');
    tip.hidden = true;
  };
  canvas.addEventListener('pointerover', (event) => {
    const mark = event.target instanceof Element ? event.target.closest('.role-mark [aria-label]') : null;
    if (mark !== null) show(mark, false);
  });
  canvas.addEventListener('pointerleave', hide);
  canvas.addEventListener('blur', () => {
    current = -1;
    hide();
  });
  canvas.addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (event.key === 'Escape') hide();
    if (step === undefined) return;
    event.preventDefault();
    // Looked up here, because a folded chart has no places.
    if (current < 0)
      across = marks
        .map((mark) => ({ mark, place: mark.getBoundingClientRect() }))
        .sort((a, b) => a.place.left - b.place.left || b.place.top - a.place.top)
        .map(({ mark }) => mark);
    current = current < 0 && step < 0 ? across.length - 1 : (current + step + across.length) % across.length;
    show(across[current], true);
  });
}

/**
 * @param {HTMLElement} tip
 * @param {{ text: string, near: DOMRect, isSpoken: boolean }} what
 */
function showTip(tip, { text, near, isSpoken }) {
  // What only follows the pointer is not read out.
  tip.setAttribute('aria-live', isSpoken ? 'polite' : 'off');
  const [name, ...details] = text.split('\n');
  tip.replaceChildren(element('b', {}, name), ...details.map((line) => element('span', {}, line)));
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const room = document.documentElement.clientWidth;
  const left = Math.min(Math.max(8, near.left + near.width / 2 - width / 2), room - width - 8);
  const above = near.top - height - 10;
  tip.style.left = `${Math.max(8, left)}px`;
  tip.style.top = `${above > 8 ? above : near.bottom + 10}px`;
}
