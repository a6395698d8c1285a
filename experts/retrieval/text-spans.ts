export interface TextSpan {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** Possible ends of a sentence with closing quotation marks. Latin full stops need a space after them. */
const ENDING = /[.!?…]+["'”’»)\]]*(?=\s|$)|[。！？]+["'”’」』）]*|\n+/gu;
const ABBREVIATION =
  /(?:^|[\s("'“‘])(?:\p{Lu}|(?:\p{L}\.)+\p{L}|Mr|Mrs|Ms|Dr|Prof|Sen|Rep|Gov|Gen|Lt|Col|Sgt|St|Jr|Sr|vs|No|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\.$/u;

/** The sentences of a text. It uses no dictionary of the machine, so the result is the same everywhere. */
export function splitSentences(text: string): TextSpan[] {
  const sentences: TextSpan[] = [];
  let start = 0;
  const add = (end: number) => {
    const raw = text.slice(start, end);
    const trimmed = raw.trim();
    if (trimmed !== '') {
      const offset = start + raw.indexOf(trimmed);
      sentences.push({ text: trimmed, start: offset, end: offset + trimmed.length });
    }
    start = end;
  };
  for (const match of text.matchAll(ENDING)) {
    const end = match.index + match[0].length;
    const isAbbreviation = match[0] === '.' && ABBREVIATION.test(text.slice(Math.max(start, end - 20), end));
    if (!isAbbreviation) add(end);
  }
  add(text.length);
  return sentences;
}

/** A name in a text, with the recogniser's confidence, 0 to 1. */
export interface Entity extends TextSpan {
  /** The recogniser's type, such as PER or LOC. */
  readonly type: string;
  readonly confidence: number;
}

/** The text with links replaced by spaces, so that all positions stay the same. */
export function withoutLinks(text: string): string {
  return text.replace(/https?:\/\/\S+|www\.\S+/gi, (link) => ' '.repeat(link.length));
}

/**
 * The words of a claim for a search service, without links and operators, which would let a claim choose its own
 * evidence: colons (`site:`, `insource:`), quotation marks, brackets, signs before a word, AND, OR, NOT.
 */
export function searchWords(text: string): string {
  return withoutLinks(text.normalize('NFKC'))
    .replace(/[\p{Cf}\p{DI}]/gu, '')
    .replace(/["“”„«»:|()[\]{}~^*\\]/g, ' ')
    .replace(/(?<!\S)[-+!]+/g, ' ')
    .replace(/(?<!\S)(?:AND|OR|NOT|NEAR|AROUND)(?!\S)/g, (operator) => operator.toLowerCase())
    .replace(/\s+/g, ' ')
    .trim();
}
