import { setImmediate as nextTurn } from 'node:timers/promises';
import { sha256OfText } from '../../../src/content-hash.ts';
import { ProviderError } from '../../../src/errors.ts';
import { likeliest } from '../../../src/likeliest.ts';
import { PromiseCache } from '../../../src/promise-cache.ts';
import type { AskOnce, Question } from '../../asking/ask-once.ts';
import type { Judgement } from '../../detector.ts';
import { askVerdict, verdictInWords } from '../../llm/answers/verdict.ts';
import { type ChatMessage, type ChatService, usageOf } from '../../llm/chat.ts';
import type { Endpoint } from '../../llm/endpoint.ts';
import { endsAllCalls, MalformedAnswerError, orUnreadable, UnreadableShareError } from '../../llm/failures.ts';
import { promptLine } from '../../llm/prompt-text.ts';
import type { TaskPrediction } from '../task-model.ts';
import type { ChatTask } from './chat-task.ts';
import type { ChatOptions } from './options.ts';
import type { PredictionTally } from './prediction-tally.ts';

/** An answer in a dry run, as long as a typical reason. */
const pretendedReason = 'this is what the words of the post say, read together with the claim that it replies to';

/** Number of predictions from which on the share of unreadable ones is meaningful. */
const PREDICTIONS_FOR_SHARE = 20;

/** A model's question about one item. */
export interface ItemQuestion {
  /** The annotation of the answer, apart from its number among several samples. */
  readonly annotation: Question;
  readonly messages: readonly ChatMessage[];
}

/** The parts of a task model that its questions need. */
interface Asking {
  readonly task: Pick<ChatTask<never>, 'name' | 'classes' | 'words'>;
  readonly options: Pick<ChatOptions, 'samples' | 'smoothing' | 'failuresAtMost' | 'unreadableAtMost'>;
  readonly endpoint: Endpoint;
  readonly service: ChatService;
  readonly askOnce?: AskOnce;
  readonly tally: PredictionTally;
  readonly signal?: AbortSignal;
}

/** Predicts one item per question, in order. */
export async function predictions(asking: Asking, questions: readonly ItemQuestion[]): Promise<TaskPrediction[]> {
  const { task, options, endpoint, tally, signal } = asking;
  const cache = new PromiseCache<TaskPrediction | MalformedAnswerError>();
  const predicted: TaskPrediction[] = [];
  let failures = 0;
  await inParallel(questions.entries(), {
    // The service would make more of them wait anyway.
    concurrency: Math.min(endpoint.concurrency, questions.length),
    async work([index, question]) {
      signal?.throwIfAborted();
      const { input, options: modelOptions } = question.annotation;
      const key = sha256OfText(JSON.stringify([input, modelOptions]));
      try {
        predicted[index] = countOutcome(await cache.get(key, () => predictionFor(question, asking)), { key, asking });
      } catch (error) {
        const isTolerable = error instanceof ProviderError && !endsAllCalls(error);
        if (isTolerable) tally.count({ task: task.name, key, outcome: 'failed' });
        if (!isTolerable || ++failures > options.failuresAtMost * questions.length) throw error;
        predicted[index] = uniformPrediction(task.classes);
      }
      // If every answer is stored already, nothing else would let Ctrl-C interrupt the loop.
      await nextTurn();
    },
  });
  return predicted;
}

/** Returns the failure if no answer can be read. */
async function predictionFor(question: ItemQuestion, asking: Asking): Promise<TaskPrediction | MalformedAnswerError> {
  const { annotation } = question;
  const { samples, smoothing } = asking.options;
  const answer = (sample: number) => {
    const ask = () => sampleAnswer(question, { sample, asking });
    const options = { ...annotation.options, sample };
    return orUnreadable(asking.askOnce ? asking.askOnce({ ...annotation, options }, ask) : ask());
  };
  const first = await answer(0);
  const isEnough = samples === 1 || ('probabilities' in first && first.probabilities !== null);
  // Awaits all answers even if one fails, so that every answer that was paid for is stored.
  const others = await Promise.allSettled(
    Array.from({ length: isEnough ? 0 : samples - 1 }, (_, index) => answer(index + 1)),
  );
  const answers = [first];
  for (const other of others) {
    if (other.status === 'rejected') throw other.reason;
    answers.push(other.value);
  }
  const readable = answers.flatMap((each) => (each instanceof MalformedAnswerError ? [] : [each]));
  return readable.length === 0 && first instanceof MalformedAnswerError
    ? first
    : predictionOf({ classes: asking.task.classes, answers: readable, smoothing });
}

