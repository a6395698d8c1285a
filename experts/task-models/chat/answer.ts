import { oneLine } from '../../detectors/numbered-posts.ts';
import { strictAnswer, withoutThinking } from '../../detectors/strict-answer.ts';
import type { ChatAnswer, TokenLogprob } from '../../llm/chat.ts';
import { classProbabilities } from '../../llm/class-probabilities.ts';
import type { ChatTask } from './task.ts';

type Form = Pick<ChatTask<never>, 'field' | 'words'>;

export interface ReadAnswer {
  /** Null when the answer names no class, or several. */
  readonly label: string | null;
  /** Null without a label, or without log-probabilities that tell. */
  readonly probabilities: Readonly<Record<string, number>> | null;
  /** Empty when the answer gives none, or no label that it could be the reason of. */
  readonly explanation: string;
}

const MARKS = '["\'*_`\\s]*';
const REASON = new RegExp(`[\\s,;.|"'*_\`)\\]}({[-]*\\breason(?:ing)?\\b${MARKS}[:=]`, 'i');
const THOUGHT = '</think>';
/** Of the class word, so much that no other place of the answer looks the same. */
const LETTERS_TO_FIND = 3;

/** An answer as it should be: the class that is meant, and why. */
export function writeAnswer(options: { form: Form; label: string; explanation: string }): string {
  const { form, label, explanation } = options;
  const reason = oneLine(explanation);
  return `${form.field}: ${form.words[label][0]}${reason === '' ? '' : `, Reason: ${reason}`}`;
}

/** Reads "Stance: Support, Reason: …", also with Markdown or JSON around it, or beginning with the class at once. */
export function readAnswer(options: { answer: ChatAnswer; form: Form }): ReadAnswer {
  const { answer, form } = options;
  const said = withoutThinking(answer.text);
  for (const start of classStarts({ said, field: form.field })) {
    const rest = said.slice(start);
    const stated = rest.split(REASON, 1)[0];
    const label = onlyAnswer({ stated, words: form.words });
    if (label === null) continue;
    const probabilities = ofTokens({ logprobs: answer.logprobs, said, start, words: form.words });
    return { label, probabilities, explanation: reasonOf({ said, start, stated }) };
  }
  return { label: null, probabilities: null, explanation: '' };
}

/** Where a class may stand: after each "Stance:", or at the beginning of an answer that has none. */
function classStarts(options: { said: string; field: string }): number[] {
  const { said, field } = options;
  const headers = said.matchAll(new RegExp(`\\b${field}\\b${MARKS}[:=][\\s"'*_\`([{]*`, 'gi'));
  const starts = [...headers].map((header) => header.index + header[0].length);
  return starts.length > 0 ? starts : [0];
}

/** "Support, Deny, Question or Comment" repeats the question. */
function onlyAnswer(options: { stated: string; words: Form['words'] }): string | null {
  const { stated, words } = options;
  const label = strictAnswer({ text: stated, words });
  const next = (stated.split(/[,;/|]/, 2)[1] ?? '').replace(/^\s*(?:or|and)\b/i, '');
  const other = strictAnswer({ text: next, words });
  return other === null || other === label ? label : null;
}

/** What stands after "Reason:", wherever that is; else what follows the class. */
function reasonOf(options: { said: string; start: number; stated: string }): string {
  const { said, start, stated } = options;
  const before = said.slice(0, start).split(REASON);
  const after = said.slice(start + stated.length).replace(REASON, '');
  const afterClass = /(?:[.,;:!\n]|\s[-–—]\s)([\s\S]*)$/.exec(stated)?.[1] ?? '';
  const reason = oneLine(after || (before.length > 1 ? withoutHeader(before[1]) : afterClass));
  return unwrapped(said.startsWith('{') ? reason.replace(/\s*}$/, '') : reason);
}

/** Without the Markdown, brackets or quotation marks around all of it. */
function unwrapped(text: string): string {
  const plain = text.replace(/^[*_`\s]+|[*_`\s]+$/g, '');
  return /^"([^"]*)"$|^\[([^\]]*)\]$/.exec(plain)?.slice(1).find(Boolean) ?? plain;
}

/** Of a reason that was given first, the "Stance:" that it runs into. */
function withoutHeader(text: string): string {
  return text.replace(/[\s,;"'*_`({[]*\w+["'*_`\s]*[:=][\s"'*_`([{]*$/, '');
}

/** The probabilities at the class word, which the tokens hold at the same place as the text does. */
function ofTokens(options: {
  logprobs: readonly TokenLogprob[] | null;
  said: string;
  start: number;
  words: Form['words'];
}): ReadAnswer['probabilities'] {
  const { logprobs, said, start, words } = options;
  if (logprobs === null) return null;
  // Some servers tell the vocabulary's own signs for a space.
  const joined = logprobs.map(({ token }) => token.replace(/[\u2581\u0120]/gu, ' ')).join('');
  // Only up to the class word: of an emoji in the reason, tokens hold but pieces.
  const answerAt = joined.indexOf(said.slice(0, start + LETTERS_TO_FIND), Math.max(0, joined.lastIndexOf(THOUGHT)));
  if (answerAt < 0) return null;
  let end = 0;
  const first = logprobs.findIndex(({ token }) => {
    end += token.length;
    return end > answerAt + start;
  });
  return classProbabilities({ answerWords: words, logprobs: logprobs.slice(first) })?.probabilities ?? null;
}
