import { z } from 'zod';
import { jsonOrUndefined } from '../../../src/json.ts';
import type { ChatAnswer, ChatRequest } from '../chat.ts';
import { ANSWER_MARKS } from './answer-grammar.ts';
import {
  type AnswerWords,
  escaped,
  isHeading,
  namedAnswers,
  type ReadLine,
  readLine,
  readWhole,
} from './answer-words.ts';
import { askWithRepair, type Reading, type RepairableQuestion } from './ask-with-repair.ts';
import { classProbabilities } from './class-probabilities.ts';
import { whyNoReason } from './reasons.ts';
import { contradictsKey, toJsonSchema } from './whole-json.ts';

/*
 * A label by a language model. An endpoint that takes JSON schemas is given the answers as an enum, so that the model can say
 * nothing else. The prompt asks for the same in plain text, for all others: the word alone, or, where the model is to reason
 * first, a last line "Answer: <word>". Both forms are read from every endpoint, since some take a schema and ignore it.
 */

/** To be raised whenever the same text could be read differently. */
export const verdictReaderVersion = 4;

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
  /** Where the answer word begins in the text; null where the words before it have decided half of it ("It is a …"). */
  readonly at: number | null;
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

/**
 * Reads a text that is an answer and nothing else, as a word, a sentence or JSON, or a reason that ends with one. Both are read
 * whatever was asked for.
 */
export function readVerdict(
  { text: whole }: Pick<ChatAnswer, 'text'>,
  { words, reasons }: VerdictForm,
): Reading<Verdict> {
  const text = /^\s*```\w*\n([\s\S]*)\n```\s*$/.exec(whole)?.[1] ?? whole;
  const read = readWhole(text, words);
  const indent = whole.indexOf(text);
  if (read !== null)
    return { value: { label: read.label, reason: '', at: placeOf(read, { text: whole, isFirst: true }) } };
  const ending = readJsonVerdict(text, words) ?? lastAnswer(text, words);
  if (ending === null)
    return {
      problem: reasons
        ? `its last line is not "Answer: " and exactly one of: ${namedAnswers(words)}.`
        : `it is not exactly one of: ${namedAnswers(words)}.`,
    };
  if ('problem' in ending) return ending;
  const { label } = ending;
  const problem = [ending.before, ending.reason]
    .map((reason) => whyNoReason(reason, { words, label }))
    .find((each) => each !== null);
  if (problem !== undefined) return { problem };
  const reason = [ending.before, ending.reason]
    .map((each) => each.trim())
    .filter(Boolean)
    .join('\n');
  return { value: { label, reason, at: ending.at === null ? null : indent + ending.at } };
}

interface Ending extends Pick<Verdict, 'label' | 'at'> {
  /** All that is said before the answer. */
  readonly before: string;
  /** The reason beside it, in JSON. */
  readonly reason: string;
}

