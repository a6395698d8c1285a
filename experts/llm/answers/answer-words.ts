import type { AnswerWords } from '../chat.ts';

/*
 * Which texts are an answer: those that are one of the answer words and nothing else. There is no list of what to refuse,
 * for it would never be complete; what is not an answer is asked for again.
 */

export type { AnswerWords };

/** What may stand around an answer and means nothing. Everything else may mean something: "rumor?", "~~rumor~~", "(rumor)". */
const PAIRS = '** ** __ __ * * _ _ ` ` " " \' \' “ ” „ “ „ ” ‘ ’ ‚ ‘ « » » « ‹ › 「 」 『 』 《 》 【 】 ＂ ＂'.split(
  ' ',
);
const STOPS = '.。．｡۔।';
/** White space without a width. */
const INVISIBLE = /[\u00ad\u200b\u200e\u200f\u2060\ufeff]/g;
const HYPHENS = /[\u2010-\u2013]/g;
/** No answer is as long as that, and texts are not looked at for ever. */
const LONGEST = 1000;
/** The only words that may precede an answer, as the prompts write them. */
const LEAD = /^(?:answer\s*[:：]|\*\*answer\s*[:：]\*\*|\*\*answer\*\*\s*[:：])/i;

export interface ReadLine {
  /** Null where the text is no answer word. */
  readonly label: string | null;
  /** Whether "Answer:" precedes it. */
  readonly isLed: boolean;
  /** What is left without lead, marks and stop. */
  readonly word: string;
}

/** Takes away white space, pairs of quotation marks or stars, one "Answer:" and one full stop, and compares what is left. */
export function readLine(text: string, words: AnswerWords): ReadLine {
  let word = text.replace(INVISIBLE, '').trim();
  if (word.length > LONGEST) return { label: null, isLed: LEAD.test(word), word };
  let isLed = false;
  let isStopped = false;
  for (;;) {
    const label = labelOf(word, words);
    if (label !== null) return { label, isLed, word };
    const lead = isLed ? null : LEAD.exec(word);
    const inner = withoutPair(word);
    if (lead !== null) {
      isLed = true;
      word = word.slice(lead[0].length).trim();
    } else if (inner !== null) word = inner.trim();
    else if (!isStopped && word !== '' && STOPS.includes(word.slice(-1))) {
      isStopped = true;
      word = word.slice(0, -1).trim();
    } else return { label: null, isLed, word };
  }
}

/** One of the options, where a text is it but for quotation marks, stars and case; otherwise the text. */
export function matchedOption(text: string, options: readonly string[]): string {
  if (text.length > LONGEST) return text;
  for (let inner: string | null = text.replace(INVISIBLE, ''); inner !== null; inner = withoutPair(inner.trim())) {
    const word = inner.trim();
    const alike = options.filter((option) => folded(option) === folded(word));
    if (alike.length === 1) return alike[0];
  }
  return text;
}

/** Null also where a word stands for several labels. */
function labelOf(word: string, words: AnswerWords): string | null {
  const said = folded(word);
  const labels = Object.keys(words).filter((label) => words[label].some((each) => folded(each) === said));
  return labels.length === 1 ? labels[0] : null;
}

/** As words are compared. Models write `non‑rumor` with the hyphen U+2011. */
function folded(word: string): string {
  return word
    .normalize('NFC')
    .replace(INVISIBLE, '')
    .replace(HYPHENS, '-')
    .replace(/[^\S\n]+/g, ' ')
    .toLowerCase();
}

function withoutPair(text: string): string | null {
  for (let index = 0; index < PAIRS.length; index += 2) {
    const [open, close] = [PAIRS[index], PAIRS[index + 1]];
    if (text.length > open.length + close.length && text.startsWith(open) && text.endsWith(close))
      return text.slice(open.length, text.length - close.length);
  }
  return null;
}

/** Labels that are asked for by their names. */
export function namesAsWords(names: readonly string[]): AnswerWords {
  return Object.fromEntries(names.map((name) => [name, [name]]));
}

/** "Yes, No", as prompts name the answers. */
export function namedAnswers(words: AnswerWords): string {
  return Object.values(words)
    .map(([first]) => first)
    .join(', ');
}
