import { finishHash, mixIntoHash, scrambleWord } from './murmur3.ts';

const UNKNOWN = 0;
export const SEPARATOR = 1;
/** Dropped without ending the word: don't = dont, and the variation selector of an emoji means nothing. */
const IGNORED = 2;
const LETTER = 3;
/** A single-character word inside a run, in scripts without spaces. Dictionaries differ between versions of ICU. */
const IDEOGRAPH = 4;
/** A single-character word and run: emoji, and the marks of doubt and excitement. */
const SYMBOL = 5;

const ignored = /['\u2019\p{Cf}\p{Variation_Selector}\p{Emoji_Modifier}]/u;
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const letter = /[\p{L}\p{N}\p{M}_@]/u;
const symbol = /[!?\p{S}]/u;

/** The class of a character: SEPARATOR or one of those after it. */
export function classify(character: string): number {
  if (ignored.test(character)) return IGNORED;
  if (unspaced.test(character)) return IDEOGRAPH;
  if (letter.test(character)) return LETTER;
  return symbol.test(character) ? SYMBOL : SEPARATOR;
}

/** The class of every code point that occurred so far. */
const classes = new Uint8Array(0x110000);
const SPACE = 0x20;

/**
 * Cuts a text into words (as hashes) and runs of characters between separators. Each run has a space at both ends, so
 * that n-grams show the beginning of a word. The arrays belong to the scanner and are valid until the next `scan`.
 */
export class TextScanner {
  /** The hash of each word, [wordCount]. */
  words = new Int32Array(1024);
  wordCount = 0;
  /** Code points of all runs; run r is `characters[runStarts[r] … runEnds[r])`. */
  characters = new Int32Array(4096);
  runStarts = new Int32Array(1024);
  runEnds = new Int32Array(1024);
  runCount = 0;

  private readonly masks: boolean;

  constructor(options: { maskHandlesAndUrls: boolean }) {
    this.masks = options.maskHandlesAndUrls;
  }

  /** Fills the arrays with the words, runs and characters of a text. */
  scan(text: string): void {
    const normalized = normalizeText(text);
    const clean = (this.masks ? maskHandlesAndUrls(normalized) : normalized).toLowerCase();
    this.reserve(clean.length);
    const { words, characters, runStarts, runEnds } = this;
    let wordCount = 0;
    let runCount = 0;
    let end = 0;
    let inRun = false;
    let hash = 0;
    let wordLength = 0;

    for (let index = 0; index <= clean.length; index++) {
      // The end of the text counts as a separator, which ends the last word and run.
      const codePoint = index < clean.length ? clean.codePointAt(index)! : SPACE;
      if (codePoint > 0xffff) index++;
      let kind = classes[codePoint];
      if (kind === UNKNOWN) {
        kind = classify(String.fromCodePoint(codePoint));
        classes[codePoint] = kind;
      }
      if (kind === IGNORED) continue;
      if (kind !== LETTER && wordLength > 0) {
        words[wordCount++] = finishHash(hash, 4 * wordLength);
        hash = 0;
        wordLength = 0;
      }
      if ((kind === SEPARATOR || kind === SYMBOL) && inRun) {
        characters[end++] = SPACE;
        runEnds[runCount++] = end;
        inRun = false;
      }
      if (kind === SEPARATOR) continue;
      const scrambled = scrambleWord(codePoint);
      if (kind === LETTER) {
        hash = mixIntoHash(hash, scrambled);
        wordLength++;
      } else words[wordCount++] = finishHash(mixIntoHash(0, scrambled), 4);
      if (kind === SYMBOL) continue;
      if (!inRun) {
        runStarts[runCount] = end;
        characters[end++] = SPACE;
        inRun = true;
      }
      characters[end++] = codePoint;
    }
    this.wordCount = wordCount;
    this.runCount = runCount;
  }

  /** A text of n code units has at most n words and n runs, and with two spaces a run at most 3n characters. */
  private reserve(codeUnits: number): void {
    if (codeUnits <= this.words.length) return;
    this.words = new Int32Array(codeUnits);
    this.runStarts = new Int32Array(codeUnits);
    this.runEnds = new Int32Array(codeUnits);
    this.characters = new Int32Array(3 * codeUnits);
  }
}

const HANDLE = /(?<![\p{L}\p{N}_@])@[A-Za-z0-9_]+/gu;
const LINK = /\b(?:https?:\/\/|www\.)[^\s\u3000-\u303f\uff00-\uffef\p{Script=Han}]+/giu;
const MESSY_SPACE = /\s\s|[^\S ]|^ | $/u;

/** Unicode NFKC (full-width forms, ligatures and stylised letters become plain), trimmed and with single spaces. */
export function normalizeText(text: string): string {
  const composed = text.normalize('NFKC');
  return MESSY_SPACE.test(composed) ? composed.replace(/\s+/gu, ' ').trim() : composed;
}

/** Replaces handles by @USER and links by HTTPURL, because they only identify persons and pages. */
export function maskHandlesAndUrls(text: string): string {
  const withoutUrls = /http|www/iu.test(text) ? text.replace(LINK, 'HTTPURL') : text;
  return withoutUrls.includes('@') ? withoutUrls.replace(HANDLE, '@USER') : withoutUrls;
}
