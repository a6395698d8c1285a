import type { Judgement } from '../../detector.ts';
import { type AnswerWords, strictAnswer } from '../../detectors/answers.ts';
import { classProbabilities } from '../../llm/answers/class-probabilities.ts';
import type { ChatAnswer, TokenLogprob } from '../../llm/chat.ts';
import { oneLine } from '../../llm/prompt-text.ts';
import type { TaskPrediction } from '../task-model.ts';

/**
 * A labelling task as a language model is given it: what is asked about one item, and in which words it is answered.
 */
export interface ChatTask<Item> {
  /** For messages: "stance". */
  readonly name: string;
  /** In annotation keys: `jsdrv/stance`. */
  readonly asker: string;
  /** To be raised whenever the same question could be answered differently, or the same answer be read differently. */
  readonly version: string;
  readonly promptVersion: number;
  readonly classes: readonly string[];
  /** What an answer begins with, before a colon and the class, such as "Stance". */
  readonly field: string;
  /** The words that stand for each class; the first is the one asked for and shown. */
  readonly words: AnswerWords;
  readonly instruction: string;
  /** The options that decide how an item is presented, as plain JSON. */
  readonly limits: Readonly<Record<string, number>>;
  /** The item as a question, also for fine-tuning. */
  question(item: Item): string;
  /** The item as a solved example in front of another question. */
  shownQuestion(item: Item): string;
  /**
   * What the right answer depends on. Two items with the same subject, even in different threads, give each other's
   * answer away.
   */
  subject(item: Item): string;
  /** How many texts the question contains, for people who look at annotations. */
  length(item: Item): number;
}

type Form = Pick<ChatTask<never>, 'field' | 'words'>;

interface ReadAnswer {
  readonly label: string;
  /** Null without usable log-probabilities. */
  readonly probabilities: Readonly<Record<string, number>> | null;
  /** Empty when the answer gives no reason. */
  readonly explanation: string;
}

const MARKS = '["\'*_`\\s]*';
const REASON = new RegExp(`[\\s,;.|"'*_\`)\\]}({[-]*\\breason(?:ing)?\\b${MARKS}[:=]`, 'i');
/** As many letters of the class word are compared, so that no other place in the answer looks the same. */
const LETTERS_TO_FIND = 3;

/** A well-formed answer: the class and the reason for it. */
export function writeAnswer(options: { form: Form; label: string; explanation: string }): string {
  const { form, label, explanation } = options;
  const reason = oneLine(explanation);
  return `${form.field}: ${form.words[label][0]}${reason === '' ? '' : `, Reason: ${reason}`}`;
}

/**
 * Reads "Stance: Support, Reason: …", also inside Markdown or JSON, or without "Stance:". Null when the answer names no class,
 * or several.
 */
export function readAnswer(options: { answer: ChatAnswer; form: Form }): ReadAnswer | null {
  const { answer, form } = options;
  const said = answer.text.trim();
  const found = classStarts({ said, field: form.field }).flatMap(({ start, next }) => {
    const stated = said.slice(start).split(REASON, 1)[0];
    const label = onlyAnswer({ stated: stated.slice(0, next - start), words: form.words });
    return label === null ? [] : [{ start, stated, label }];
  });
  const [first] = found;
  if (first === undefined || contradicts({ said, found })) return null;
  const { start, stated, label } = first;
  const probabilities = ofTokens({ logprobs: answer.logprobs, said, start, words: form.words });
  return { label, probabilities, explanation: reasonOf({ said, start, stated }) };
}

