/**
 * What detectors on language models said of each thread, beside its true label: searched, filtered, a folded transcript each.
 * @param {HTMLElement} home
 * @param {NonNullable<PageData['transcripts']>} transcripts
 */
function startTranscripts(home, { labels, rows }) {
  const detectors = [...new Set(rows.map(({ detector }) => detector))];
  const golds = [...new Set(rows.map(({ gold }) => labelName(labels, gold)))].sort();
  const { form, count, selects, finds } = filters('Transcripts', {
    detector: ['Detector', anyOf('all', detectors)],
    which: ['Predictions', { all: 'all', wrong: 'wrong', right: 'right' }],
    label: ['True label', anyOf('any', golds)],
  });
  const list = element('ol', { class: 'posts', 'aria-label': 'Transcripts' });
  home.append(form, list);
  const refresh = () => {
    const { value: which } = selects.which;
    const listed = rows
      .filter(({ detector }) => isWithin(selects.detector, detector))
      .filter(({ gold, answer }) => which === 'all' || (gold === answer) === (which === 'right'))
      .filter(({ gold }) => isWithin(selects.label, labelName(labels, gold)))
      .filter(({ thread, text, explanation }) => finds(`${thread}\n${text}\n${explanation}`));
    count.textContent = `${listed.length.toLocaleString('en')} of ${counted(rows.length, 'transcript')}`;
    list.replaceChildren(...listed.map((row) => transcriptItem(row, labels)));
  };
  form.addEventListener('input', refresh);
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
