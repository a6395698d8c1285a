/** For each label the words that mean it; case does not matter. */
export type AnswerWords = Readonly<Record<string, readonly string[]>>;

const LEAD = /^[\s"'`*_([{]*(?:(?:the\s+)?(?:final\s+)?answer(?:\s+is)?\s*[:=]?[\s"'`*_([{]*)?/iu;
/** What may follow an answer: nothing, or a mark that ends it. "No doubt" and "Yes/No" are no answers. */
const ENDS = /^["'`*_)\]}]*(?:$|[.,;:!]|\s*\n|\s+[-–—])/u;
const TAIL = /["'`*_)\]}.!\s]*$/u;
const NEGATED =
  /(?:\b(?:not|never|neither|nor|or|isn't|than|hardly)|n['’]t)\s+(?:(?:an?|the|necessarily|really)\s+)?["'`*_(]*$/iu;

/** What a reasoning model thought aloud is not what it said, even where it never came to say anything. */
export function withoutThinking(text: string): string {
  return text.replace(/^\s*<think>[\s\S]*?(?:<\/think>|$)/, '').trim();
}

/** The label an answer begins with, as a word of its own; null for everything else. */
export function strictAnswer(options: { text: string; words: AnswerWords }): string | null {
  const text = withoutThinking(options.text).replace(LEAD, '');
  for (const { label, word } of longestFirst(options.words))
    if (text.toLowerCase().startsWith(word) && ENDS.test(text.slice(word.length))) return label;
  return null;
}

/**
 * The label that an argument comes to: its last line is the answer, or ends with it. Null where that line names several
 * labels, denies the one it names, or goes on after it.
 */
export function concludingAnswer(options: { text: string; words: AnswerWords }): string | null {
  const line = withoutThinking(options.text)
    .split('\n')
    .findLast((each) => /[\p{L}\p{N}]/u.test(each));
  if (line === undefined) return null;
  const named = namedIn({ line, words: options.words });
  if (new Set(named.map(({ label }) => label)).size !== 1) return null;
  const whole = strictAnswer({ text: line, words: options.words });
  if (whole !== null) return whole;
  const { label, start, end } = named[named.length - 1];
  const isLast = line.slice(end).replace(TAIL, '') === '';
  return isLast && !NEGATED.test(line.slice(0, start)) ? label : null;
}

/** What the EARD code takes for yes and no. */
const PUBLISHED: AnswerWords = { yes: ['yes', 'y', 'true', '1'], no: ['no', 'n', 'false', '0'] };

/** The EARD code's reading: a search for substrings, one label's after the other's; other words by their initial, too. */
export function substringAnswer(options: { text: string; words: AnswerWords }): string | null {
  const text = options.text.toLowerCase();
  for (const [label, own] of Object.entries(options.words)) {
    const word = own[0].toLowerCase();
    if ((PUBLISHED[word] ?? [word, word.charAt(0)]).some((each) => text.includes(each))) return label;
  }
  return null;
}

/** Whole answer words of a line; "non-rumor" does not name "rumor". */
function namedIn(options: { line: string; words: AnswerWords }): { label: string; start: number; end: number }[] {
  const line = options.line.toLowerCase();
  const found: { label: string; start: number; end: number }[] = [];
  for (const { label, word } of longestFirst(options.words)) {
    for (let start = line.indexOf(word); start >= 0; start = line.indexOf(word, start + 1)) {
      const end = start + word.length;
      const isWord = !/[\p{L}\p{N}-]$/u.test(line.slice(0, start)) && !/^-?[\p{L}\p{N}]/u.test(line.slice(end));
      const isTaken = found.some((other) => start < other.end && other.start < end);
      if (isWord && !isTaken) found.push({ label, start, end });
    }
  }
  return found.sort((one, other) => one.start - other.start);
}

function longestFirst(words: AnswerWords): { label: string; word: string }[] {
  return Object.entries(words)
    .flatMap(([label, own]) => own.map((word) => ({ label, word: word.toLowerCase() })))
    .sort((one, other) => other.word.length - one.word.length);
}

/** The quotation where it stands in a passage, word for word but for marks and case; else a note in its place. */
export function checkedQuotation(options: { quotation: string; passages: readonly string[] }): string {
  const plain = (text: string) =>
    text
      .toLowerCase()
      .replace(/[“”„]/g, '"')
      .replace(/[‘’]/g, "'")
      .replace(/^["'\s]+|["'\s.]+$/g, '')
      .replace(/\s+/g, ' ');
  const quotation = plain(options.quotation);
  const isFound = quotation !== '' && options.passages.some((passage) => plain(passage).includes(quotation));
  return isFound ? options.quotation : '(a quotation that stands in no passage was dropped)';
}
