import { type ChatAnswer, whyIncomplete } from '../chat.ts';
import type { AnswerWords } from './answer-words.ts';

/** To be raised whenever the same text could be read differently. */
export const publishedReaderVersion = 1;

/** The label that EARD's published code finds in an answer; null where it finds none. */
export function readPublished(answer: Pick<ChatAnswer, 'text' | 'finishReason'>, words: AnswerWords): string | null {
  // It reads what was cut off as well: it allows an answer of 3 tokens.
  if (whyIncomplete(answer) !== null && answer.finishReason !== 'length') return null;
  return substringAnswer({ text: answer.text, words });
}

/** What EARD's published code takes for yes and no. */
const PUBLISHED: AnswerWords = { yes: ['yes', 'y', 'true', '1'], no: ['no', 'n', 'false', '0'] };

/**
 * How EARD's published code reads an answer: a search for substrings, one label's after the other's. Other answer
 * words are also found by their initial.
 */
function substringAnswer(options: { text: string; words: AnswerWords }): string | null {
  const text = options.text.toLowerCase();
  for (const [label, own] of Object.entries(options.words)) {
    const word = own[0].toLowerCase();
    if ((PUBLISHED[word] ?? [word, word.charAt(0)]).some((each) => text.includes(each))) return label;
  }
  return null;
}