/** Whether a second class is stated, before any reason or on a line of its own. Within a reason, a class is only spoken of. */
function contradicts(options: {
  said: string;
  found: readonly { start: number; stated: string; label: string }[];
}): boolean {
  const { said, found } = options;
  const [first] = found;
  const isBeforeReason = ({ start }: { start: number }) => start < first.start + first.stated.length;
  const standsAlone = ({ start }: { start: number }) =>
    /(?:^|\n)["'*_`\s{[(-]*\w+["'*_`\s]*[:=]["'*_`\s[({]*$/.test(said.slice(0, start));
  return found.some((each) => each.label !== first.label && (isBeforeReason(each) || standsAlone(each)));
}

/** Where a class may be found: between one "Stance:" and the next, or from the beginning of an answer without one. */
function classStarts(options: { said: string; field: string }): { start: number; next: number }[] {
  const { said, field } = options;
  const headers = [...said.matchAll(new RegExp(`\\b${field}\\b${MARKS}[:=][\\s"'*_\`([{]*`, 'gi'))];
  if (headers.length === 0) return [{ start: 0, next: said.length }];
  return headers.map((header, index) => ({
    start: header.index + header[0].length,
    next: headers[index + 1]?.index ?? said.length,
  }));
}

/**
 * The only class that is named; null for an answer such as "Support, Deny, Question or Comment", which repeats the
 * question.
 */
function onlyAnswer(options: { stated: string; words: Form['words'] }): string | null {
  const { stated, words } = options;
  const label = strictAnswer({ text: stated, words });
  const next = (stated.split(/[,;/|]/, 2)[1] ?? '').replace(/^\s*(?:or|and)\b/i, '');
  const other = strictAnswer({ text: next, words });
  return other === null || other === label ? label : null;
}

/** The text after "Reason:", wherever that is; without it, the text that follows the class. */
function reasonOf(options: { said: string; start: number; stated: string }): string {
  const { said, start, stated } = options;
  const before = said.slice(0, start).split(REASON);
  const after = said.slice(start + stated.length).replace(REASON, '');
  const afterClass = /(?:[.,;:!\n]|\s[-–—]\s)([\s\S]*)$/.exec(stated)?.[1] ?? '';
  const reason = oneLine(after || (before.length > 1 ? withoutHeader(before[1]) : afterClass));
  return unwrapped(said.startsWith('{') ? reason.replace(/\s*}$/, '') : reason);
}

/** The text without Markdown, brackets or quotation marks around it. */
function unwrapped(text: string): string {
  const plain = text.replace(/^[*_`\s]+|[*_`\s]+$/g, '');
  return /^"([^"]*)"$|^\[([^\]]*)\]$/.exec(plain)?.slice(1).find(Boolean) ?? plain;
}

/** A reason that was given first, without the "Stance:" that follows it. */
function withoutHeader(text: string): string {
  return text.replace(/[\s,;"'*_`({[]*\w+["'*_`\s]*[:=][\s"'*_`([{]*$/, '');
}

/** The probabilities at the class word, which is at the same place in the tokens as in the text. */
function ofTokens(options: {
  logprobs: readonly TokenLogprob[] | null;
  said: string;
  start: number;
  words: Form['words'];
}): ReadAnswer['probabilities'] {
  const { logprobs, said, start, words } = options;
  if (logprobs === null) return null;
  // Some servers send the vocabulary's own symbols for a space.
  const joined = logprobs.map(({ token }) => token.replace(/[\u2581\u0120]/gu, ' ')).join('');
  // Compared only up to the class word: tokens may contain mere pieces of an emoji in the reason.
  const answerAt = joined.indexOf(said.slice(0, start + LETTERS_TO_FIND));
  if (answerAt < 0) return null;
  let end = 0;
  const first = logprobs.findIndex(({ token }) => {
    end += token.length;
    return end > answerAt + start;
  });
  return classProbabilities({ answerWords: words, logprobs: logprobs.slice(first) })?.probabilities ?? null;
}

/**
 * Combines several answers to one question, at least one: the log-probabilities of the first answer that has them, or else
 * the shares of the classes, with `smoothing` answers added to each. The explanation is the first one given for the
 * likeliest class.
 */
export function predictionOf(options: {
  classes: readonly string[];
  answers: readonly Pick<Judgement, 'label' | 'probabilities' | 'explanation'>[];
  smoothing: number;
}): TaskPrediction {
  const { classes, answers, smoothing } = options;
  const told = answers.find(({ probabilities }) => probabilities !== null)?.probabilities;
  const countOf = (name: string) => answers.filter(({ label }) => label === name).length;
  const total = answers.length + smoothing * classes.length;
  const distribution = Float64Array.from(classes, (name) => told?.[name] ?? (countOf(name) + smoothing) / total);
  const likeliest = classes[distribution.indexOf(Math.max(...distribution))];
  const explained = answers.find(({ label }) => label === likeliest) ?? answers[0];
  return { distribution, explanation: explained.explanation };
}

export function uniformPrediction(classes: readonly string[]): TaskPrediction {
  return { distribution: new Float64Array(classes.length).fill(1 / classes.length), explanation: '' };
}
