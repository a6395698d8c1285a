import type { AnswerWords } from '../chat.ts';

/*
 * Which texts are an answer: those that are exactly one of the answer words of the task, whatever its language. There is no list of
 * what to refuse, for it would never be complete; what is not an answer is asked for again.
 */

export type { AnswerWords };

/** What may stand around a word and means nothing. Everything else may mean something: "rumor?", "~~rumor~~", "≠ rumor". */
const PAIRS =
  '** ** __ __ * * _ _ ` ` $ $ " " \' \' “ ” „ “ „ ” ‘ ’ ‚ ‘ « » » « ‹ › 「 」 『 』 《 》 【 】 ＂ ＂ [ ] ( ) （ ） \\boxed{ } \\text{ } <answer> </answer>'.split(
    ' ',
  );
const STOPS = '.。．｡۔।!！';
/** White space without a width. */
const INVISIBLE = /[\u00ad\u200b\u200e\u200f\u2060\ufeff]/g;
const HYPHENS = /[\u2010-\u2013]/g;
/** No answer is as long as that, and texts are not looked at for ever. */
const LONGEST = 1000;

export interface AnswerWord {
  readonly label: string;
  /** As it stands in the text, but for characters without a width. */
  readonly word: string;
}

/** The answer word that a text is, but for white space, pairs of marks around it, one stop and its case; null for any other text. */
export function answerWord(text: string, words: AnswerWords): AnswerWord | null {
  if (text.length > LONGEST) return null;
  let word = text.replace(INVISIBLE, '').trim();
  let isStopped = false;
  for (;;) {
    const label = labelOf(word, words);
    if (label !== null) return { label, word };
    const inner = withoutPair(word);
    if (inner !== null) word = inner.trim();
    else if (!isStopped && word !== '' && STOPS.includes(word.slice(-1))) {
      isStopped = true;
      word = word.slice(0, -1).trim();
    } else return null;
  }
}

/** Null also where a word stands for several labels. */
function labelOf(word: string, words: AnswerWords): string | null {
  const foldedWord = folded(word);
  const labels = Object.keys(words).filter((label) => words[label].some((each) => folded(each) === foldedWord));
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

/** "Yes or No", as prompts name the answers. */
export function namedAnswers(words: AnswerWords): string {
  const names = Object.values(words).map(([first]) => first);
  return `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`;
}
