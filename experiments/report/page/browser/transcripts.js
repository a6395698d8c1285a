/**
 * What detectors on language models said of each thread, beside its true label: searched, filtered, a folded transcript each.
 * @param {HTMLElement} home
 * @param {NonNullable<PageData['transcripts']>} transcripts
 */
function startTranscripts(home, { labels, rows }) {
  const list = element('ol', { class: 'posts', 'aria-label': 'Transcripts' });
  const detectors = [...new Set(rows.map(({ detector }) => detector))];
  /** @param {ShownTranscript} row */
  const trueLabel = ({ gold }) => labelName(labels, gold);
  const { form, refresh } = listing({
    what: 'transcript',
    rows,
    choices: {
      Detector: anyOf('all', detectors, ({ detector }) => detector),
      Predictions: [
        ['all', () => true],
        ['wrong', ({ gold, answer }) => gold !== answer],
        ['right', ({ gold, answer }) => gold === answer],
      ],
      'True label': anyOf('any', [...new Set(rows.map(trueLabel))].sort(), trueLabel),
    },
    orders: [],
    textOf: ({ thread, text, explanation }) => `${thread}\n${text}\n${explanation}`,
    show: (listed) => list.replaceChildren(...listed.map((row) => transcriptItem(row, labels))),
  });
  home.append(form, list);
  refresh();
}

/** @param {ShownTranscript} row @param {readonly string[]} labels */
function transcriptItem(row, labels) {
  const about = meta(row.thread, element('span', {}, row.detector), besideTruth(labels, row));
  return element('li', {}, about, textOf(row.text || undefined), debateView(row, labels));
}

/** A transcript, folded. @param {Debate} debate @param {readonly string[]} labels */
function debateView({ posts, answer, rounds, explanation, took }, labels) {
  const judged = `Transcript of the judgement of the first ${counted(posts, 'post')}: ${labelName(labels, answer)}`;
  return element(
    'details',
    { class: 'debate' },
    element('summary', {}, judged),
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
  const links = sources.map(({ title, date, url }) =>
    // Whatever comes from the web may not run.
    element(
      'li',
      {},
      /^https?:/.test(url) ? element('a', { href: url, rel: 'noopener noreferrer' }, title) : title,
      ` (${date})`,
    ),
  );
  return element(
    'div',
    { class: 'turn' },
    meta(role, vote !== '' && element('span', { class: 'tag' }, vote), element('span', {}, took)),
    textOf(text),
    links.length > 0 && element('ul', {}, ...links),
  );
}
