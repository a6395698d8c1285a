import type { Judgement } from '../../detector.ts';
import { type AnswerWords, strictAnswer, withoutThinking } from '../../detectors/answers.ts';
import { oneLine } from '../../detectors/prompt-text.ts';
import type { ChatAnswer, TokenLogprob } from '../../llm/chat.ts';
import { classProbabilities } from '../../llm/class-probabilities.ts';
import type { TaskPrediction } from '../task-model.ts';

/** What a language model is asked of one item, and in which words it answers. */
export interface ChatTask<Item> {
  /** For messages: "stance". */
  readonly name: string;
  /** In annotation keys: `jsdrv/stance`. */
  readonly asker: string;
  /** Raised whenever the same question could be answered, or the same answer read, differently. */
  readonly version: string;
  readonly promptVersion: number;
  readonly classes: readonly string[];
  /** What an answer begins with, before a colon and the class: "Stance". */
  readonly field: string;
  /** For each class the words that mean it; the first is what is asked for and shown. */
  readonly words: AnswerWords;
  readonly instruction: string;
  /** What of the options decides how an item is put, as plain JSON. */
  readonly limits: Readonly<Record<string, number>>;
  /** The item as it is asked about, and as it is learned by fine-tuning. */
  question(item: Item): string;
  /** The item as it is shown, solved, before another one. */
  shownQuestion(item: Item): string;
  /** What has but one right answer; two items that share it, from whatever threads, echo one another. */
  subject(item: Item): string;
  /** Texts that the question holds, for people who look at annotations. */
  length(item: Item): number;
}

type Form = Pick<ChatTask<never>, 'field' | 'words'>;

interface ReadAnswer {
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

/**
 * What several answers to one question come to: the log-probabilities of the first that has them, else the shares of the
 * classes with `smoothing` answers added to each. Answers that name no class count for none; where all are such, every
 * class is as likely and nothing is explained. The explanation is the first given for the likeliest class.
 */
export function predictionOf(options: {
  classes: readonly string[];
  answers: readonly Pick<Judgement, 'label' | 'probabilities' | 'explanation'>[];
  smoothing: number;
}): TaskPrediction {
  const { classes, answers, smoothing } = options;
  const readable = answers.filter(({ label }) => label !== null);
  if (readable.length === 0) return uniformPrediction(classes);
  const told = readable.find(({ probabilities }) => probabilities !== null)?.probabilities;
  const countOf = (name: string) => readable.filter(({ label }) => label === name).length;
  const total = readable.length + smoothing * classes.length;
  const distribution = Float64Array.from(classes, (name) => told?.[name] ?? (countOf(name) + smoothing) / total);
  const likeliest = classes[distribution.indexOf(Math.max(...distribution))];
  const explained = readable.find(({ label }) => label === likeliest) ?? readable[0];
  return { distribution, explanation: explained.explanation };
}

export function uniformPrediction(classes: readonly string[]): TaskPrediction {
  return { distribution: new Float64Array(classes.length).fill(1 / classes.length), explanation: '' };
}
