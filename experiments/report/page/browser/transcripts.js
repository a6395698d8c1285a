/**
 * What detectors on language models said of each thread, beside its true label: searched, filtered, a folded transcript each.
 * @param {HTMLElement} home
 * @param {NonNullable<PageData['transcripts']>} transcripts
 */
function startTranscripts(home, { labels, rows }) {
  const { form, count, selects, finds } = filters('Transcripts', {
    detector: ['Detector', anyOf('all', [...new Set(rows.map(({ detector }) => detector))])],
    which: [
      'Predictions',
      [
        ['all', 'all'],
        ['wrong', 'wrong'],
        ['right', 'right'],
      ],
    ],
    label: ['True label', anyOf('any', [...new Set(rows.map(({ gold }) => labelName(labels, gold)))].sort())],
  });
  const list = element('ol', { class: 'posts', 'aria-label': 'Transcripts' });
  home.append(form, list);
  const refresh = () => {
    const found = rows
      .filter(({ detector }) => isWithin(selects.detector, detector))
      .filter(
        ({ gold, answer }) => selects.which.value === 'all' || (gold === answer) === (selects.which.value === 'right'),
      )
      .filter(({ gold }) => isWithin(selects.label, labelName(labels, gold)))
      .filter(({ thread, text, explanation }) => finds(`${thread}\n${text}\n${explanation}`));
    count.textContent = `${found.length.toLocaleString('en')} of ${counted(rows.length, 'transcript')}`;
    list.replaceChildren(...found.map((row) => transcriptItem(row, labels)));
  };
  form.addEventListener('input', refresh);
  refresh();
}

/** @param {ShownTranscript} row @param {readonly string[]} labels */
function transcriptItem(row, labels) {
  const { detector, thread, text, gold, answer } = row;
  return element(
    'li',
    {},
    element(
      'p',
      { class: 'meta' },
      element('b', {}, thread),
      element('span', {}, detector),
      element(
        'span',
        { class: gold === answer ? 'badge right' : 'badge wrong' },
        `true ${labelName(labels, gold)} / predicted ${labelName(labels, answer)}`,
      ),
    ),
    element('p', { class: text === '' ? 'absent' : 'text', dir: 'auto' }, text || 'text not available'),
    debateView(row, labels),
  );
}

/** A transcript, folded. @param {Debate} debate @param {readonly string[]} labels */
function debateView({ posts, answer, rounds, explanation, took }, labels) {
  return element(
    'details',
    { class: 'debate' },
    element(
      'summary',
      {},
      `Transcript of the judgement of the first ${counted(posts, 'post')}: ${labelName(labels, answer)}`,
    ),
    element('p', { class: 'quiet' }, took),
    ...rounds.flatMap(({ title, votes, turns }) => [
      title !== '' && element('h4', {}, votes === '' ? title : `${title}: ${votes}`),
      ...turns.map(turnView),
    ]),
    explanation !== '' && element('p', {}, element('b', {}, 'Explanation: '), explanation),
  );
}

/** @param {Debate['rounds'][number]['turns'][number]} turn */
function turnView({ role, text, vote, took, sources }) {
  return element(
    'div',
    { class: 'turn' },
    element(
      'p',
      { class: 'meta' },
      element('b', {}, role),
      vote !== '' && element('span', { class: 'tag' }, vote),
      element('span', {}, took),
    ),
    element('p', { class: 'text', dir: 'auto' }, text),
    sources.length > 0 &&
      element(
        'ul',
        { class: 'sources' },
        ...sources.map(({ title, date, url }) =>
          element(
            'li',
            {},
            // Whatever comes from the web may not run.
            /^https?:/.test(url) ? element('a', { href: url, rel: 'noopener noreferrer' }, title) : title,
            ` (${date})`,
          ),
        ),
      ),
  );
}
