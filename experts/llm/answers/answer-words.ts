/*
 * A text is an answer if it is exactly one of the task's answer words, in any language. A list of what to refuse would
 * never be complete; anything else is asked for again.
 */

/** The words that stand for each label, in any case. */
export type AnswerWords = Readonly<Record<string, readonly string[]>>;

/** Marks around a word that mean nothing. Any other mark may mean something: "rumor?", "~~rumor~~", "≠ rumor". */
const PAIRS =
  '** ** __ __ * * _ _ ` ` $ $ " " \' \' “ ” „ “ „ ” ‘ ’ ‚ ‘ « » » « ‹ › 「 」 『 』 《 》 【 】 ＂ ＂ [ ] ( ) （ ） \\boxed{ } \\text{ } <answer> </answer>'.split(
    ' ',
  );
const STOPS = '.。．｡۔।!！';
/** White space without a width. */
const INVISIBLE = /[\u00ad\u200b\u200e\u200f\u2060\ufeff]/g;
const HYPHENS = /[\u2010-\u2013]/g;
/** No answer is longer, and longer texts are not searched. */
const LONGEST = 1000;

/**
 * The answer word of a text, apart from white space, pairs of marks, one full stop and case; otherwise null. `word` is as
 * in the text, without characters of no width.
 */
export function answerWord(text: string, words: AnswerWords): { readonly label: string; readonly word: string } | null {
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

/** The label that a word stands for; null if it stands for none, or for several. */
function labelOf(word: string, words: AnswerWords): string | null {
  const foldedWord = fold(word);
  const labels = Object.keys(words).filter((label) => words[label].some((each) => fold(each) === foldedWord));
  return labels.length === 1 ? labels[0] : null;
}

/** Normalises a word for comparison. Models write `non‑rumor` with the hyphen U+2011. */
function fold(word: string): string {
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

/** Labels whose names are their answer words. */
export function namesAsWords(names: readonly string[]): AnswerWords {
  return Object.fromEntries(names.map((name) => [name, [name]]));
}

/** "Yes or No", as prompts name the answers. */
export function namedAnswers(words: AnswerWords): string {
  const names = Object.values(words).map(([first]) => first);
  return `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`;
}
