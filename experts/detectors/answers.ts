/** The words that stand for each label; case does not matter. */
export type AnswerWords = Readonly<Record<string, readonly string[]>>;

const LEAD = /^[\s"'`*_([{]*(?:(?:the\s+)?(?:final\s+)?answer(?:\s+is)?\s*[:=]?[\s"'`*_([{]*)?/iu;
/** What may follow an answer: nothing, or a mark that ends it. "No doubt" and "Yes/No" are not answers. */
const ENDS = /^["'`*_)\]}]*(?:$|[.,;:!]|\s*\n|\s+[-–—])/u;
const TAIL = /["'`*_)\]}.!\s]*$/u;
const NEGATED =
  /(?:\b(?:not|never|neither|nor|or|isn't|than|hardly)|n['’]t)\s+(?:(?:an?|the|necessarily|really)\s+)?["'`*_(]*$/iu;

/** A model's text without its reasoning, which is not its answer even if it never got to one. */
export function withoutThinking(text: string): string {
  return text.replace(/^\s*<think>[\s\S]*?(?:<\/think>|$)/, '').trim();
}

/** The label whose answer word the text begins with; null where it begins with none, or goes on after it. */
export function strictAnswer(options: { text: string; words: AnswerWords }): string | null {
  const text = withoutThinking(options.text).replace(LEAD, '');
  for (const { label, word } of longestFirst(options.words))
    if (text.toLowerCase().startsWith(word) && ENDS.test(text.slice(word.length))) return label;
  return null;
}

/**
 * The label that an argument concludes with: its last line is the answer word or ends with it. Null where that line
 * names several labels, negates the one it names, or goes on after it.
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

/** What EARD's published code takes for yes and no. */
const PUBLISHED: AnswerWords = { yes: ['yes', 'y', 'true', '1'], no: ['no', 'n', 'false', '0'] };

/**
 * How EARD's published code reads an answer: a search for substrings, one label's after the other's. Other answer
 * words are also found by their initial.
 */
export function substringAnswer(options: { text: string; words: AnswerWords }): string | null {
  const text = options.text.toLowerCase();
  for (const [label, own] of Object.entries(options.words)) {
    const word = own[0].toLowerCase();
    if ((PUBLISHED[word] ?? [word, word.charAt(0)]).some((each) => text.includes(each))) return label;
  }
  return null;
}

/** The whole answer words in a line; "non-rumor" does not contain the word "rumor". */
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

/**
 * The quotation, if a passage contains it word for word, apart from quotation marks and case; otherwise a note that
 * it was dropped.
 */
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
