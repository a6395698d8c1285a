import { z } from 'zod';
import type { ChatAnswer, ChatRequest } from '../chat.ts';
import { type AnswerWords, answerWord, namedAnswers } from './answer-words.ts';
import { askWithRepair, type RepairableQuestion } from './ask-with-repair.ts';
import { classProbabilities } from './class-probabilities.ts';
import { type ReadAnswer, readWholeJson, toJsonSchema } from './whole-json.ts';

/*
 * A label by a language model. An endpoint with JSON schemas gets the answers as an enum, so the model can answer
 * nothing else. For the others, the prompt asks for plain text: the word alone or, after a reason, a last line that is
 * the word. Both forms are read from every endpoint, because some accept a schema and ignore it. Prose is never read:
 * any other answer is asked for once more, as the word alone.
 */

export interface VerdictForm {
  /** The answer words. The prompt asks for the first one of each label. */
  readonly words: AnswerWords;
  /** Whether the model reasons before it answers. */
  readonly reasons: boolean;
}

export interface Verdict {
  readonly label: string;
  /** The text before the answer; may be empty. */
  readonly reason: string;
  /** The index of the answer word in the text. */
  readonly at: number;
}

/** The end of a prompt that lets the model reason. */
export function lastLineAsked(words: AnswerWords): string {
  return `End with a line of its own that is exactly one of these: ${namedAnswers(words)}.`;
}

/** A verdict as plain text, in the form that prompts ask for. */
export function verdictInWords({
  words,
  label,
  reason,
}: {
  words: AnswerWords;
  label: string;
  reason: string;
}): string {
  return `${reason}\n${words[label][0]}`.trim();
}

/** The fields of a request that ask for a verdict. */
export function verdictRequest({ words, reasons }: VerdictForm): Pick<ChatRequest, 'jsonSchema'> {
  const answer = answerSchema(words);
  const schema = toJsonSchema(reasons ? z.strictObject({ reason: z.string(), answer }) : z.strictObject({ answer }));
  return { jsonSchema: { name: 'verdict', schema, strict: true, isPlainTextEnough: true } };
}

function answerSchema(words: AnswerWords) {
  return z.enum(Object.values(words).map(([first]) => first));
}

/** Reads JSON that fits the schema, or a text that is an answer word or whose last line is one. */
export function readVerdict({ text }: Pick<ChatAnswer, 'text'>, words: AnswerWords): ReadAnswer<Verdict> {
  const value = jsonVerdict(text, words) ?? wordVerdict(text, words);
  return value === null ? { problem: 'neither it nor its last line is exactly one of these.' } : { value };
}

function jsonVerdict(text: string, words: AnswerWords): Verdict | null {
  const read = readWholeJson(text, z.strictObject({ reason: z.string().default(''), answer: answerSchema(words) }));
  if ('problem' in read) return null;
  const { answer, reason } = read.value;
  const label = answerWord(answer, words)?.label;
  const key = [...text.matchAll(/"answer"\s*:\s*"/g)].at(-1);
  const at = key === undefined ? 0 : key.index + key[0].length;
  return label === undefined ? null : { label, reason: reason.trim(), at };
}

function wordVerdict(text: string, words: AnswerWords): Verdict | null {
  const lastLine = Math.max(...['\n', '\r'].map((end) => text.trimEnd().lastIndexOf(end))) + 1;
  for (const start of [0, lastLine]) {
    const read = answerWord(text.slice(start), words);
    if (read === null) continue;
    // If an earlier line is another answer, the meant one is unclear.
    const labels = text.split(/[\r\n]+/).flatMap((line) => answerWord(line, words)?.label ?? []);
    if (labels.some((label) => label !== read.label)) return null;
    const at = start + Math.max(0, text.slice(start).indexOf(read.word));
    return { label: read.label, reason: text.slice(0, start).trim(), at };
  }
  return null;
}

/**
 * The probabilities of the labels at the answer word. Null without log-probabilities; `isDropped` if they belong to
 * another text, or make another label likelier.
 */
export function verdictProbabilities(options: {
  answer: Pick<ChatAnswer, 'text' | 'logprobs'>;
  verdict: Verdict;
  words: AnswerWords;
}): { readonly probabilities: Readonly<Record<string, number>> | null; readonly isDropped: boolean } {
  const { answer, verdict, words } = options;
  const { logprobs } = answer;
  if (logprobs === null) return { probabilities: null, isDropped: false };
  // The tokens spell the text, apart from white space around it.
  const spelt = logprobs.map(({ token }) => token).join('');
  const start = spelt.length - spelt.trimStart().length - (answer.text.length - answer.text.trimStart().length);
  let end = 0;
  const first = logprobs.findIndex(({ token }) => {
    end += token.length;
    return end > start + verdict.at;
  });
  const shares = first < 0 ? null : classProbabilities({ answerWords: words, logprobs: logprobs.slice(first) });
  const isLikeliest = shares !== null && Object.values(shares).every((each) => each <= shares[verdict.label]);
  return isLikeliest ? { probabilities: shares, isDropped: false } : { probabilities: null, isDropped: true };
}

/**
 * Asks for a verdict. The prompt must end with the request in plain text. An unreadable answer is asked for once more,
 * without a reason, which then is the first answer's. Probabilities are those of a first answer only.
 * @throws MalformedAnswerError if the second answer cannot be read either
 */
export async function askVerdict(
  question: VerdictForm & Pick<RepairableQuestion<Verdict>, 'service' | 'request' | 'first'>,
): Promise<Verdict & ReturnType<typeof verdictProbabilities> & { readonly answers: readonly ChatAnswer[] }> {
  const { words, reasons } = question;
  const { value, answers } = await askWithRepair({
    ...question,
    request: { ...question.request, ...verdictRequest(question) },
    read: (answer) => readVerdict(answer, words),
    // A small model that hears what was wrong with its answer repeats it.
    again: () => ({ content: `Answer ${namedAnswers(words)} only.`, ...verdictRequest({ words, reasons: false }) }),
    expected: namedAnswers(words),
  });
  const [first] = answers;
  if (answers.length === 1)
    return { ...value, ...verdictProbabilities({ answer: first, verdict: value, words }), answers };
  const reason = reasons ? value.reason || first.text.trim() : '';
  return { ...value, reason, probabilities: null, isDropped: false, answers };
}