const BULLET = /^\s*(?:#{1,6}|[-*•]|\d+[.)])\s+/;
/** No answer is longer, and texts are not looked at for ever. */
const LONGEST_END = 2000;
const LAST_SENTENCE = /^([\s\S]*[.!?。！？]["'”’*_)]{0,3})(?:\s+|(?<=[。！？]))(.+)$/;

/** The answer that ends a text: its last line or sentence says that it is one, or the last line is an answer word. */
function lastAnswer(text: string, words: AnswerWords): Ending | null {
  const lines = text.trim().split(/\r\n?|\n/);
  const last = lines.pop() ?? '';
  const before = lines.join('\n').trimEnd();
  const line = readLine(last.replace(BULLET, ''), words);
  const previous = lines.findLast((each) => each.trim() !== '') ?? '';
  const ending = (read: ReadLine, before: string) => {
    return { label: read.label, at: placeOf(read, { text, isFirst: false }), before, reason: '' };
  };
  if (line?.opening === 'lead' || (line !== null && isHeading(previous))) return ending(line, before);
  // A word alone could belong to a list, or to the sentence before it.
  if (line?.opening === null && !BULLET.test(last) && /[.!?。！？]["'”’*_)]{0,3}$/.test(before.slice(-LONGEST_END)))
    return ending(line, before);
  const [, earlier, sentence] = LAST_SENTENCE.exec(last.slice(-LONGEST_END)) ?? [];
  const ended = sentence === undefined ? null : readLine(sentence, words);
  return ended?.opening === 'lead' ? ending(ended, `${before}\n${last.slice(0, -LONGEST_END)}${earlier}`) : null;
}

/** Where the answer word stands; what holds signs that nobody sees is as good as at its beginning. */
function placeOf({ word, opening }: ReadLine, { text, isFirst }: { text: string; isFirst: boolean }): number | null {
  if (opening === 'statement') return null;
  const sought = escaped(word);
  const places = [...text.matchAll(new RegExp(`(?<![\\p{L}\\p{N}])${sought}(?![\\p{L}\\p{N}])`, 'giu'))];
  const place = (isFirst ? places[0] : places.at(-1))?.index ?? text.lastIndexOf(word);
  return Math.max(0, place);
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
  const { at } = verdict;
  if (at === null) return { probabilities: null, isDropped: true };
  // The tokens spell the text, but for white space around it.
  const spelt = logprobs.map(({ token }) => token).join('');
  const start = spelt.length - spelt.trimStart().length - (answer.text.length - answer.text.trimStart().length);
  let end = 0;
  const first = logprobs.findIndex(({ token }) => {
    end += token.length;
    return end > start + at;
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

/*
 * An answer in JSON: an object with one key that means "answer" and, beside it, nothing but reasons. A confidence beside it may take
 * the answer back, so an object with any other key is none.
 */

const REASON =
  /^(?:reasons?|reasoning|explanation|rationale|analysis|justification|thoughts?|thinking|thought_?process|evidence|steps?)$/i;
/** No text holds more braces than that before its answer. */
const MOST_BRACES = 50;

const objectSchema = z.record(z.string(), z.unknown());
const reasonSchema = z.union([z.string(), z.array(z.string()).transform((parts) => parts.join('\n')), z.null()]);

export interface JsonVerdict extends Pick<ReadLine, 'label'> {
  /** Where the value of the answer begins in the text. */
  readonly at: number;
  /** What is said before the JSON. */
  readonly before: string;
  /** What its reasons say. */
  readonly reason: string;
}

/** The answer in the JSON object that ends a text. Null where none does; a problem where it is no answer. */
function readJsonVerdict(text: string, words: AnswerWords): JsonVerdict | { readonly problem: string } | null {
  const ending = lastObject(text);
  if (ending === null) return null;
  const wanted = `its JSON holds no "answer" that is one of: ${namedAnswers(words)}, and nothing but a reason beside it.`;
  const entries = Object.entries(ending.object);
  const answers = entries.filter(([key]) => ANSWER_MARKS.test(key.toLowerCase()));
  const reasons = entries.filter((entry) => !answers.includes(entry));
  const read = reasonSchema.array().safeParse(reasons.map(([, value]) => value));
  const [key, said] = answers.length === 1 ? answers[0] : ['', null];
  const line = typeof said === 'string' ? readLine(said, words) : null;
  if (line === null || !read.success || !reasons.every(([key]) => REASON.test(key))) return { problem: wanted };
  if (contradictsKey(ending.json)) return { problem: 'a key stands twice in it, with two values.' };
  const value = [...ending.json.matchAll(new RegExp(`"${escaped(key)}"\\s*:\\s*"`, 'g'))].at(-1);
  const at = ending.start + (value === undefined ? 0 : value.index + value[0].length);
  return { label: line.label, at, before: ending.before, reason: read.data.map((each) => each ?? '').join('\n') };
}

function lastObject(text: string) {
  const trimmed = text.trimEnd();
  const body = trimmed.endsWith('```') ? trimmed.slice(0, -3).trimEnd() : trimmed;
  if (!body.endsWith('}')) return null;
  let start = -1;
  for (let tried = 0; tried < MOST_BRACES; tried++) {
    start = body.indexOf('{', start + 1);
    if (start < 0) return null;
    const json = body.slice(start);
    const object = objectSchema.safeParse(jsonOrUndefined(json)).data;
    if (object) return { object, json, start, before: body.slice(0, start).replace(/```\w*\s*$/, '') };
  }
  return null;
}
