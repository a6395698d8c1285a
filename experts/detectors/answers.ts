import { isSameWord, plainText } from '../llm/answers/plain-text.ts';

/*
 * A verdict is read from where the prompt asked for it and nowhere else: the beginning of an answer of one word, or the
 * last line of an argument. A label that is negated, doubted, quoted or mentioned in passing is no verdict. Texts are
 * compared without capitals, kinds of hyphens and spaces, and marks around them. Thinking is split off before.
 */

/** The words that stand for each label; case does not matter. */
export type AnswerWords = Readonly<Record<string, readonly string[]>>;

const MARKS = '[\\s"\'`*_([{]*';
/** "Final answer:", "The verdict is" */
const LEAD = new RegExp(
  `^${MARKS}(?:[-•]\\s+)?(?:\\\\boxed\\{)?${MARKS}(?:(?:(?:so|thus|therefore|hence),?\\s+)?(?:(?:the|my)\\s+)?(?:final\\s+)?` +
    `(?:answer|verdict|label|decision|conclusion|judge?ment|classification)(?:\\s+is(?=\\s|:))?${MARKS}[:=]?${MARKS})?`,
  'u',
);
/** What may follow an answer: nothing, or a mark that ends it. "No doubt" and "Yes/No" are not answers. */
const ENDS = /^["'`*_)\]}]*(?:$|[.,;:!]|\s*\n|\s+-)/u;
/** Marks around a line that mean nothing. Others may: "~~rumor~~", "> rumor", "rumor?", "≠ rumor". */
const MARKS_BEHIND = /["'`*_)\]}.,;:!\s]*$/u;

/** The label whose answer word the text begins with; null where it begins with none, or takes it back afterwards. */
export function strictAnswer(options: { text: string; words: AnswerWords }): string | null {
  const { words } = options;
  const text = plainText(options.text).trim().replace(LEAD, '');
  const begun = longestFirst(words).find(({ word }) => text.startsWith(word) && ENDS.test(text.slice(word.length)));
  const [line] = text.split('\n', 1);
  // "Non rumor" does not begin with "non-rumor", but it is nothing else.
  const label = begun?.label ?? wholeAnswer({ line, words });
  if (label === null) return null;
  return takesBack({ rest: text.slice(begun?.word.length ?? line.length), label, words }) ? null : label;
}

/**
 * The label that an argument concludes with: its last line is an answer word and nothing else, but for "Answer:" before
 * it and marks around it.
 */
export function concludingAnswer(options: { text: string; words: AnswerWords }): string | null {
  const line = plainText(options.text)
    .split('\n')
    .findLast((each) => /[\p{L}\p{N}]/u.test(each));
  return line === undefined ? null : wholeAnswer({ line, words: options.words });
}

function wholeAnswer(options: { line: string; words: AnswerWords }): string | null {
  const line = options.line.replace(LEAD, '').replace(MARKS_BEHIND, '');
  if (!/^[\p{L}\p{N}][\p{L}\p{N}\p{M}\s_'-]*$/u.test(line)) return null;
  const words = longestFirst(options.words);
  const exact = words.find(({ word }) => word === line);
  const alike = new Set(words.filter(({ word }) => isSameWord(word, line)).map(({ label }) => label));
  return exact?.label ?? (alike.size === 1 ? [...alike][0] : null);
}

/** How models refuse, doubt or correct themselves after a first word: "No, I can't help with that." */
const REFUSES =
  /\b(?:i|we)(?:'m|'d|'ll| am| are)?\s+(?:\w+\s+){0,2}?(?:can't|cannot|can not|couldn't|won't|will not|wouldn't|unable|not able|not sure|unsure|not certain|uncertain|don't know|do not know|not comfortable|not going|refuse|decline|sorry|apologi[sz]e|afraid|mean|take (?:that|it) back)\b|\b(?:sorry|apologies|as an ai|language model|can(?:'t|not)? (?:help|assist|comply)|(?:help|assist) (?:you )?with|please (?:provide|share|paste)|against (?:my|our)|guidelines|wait|scratch that)\b/u;
/** How they doubt without a subject, right after the first word: "No, cannot determine." "It cannot be verified" is a reason. */
const DOUBTS =
  /^[\s.,;:!(-]*(?:(?:but|though|although|however),?\s+)?(?:(?:it(?:'s| is)|this is|that(?:'s| is))\s+)?(?:can't|cannot|can not|could not|couldn't|unable|not (?:sure|certain|possible|enough|clear)|impossible|unclear|unsure|uncertain|insufficient|(?:hard|difficult) to (?:say|tell|judge|determine|know)|no way to (?:tell|know))\b/u;
const NEGATES = /\b(?:not|never|no|neither|nor|without|hardly|rather than|instead of|than|nothing|nobody)\b|n't\b/u;
const YES_OR_NO = /^(?:yes|no)$/;

/**
 * Whether what follows an answer word refuses after all, gives another answer, denies the label or affirms another one.
 * An answer that is only explained at length is asked for again without need; one that is misread is worse.
 */
function takesBack(options: { rest: string; label: string; words: AnswerWords }): boolean {
  const { rest, label, words } = options;
  if (REFUSES.test(rest) || DOUBTS.test(rest)) return true;
  const clauses = rest.split(/[.,;:!?\n()]|\s-+\s/u);
  const others = longestFirst(words).filter((each) => each.label !== label);
  if (clauses.some((clause) => others.some(({ word }) => clause.trim() === word))) return true;
  return clauses.some((clause) => {
    const named = namedIn({ line: clause, words: withoutYesAndNo(words) });
    return named.some((name) => {
      const isNegated = NEGATES.test(clause.slice(0, name.start));
      return name.label === label ? isNegated : !isNegated;
    });
  });
}

/** "No source" names no label. */
function withoutYesAndNo(words: AnswerWords): AnswerWords {
  return Object.fromEntries(
    Object.entries(words).map(([label, own]) => [label, own.filter((word) => !YES_OR_NO.test(plainText(word)))]),
  );
}

/** The whole answer words in a line; "non-rumor" does not contain the word "rumor". */
function namedIn(options: { line: string; words: AnswerWords }): { label: string; start: number }[] {
  const { line } = options;
  const found: { label: string; start: number; end: number }[] = [];
  for (const { label, word } of longestFirst(options.words)) {
    for (let start = line.indexOf(word); start >= 0; start = line.indexOf(word, start + 1)) {
      const end = start + word.length;
      const isWord = !/[\p{L}\p{N}-]$/u.test(line.slice(0, start)) && !/^-?[\p{L}\p{N}]/u.test(line.slice(end));
      const isTaken = found.some((other) => start < other.end && other.start < end);
      if (isWord && !isTaken) found.push({ label, start, end });
    }
  }
  return found;
}

/** The answer words, as a model is told them when its answer could not be read. */
export function answerNames(words: AnswerWords): string {
  const names = Object.values(words).map(([first]) => first);
  return `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`;
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

function longestFirst(words: AnswerWords): { label: string; word: string }[] {
  return Object.entries(words)
    .flatMap(([label, own]) => own.map((word) => ({ label, word: plainText(word) })))
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
