import { z } from 'zod';
import type { ChatAnswer, ChatRequest } from '../chat.ts';
import { type AnswerWords, namedAnswers, readLine } from './answer-words.ts';
import { askWithRepair, type Reading, type RepairableQuestion } from './ask-with-repair.ts';
import { classProbabilities } from './class-probabilities.ts';
import { readWholeJson, toJsonSchema, wholeJson } from './whole-json.ts';

/*
 * A label by a language model. An endpoint that takes JSON schemas is given the answers as an enum, so that the model can say
 * nothing else. The prompt asks for the same in plain text, for all others: the word alone, or, where the model is to reason
 * first, a last line "Answer: <word>". Both forms are read from every endpoint, since some take a schema and ignore it.
 */

/** To be raised whenever the same text could be read differently. */
export const verdictReaderVersion = 1;

export interface VerdictForm {
  /** The first word of each label is the one that is asked for. */
  readonly words: AnswerWords;
  /** Whether the prompt has the model reason before it answers. */
  readonly reasons: boolean;
}

export interface Verdict {
  readonly label: string;
  /** What was said before the answer; empty where nothing was. */
  readonly reason: string;
  /** Where the answer word begins in the text. */
  readonly at: number;
}

/** What a prompt that reasons ends with. */
export function lastLineAsked(words: AnswerWords): string {
  return `End with a line of its own, "Answer: " and exactly one of: ${namedAnswers(words)}.`;
}

/** A verdict in plain text, as it is asked for. */
export function verdictInWords({
  words,
  label,
  reason,
}: {
  words: AnswerWords;
  label: string;
  reason: string;
}): string {
  return `${reason}\nAnswer: ${words[label][0]}`.trim();
}

/** What of a request makes it ask for a verdict. */
export function verdictRequest({ words, reasons }: VerdictForm): Pick<ChatRequest, 'jsonSchema' | 'reader'> {
  const schema = toJsonSchema(schemaOf({ words, reasons }));
  return {
    jsonSchema: { name: 'verdict', schema, strict: true, isPlainTextEnough: true },
    reader: { name: 'verdict', version: verdictReaderVersion, words, reasons },
  };
}

function schemaOf({ words, reasons }: VerdictForm) {
  const answer = z.enum(Object.values(words).map(([first]) => first));
  return reasons ? z.strictObject({ reason: z.string(), answer }) : z.strictObject({ answer });
}

export function readVerdict({ text }: Pick<ChatAnswer, 'text'>, form: VerdictForm): Reading<Verdict> {
  const { words, reasons } = form;
  const isJson = typeof wholeJson(text) === 'object';
  const whole = readLine(text, words);
  if (whole.label !== null) return { value: { label: whole.label, reason: '', at: placeOf(whole.word, text) } };
  if (isJson) return readVerdictInJson(text, form);
  if (!reasons) return { problem: `it is not exactly one of: ${namedAnswers(words)}.` };
  const lines = text.trim().split(/\r\n?|\n/);
  const last = readLine(lines[lines.length - 1], words);
  if (!last.isLed || last.label === null)
    return { problem: `its last line is not "Answer: " and exactly one of: ${namedAnswers(words)}.` };
  const reason = lines.slice(0, -1).join('\n').trim();
  if (!agrees(reason, { words, label: last.label })) return { problem: 'it gives several answers.' };
  return { value: { label: last.label, reason, at: placeOf(last.word, text) } };
}

function readVerdictInJson(text: string, form: VerdictForm): Reading<Verdict> {
  const { words } = form;
  const read = readWholeJson<{ reason?: string; answer: string }>(text, schemaOf(form));
  if ('problem' in read) return read;
  const { reason = '', answer } = read.value;
  const label = Object.keys(words).find((each) => words[each][0] === answer) ?? answer;
  if (!agrees(reason, { words, label })) return { problem: 'it gives several answers.' };
  const key = [...text.matchAll(/"answer"\s*:\s*"/g)].at(-1);
  return { value: { label, reason: reason.trim(), at: key === undefined ? 0 : key.index + key[0].length } };
}

/** The answer ends a text; what holds signs that nobody sees is as good as at its beginning. */
function placeOf(word: string, text: string): number {
  return Math.max(0, text.lastIndexOf(word));
}

/** Also in a draft: "- **Answer:** no", `{"answer": "no"}`, "The answer is clear. Answer: no". */
const ANSWERS = /answer["'*_`]*\s*[:：](.*)/gi;

/** Whether whatever a reason calls an answer is this one. */
function agrees(reason: string, { words, label }: { words: AnswerWords; label: string }): boolean {
  return [...reason.matchAll(ANSWERS)].every(([whole, said]) =>
    [whole, said].some((text) => readLine(text, words).label === label),
  );
}

/**
 * The probabilities of the labels at the answer word. Null without log-probabilities; `isDropped` where there are some that
 * are of another text, or by which another label is likelier.
 */
export function verdictProbabilities(options: {
  answer: Pick<ChatAnswer, 'text' | 'logprobs'>;
  verdict: Verdict;
  words: AnswerWords;
}): { readonly probabilities: Readonly<Record<string, number>> | null; readonly isDropped: boolean } {
  const { answer, verdict, words } = options;
  const { logprobs } = answer;
  if (logprobs === null) return { probabilities: null, isDropped: false };
  // The tokens spell the text, but for white space around it.
  const spelt = logprobs.map(({ token }) => token).join('');
  const start = spelt.length - spelt.trimStart().length - (answer.text.length - answer.text.trimStart().length);
  let end = 0;
  const first = logprobs.findIndex(({ token }) => {
    end += token.length;
    return end > start + verdict.at;
  });
  const found = first < 0 ? null : classProbabilities({ answerWords: words, logprobs: logprobs.slice(first) });
  const isLikeliest = found !== null && Object.values(found).every((each) => each <= found[verdict.label]);
  return isLikeliest ? { probabilities: found, isDropped: false } : { probabilities: null, isDropped: true };
}

/**
 * Asks for a verdict, with a request whose prompt ends with what is asked for in plain text. What cannot be read is asked for
 * once more; probabilities are those of a first answer only.
 * @throws MalformedAnswerError where the second answer cannot be read either
 */
export async function askVerdict(
  asked: VerdictForm & Pick<RepairableQuestion<Verdict>, 'service' | 'request' | 'first'>,
): Promise<Verdict & ReturnType<typeof verdictProbabilities> & { readonly answers: readonly ChatAnswer[] }> {
  const { words } = asked;
  const { value, answers } = await askWithRepair({
    ...asked,
    request: { ...asked.request, ...verdictRequest(asked) },
    read: (answer) => readVerdict(answer, asked),
    instruction: `Answer with exactly one of: ${namedAnswers(words)}.`,
    wanted: `exactly one of: ${namedAnswers(words)}`,
  });
  const answer = answers.length === 1 ? answers[0] : { text: '', logprobs: null };
  return { ...value, ...verdictProbabilities({ answer, verdict: value, words }), answers };
}
