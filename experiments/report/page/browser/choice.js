/**
 * What a page is about: one agent, and one seed or all of them.
 * @typedef {object} Choice
 * @property {() => { agent: string, seed: string }} chosen
 * @property {(next: { agent?: string | undefined, seed?: string }) => void} choose
 * @property {(listener: () => void) => void} onChange
 */

/**
 * The form above the sections. Shows the parts that are of the chosen agent and seed, and dims the lines of others.
 * @param {HTMLFormElement} form
 * @returns {Choice}
 */
function startChoice(form) {
  const agent = /** @type {HTMLSelectElement} */ (form.elements.namedItem('agent'));
  const seed = /** @type {HTMLSelectElement} */ (form.elements.namedItem('seed'));
  const parts = /** @type {HTMLElement[]} */ ([...document.querySelectorAll('.of-choice')]);
  /** @type {(() => void)[]} */
  const listeners = [];
  const chosen = () => ({ agent: agent.value, seed: seed.value });

  const follow = () => {
    for (const part of parts) {
      const isOfAgent = part.dataset.agent === agent.value;
      const own = parts.filter((other) => other.dataset.agent === part.dataset.agent);
      // Where a seed has no part of its own, that of all seeds stands for it.
      const hasSeed = own.some((other) => other.dataset.seed === seed.value);
      const wanted = hasSeed ? seed.value : (own[0].dataset.seed ?? '');
      part.hidden = !isOfAgent || part.dataset.seed !== wanted;
    }
    const start = seed.value === 'all' ? `${agent.value}, seed ` : `${agent.value}, seed ${seed.value}:`;
    for (const line of document.querySelectorAll('#training .role-mark [aria-label]'))
      line.classList.toggle('dimmed', !(line.getAttribute('aria-label') ?? '').startsWith(start));
    for (const listener of listeners) listener();
  };
  form.addEventListener('submit', (sent) => sent.preventDefault());
  form.addEventListener('input', follow);
  form.hidden = agent.options.length < 2 && seed.options.length < 2;
  follow();
  return {
    chosen,
    choose(next) {
      for (const [select, value] of /** @type {const} */ ([
        [agent, next.agent],
        [seed, next.seed],
      ]))
        if (value !== undefined && [...select.options].some((option) => option.value === value)) select.value = value;
      follow();
    },
    onChange: (listener) => void listeners.push(listener),
  };
}
