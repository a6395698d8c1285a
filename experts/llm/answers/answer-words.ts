import type { AnswerWords } from '../chat.ts';
import { HEADING, type Opening, openingOf, withoutNoun } from './answer-grammar.ts';

/*
 * Which texts are an answer: those that are one of the answer words, or a sentence of the grammar that ends with one
 * (answer-grammar.ts), and nothing else. There is no list of what to refuse, for it would never be complete; what is not an answer
 * is asked for again.
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
/** Nobody says the same in more ways than that. */
const MOST_PIECES = 12;

export interface ReadLine {
  readonly label: string;
  /** What precedes the word; null where nothing does. */
  readonly opening: Opening | null;
  /** The answer word, as it stands in the text but for its case. */
  readonly word: string;
}

/** The label of a text that is one answer word, or one sentence of the grammar; null for any other text. */
export function readLine(text: string, words: AnswerWords): ReadLine | null {
  const line = text.replace(INVISIBLE, '').trim();
  if (line === '' || line.length > LONGEST) return null;
  // A sentence of the grammar is one line.
  return readBare(line, words) ?? (/[\r\n]/.test(line) ? null : readSentence(line, words));
}

/** Takes away white space, pairs of marks around the text and one stop, and compares what is left. */
function readBare(line: string, words: AnswerWords): ReadLine | null {
  let word = line;
  let isStopped = false;
  for (;;) {
    const label = labelOf(word, words);
    if (label !== null) return { label, opening: null, word };
    const inner = withoutPair(word);
    if (inner !== null) word = inner.trim();
    else if (!isStopped && word !== '' && STOPS.includes(word.slice(-1))) {
      isStopped = true;
      word = word.slice(0, -1).trim();
    } else return null;
  }
}

function readSentence(line: string, words: AnswerWords): ReadLine | null {
  const plain = plainSentence(line);
  for (const sentence of [plain, withoutNoun(plain)]) {
    if (sentence === null) continue;
    const found = Object.entries(words).flatMap(([label, own]) =>
      own.flatMap((each): ReadLine[] => {
        const word = folded(each);
        if (!sentence.endsWith(word)) return [];
        const opening = openingOf(sentence.slice(0, -word.length), word);
        const fits = opening !== null && (sentence === plain || opening === 'statement');
        return fits ? [{ label, opening, word }] : [];
      }),
    );
    if (new Set(found.map(({ label }) => label)).size === 1) return found[0];
  }
  return null;
}

/** A sentence as grammars compare it: without marks and stop, in small letters. */
export function plainSentence(text: string): string {
  const inside = withoutMarks(text.replace(INVISIBLE, '').trim());
  const stopped = STOPS.includes(inside.slice(-1)) ? inside.slice(0, -1).trim() : inside;
  return folded(withoutMarks(stopped).replace(/\s+/g, ' '));
}

const MARKED = PAIRS.flatMap((open, index) => (index % 2 === 0 ? [[open, PAIRS[index + 1]]] : [])).map(
  ([open, close]) =>
    new RegExp(`(?<![\\p{L}\\p{N}])${escaped(open)}([^\\n]+?)${escaped(close)}(?![\\p{L}\\p{N}])`, 'gu'),
);

/** Takes away pairs of marks wherever they stand around something. */
function withoutMarks(text: string): string {
  let inside = text;
  for (let before = ''; before !== inside; ) {
    before = inside;
    for (const marked of MARKED) inside = inside.replace(marked, (_, within: string) => within.trim());
  }
  return inside;
}

/**
 * The label of a whole text: a line that `readLine` reads, or several that give the same label, as where a model repeats itself or
 * says a word and then the sentence ("Yes, it is a rumor").
 */
export function readWhole(text: string, words: AnswerWords): ReadLine | null {
  // A list of one.
  const whole = readLine(/^\s*(?:[-*•]|1[.)])\s+(\S[^\r\n]*)\s*$/.exec(text)?.[1] ?? text, words);
  if (whole !== null) return whole;
  const pieces = new Set<string>();
  for (const piece of text.split(/[\r\n]+|(?<=[.!。！]["'”’*_)]{0,3})\s+/)) {
    if (piece.trim() !== '') pieces.add(piece.trim());
    if (pieces.size > MOST_PIECES) return null;
  }
  const statements = [...pieces].filter((piece, index) => index === pieces.size - 1 || !isHeading(piece));
  const read = statements.map((piece) => readPiece(piece, words));
  const [first] = read;
  return first && read.every((each) => each?.label === first.label) ? first : null;
}

/** Whether it says no more than that the answer follows. */
export function isHeading(line: string): boolean {
  return line.length < 80 && HEADING.test(plainSentence(line));
}

/** A word before a comma, a dash or a bracket, with what repeats or explains it. */
const TWO_PARTS = /^([^,，;(（]+?)(?:\s*[,，;]\s*|\s+[-–—]\s+|\s+[(（](?=[^()（）]*[)）][.。!！]?$))(.+)$/u;
const NEGATED = /^((?:it|this|that|the [^,]{1,80}?)(?: is|['’]s))(?: not|n['’]t)(?= |$)/;

function readPiece(piece: string, words: AnswerWords): ReadLine | null {
  const line = readLine(piece, words);
  if (line !== null || piece.length > LONGEST) return line;
  const tokens = new Set(piece.split(/[\s,]+/).map(folded));
  if (tokens.size === 1) return readLine([...tokens][0], words);
  const parts = TWO_PARTS.exec(piece);
  const first = parts && readLine(parts[1], words);
  if (!parts || !first || first.opening === 'statement') return null;
  const [, , more] = parts;
  const rest = plainSentence(more.replace(/[)）]([.。!！]?)$/, '$1'));
  const second = readPiece(rest, words);
  if (second !== null) return second.label === first.label ? first : null;
  const word = folded(first.word);
  if (
    (word === 'yes' && /^(?:it|this|that) is$/.test(rest)) ||
    (word === 'no' && /^(?:it|this|that)(?: is|['’]s)(?: not|n['’]t)$/.test(rest))
  )
    return first;
  // "No, it is not a rumor": the word is the answer, and the sentence denies another label.
  const denied = NEGATED.test(rest) ? readLine(rest.replace(NEGATED, '$1'), words) : null;
  return denied !== null && denied.label !== first.label ? first : null;
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
  const foldedWord = folded(word);
  const labels = Object.keys(words).filter((label) => words[label].some((each) => folded(each) === foldedWord));
  return labels.length === 1 ? labels[0] : null;
}

/** As words are compared. Models write `non‑rumor` with the hyphen U+2011. */
export function folded(word: string): string {
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

export function escaped(text: string): string {
  return text.replace(/[$()*+.?[\\\]^{|}]/g, '\\$&');
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