/** One answer. If it names no class, it is sent back once. */
async function sampleAnswer(
  { messages }: ItemQuestion,
  { sample, asking }: { sample: number; asking: Asking },
): Promise<Judgement> {
  const { task, service, endpoint } = asking;
  const { label, reason, probabilities, isDropped, answers } = await askVerdict({
    service,
    request: {
      endpoint,
      messages,
      dryRunText: wellFormedAnswer(task, { label: task.classes[0], explanation: pretendedReason }),
      sampleIndex: sample,
      wantLogprobs: sample === 0,
    },
    words: task.words,
    reasons: true,
  });
  return {
    label,
    probabilities,
    explanation: promptLine(reason),
    transcript: answers.map((each) => ({ role: task.name, text: each.text })),
    usage: usageOf(answers),
    ...(isDropped && { unreadableParts: 1 }),
  };
}

/** @throws UnreadableShareError if most further answers would be paid for and unreadable */
function countOutcome(
  prediction: TaskPrediction | MalformedAnswerError,
  { key, asking }: { key: string; asking: Asking },
): TaskPrediction {
  const { task, tally } = asking;
  const { unreadableAtMost } = asking.options;
  const isUnreadable = prediction instanceof MalformedAnswerError;
  tally.count({ task: task.name, key, outcome: isUnreadable ? 'unreadable' : 'answered' });
  if (!isUnreadable) return prediction;
  // Over all predictions, because a single one often has few items.
  const { questions, unreadable } = tally.of(task.name);
  if (questions < PREDICTIONS_FOR_SHARE || unreadable <= unreadableAtMost * questions)
    return uniformPrediction(task.classes);
  throw new UnreadableShareError(
    `${unreadable} of ${questions} answers of the ${task.name} model could not be read, more than the share of ` +
      `${unreadableAtMost} that is allowed; the last one: ${prediction.message}. Check the model and its maxTokens, or raise unreadableAtMost`,
  );
}

/**
 * Combines one or more answers to one question: the log-probabilities of the first answer that has them, or else the
 * shares of the classes, with `smoothing` answers added to each. The explanation is the first one for the likeliest
 * class.
 */
export function predictionOf(options: {
  classes: readonly string[];
  answers: readonly Pick<Judgement, 'label' | 'probabilities' | 'explanation'>[];
  smoothing: number;
}): TaskPrediction {
  const { classes, answers, smoothing } = options;
  const fromTokens = answers.find(({ probabilities }) => probabilities !== null)?.probabilities;
  const countOf = (name: string) => answers.filter(({ label }) => label === name).length;
  const total = answers.length + smoothing * classes.length;
  const distribution = Float64Array.from(classes, (name) => fromTokens?.[name] ?? (countOf(name) + smoothing) / total);
  const name = classes[likeliest(distribution)];
  const explained = answers.find(({ label }) => label === name) ?? answers[0];
  return { distribution, explanation: explained.explanation };
}

function uniformPrediction(classes: readonly string[]): TaskPrediction {
  return { distribution: new Float64Array(classes.length).fill(1 / classes.length), explanation: '' };
}

export function wellFormedAnswer(
  { words }: Pick<ChatTask<never>, 'words'>,
  { label, explanation }: { label: string; explanation: string },
): string {
  return verdictInWords({ words, label, reason: promptLine(explanation) });
}

/**
 * Examples become earlier turns of the conversation. The instruction precedes the first question, because not every
 * model supports a system message.
 */
export function messagesOf(options: {
  instruction: string;
  examples: readonly { readonly question: string; readonly answer: string }[];
  question: string;
}): ChatMessage[] {
  const { instruction, examples, question } = options;
  const turns: ChatMessage[] = [
    ...examples.flatMap((example): ChatMessage[] => [
      { role: 'user', content: example.question },
      { role: 'assistant', content: example.answer },
    ]),
    { role: 'user', content: question },
  ];
  const [first, ...rest] = turns;
  return [{ ...first, content: `${instruction}\n\n${first.content}` }, ...rest];
}

/**
 * Runs `work` on each item, `concurrency` at a time. After a failure nothing new starts, and works in progress are
 * awaited, so that their answers are stored. Then the first failure is thrown; a defect precedes a spent budget or an
 * unusable endpoint.
 */
async function inParallel<Item>(
  items: Iterable<Item>,
  { concurrency, work }: { concurrency: number; work: (item: Item) => Promise<void> },
): Promise<void> {
  const iterator = items[Symbol.iterator]();
  const errors: unknown[] = [];
  const worker = async () => {
    for (let next = iterator.next(); !next.done && errors.length === 0; next = iterator.next())
      await work(next.value).catch((error) => errors.push(error));
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  if (errors.length > 0) throw errors.find((error) => !endsAllCalls(error)) ?? errors[0];
}
