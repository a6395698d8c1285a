import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { InputError, ProviderError } from '../../../src/errors.ts';
import { PromiseCache } from '../../../src/promise-cache.ts';
import type { AskOnce } from '../../asking/ask-once.ts';
import type { Judgement } from '../../detector.ts';
import { endpointOf } from '../../detectors/models-by-role.ts';
import { askVerdict, verdictInWords } from '../../llm/answers/verdict.ts';
import { type ChatMessage, type ChatService, usageOf } from '../../llm/chat.ts';
import { DryRunChatService } from '../../llm/cost/dry-run-chat-service.ts';
import { answerRelevantOptions, type Endpoint } from '../../llm/endpoint.ts';
import { endsAllCalls, MalformedAnswerError, orUnreadable, UnreadableShareError } from '../../llm/failures.ts';
import { inParallel } from '../../llm/in-parallel.ts';
import { oneLine } from '../../llm/prompt-text.ts';
import type { Example, TaskModel, TaskPrediction } from '../task-model.ts';
import { type ChatTask, predictionOf, uniformPrediction } from './answer.ts';
import { createFineTuning, type FineTuningContext } from './fine-tuning.ts';
import type { ChatOptions } from './options.ts';
import { PredictionTally } from './prediction-tally.ts';
import { type ChatTuning, createInContextTuning, type TunedModel, type TuningExample } from './tuning.ts';

export interface ChatSettings<Options> extends FineTuningContext {
  readonly options: Options;
  readonly service: ChatService;
  /** Keeps the answers, so that no process pays for one twice. */
  readonly askOnce?: AskOnce | undefined;
  /** Counts what has no answer, for all models of a run. */
  readonly tally?: PredictionTally | undefined;
}

interface ItemQuestion {
  readonly text: string;
  readonly model: TunedModel;
  /** What of the model can change the answer, for annotation keys. */
  readonly modelOptions: Readonly<Record<string, unknown>>;
  readonly threadId: string;
  readonly length: number;
}

/** Answer of a dry run, as long as a typical reason. */
const pretendedReason = 'this is what the words of the post say, read together with the claim that it replies to';

/** Predictions after which their unreadable share says something. */
const PREDICTIONS_FOR_SHARE = 20;

/**
 * A task model that asks a language model one question for each item, many at a time. Each answer is kept under the
 * hash of everything that could change it, including the examples and the fine-tuned model, so a killed epoch asks
 * nothing twice. An item whose answers cannot be read gets the uniform distribution; its answers are kept as unreadable.
 */
export function createChatTaskModel<Item extends { readonly threadId: string }>(
  settings: ChatSettings<ChatOptions> & { readonly task: ChatTask<Item> },
): TaskModel<Item> {
  const { task, options, service, askOnce, tally = new PredictionTally(), signal } = settings;
  const { classes, version, promptVersion } = task;
  const { samples, smoothing, failuresAtMost, unreadableAtMost } = options;
  const endpoint = checkedEndpoint({ options, task: task.name });
  const tuning = tuningOf({ settings, endpoint });
  // Hashed, because they end up in checkpoints.
  const subjectOf = (item: Item) => hashOf(task.subject(item)).slice(0, 16);

  function questionOf(item: Item): ItemQuestion {
    const { threadId } = item;
    const model = tuning.modelFor({ threadId, subject: subjectOf(item) });
    const modelOptions = {
      promptVersion,
      model: answerRelevantOptions(model.endpoint),
      examples: model.examples.map(({ question, answer }) => ({ question, answer })),
      trainedOn: model.trainedOn,
    };
    return { text: task.question(item), model, modelOptions, threadId, length: task.length(item) };
  }

  /** A well-formed answer. */
  const answerOf = ({ label, explanation }: { label: string; explanation: string }) =>
    verdictInWords({ words: task.words, label, reason: oneLine(explanation) });

  /** One answer. If it names no class, it is sent back once. */
  async function ask(question: ItemQuestion, sample: number): Promise<Judgement> {
    const { text, model } = question;
    const { label, reason, probabilities, isDropped, answers } = await askVerdict({
      service,
      request: {
        endpoint: model.endpoint,
        messages: messagesOf({ instruction: task.instruction, examples: model.examples, question: text }),
        dryRunText: answerOf({ label: classes[0], explanation: pretendedReason }),
        sampleIndex: sample,
        wantLogprobs: sample === 0,
      },
      words: task.words,
      reasons: true,
    });
    return {
      label,
      probabilities,
      explanation: oneLine(reason),
      transcript: answers.map(({ text }) => ({ role: task.name, text })),
      usage: usageOf(answers),
      ...(isDropped && { unreadableParts: 1 }),
    };
  }

  function keptAnswer(question: ItemQuestion, sample: number): Promise<Judgement> {
    const part = {
      detector: task.asker,
      version,
      options: { ...question.modelOptions, sample },
      input: question.text,
      threadId: question.threadId,
      prefixLength: question.length,
    };
    const asking = () => ask(question, sample);
    return askOnce ? askOnce(part, asking) : asking();
  }

  /** The failure where none of the answers can be read. */
  async function predictionFor(question: ItemQuestion): Promise<TaskPrediction | MalformedAnswerError> {
    const first = await orUnreadable(keptAnswer(question, 0));
    const isEnough = samples === 1 || ('probabilities' in first && first.probabilities !== null);
    // Awaits them all even when one fails, so that every answer that was paid for is kept.
    const others = await Promise.allSettled(
      Array.from({ length: isEnough ? 0 : samples - 1 }, (_, index) => orUnreadable(keptAnswer(question, index + 1))),
    );
    const answers = [first];
    for (const other of others) {
      if (other.status === 'rejected') throw other.reason;
      answers.push(other.value);
    }
    const readable = answers.flatMap((answer) => (answer instanceof MalformedAnswerError ? [] : [answer]));
    return readable.length === 0 && first instanceof MalformedAnswerError
      ? first
      : predictionOf({ classes, answers: readable, smoothing });
  }

  /** @throws UnreadableShareError where asking on would mostly pay for what nobody can read */
  function counted(prediction: TaskPrediction | MalformedAnswerError, key: string): TaskPrediction {
    const isUnreadable = prediction instanceof MalformedAnswerError;
    tally.count({ task: task.name, key, outcome: isUnreadable ? 'unreadable' : 'answered' });
    if (!isUnreadable) return prediction;
    // Over all predictions, since one is often of few items.
    const { asked, unreadable } = tally.of(task.name);
    if (asked < PREDICTIONS_FOR_SHARE || unreadable <= unreadableAtMost * asked) return uniformPrediction(classes);
    throw new UnreadableShareError(
      `${unreadable} of ${asked} answers of the ${task.name} model could not be read, more than the share of ` +
        `${unreadableAtMost} that is allowed; the last one: ${prediction.message}. Check the model and its maxTokens, or raise unreadableAtMost`,
    );
  }

  const tuningExample = ({ item, label, explanation }: Example<Item>): TuningExample => {
    if (classes[label] === undefined)
      throw new InputError(`an example of the ${task.name} model has label ${label}; it has ${classes.length} classes`);
    const answer = answerOf({ label: classes[label], explanation });
    const { threadId } = item;
    return {
      shown: { threadId, subject: subjectOf(item), label, question: task.shownQuestion(item), answer },
      learned: { question: task.question(item), answer },
    };
  };

  return {
    classes,
    identity: {
      name: task.asker,
      version,
      promptVersion,
      ...task.limits,
      model: answerRelevantOptions(endpoint),
      samples,
      smoothing,
      failuresAtMost,
      unreadableAtMost,
    },

    async predict(items) {
      // All questions are made first: whatever is tuned meanwhile, one prediction is that of one model.
      const questions = items.map(questionOf);
      const cache = new PromiseCache<TaskPrediction | MalformedAnswerError>();
      const predictions: TaskPrediction[] = [];
      let failures = 0;
      await inParallel({
        items: questions.entries(),
        // The service would make more of them wait anyway.
        concurrency: Math.min(endpoint.concurrency, questions.length),
        async work([index, question]) {
          signal?.throwIfAborted();
          const key = hashOf(JSON.stringify([question.text, question.modelOptions]));
          try {
            predictions[index] = counted(await cache.get(key, () => predictionFor(question)), key);
          } catch (error) {
            const isTolerable = error instanceof ProviderError && !endsAllCalls(error);
            if (isTolerable) tally.count({ task: task.name, key, outcome: 'failed' });
            if (!isTolerable || ++failures > failuresAtMost * items.length) throw error;
            predictions[index] = uniformPrediction(classes);
          }
          // Where every answer is known, nothing else would let Ctrl-C be heard.
          await nextTurn();
        },
      });
      return predictions;
    },
    pretrain: (examples) => tuning.pretrain(examples.map(tuningExample)),
    tune: (examples) => tuning.tune(examples.map(tuningExample)),
    state: () => ({ arrays: {}, json: tuning.state() }),
    restore: ({ json }) => tuning.restore(json),
  };
}

/**
 * Examples become earlier turns of the conversation. The instruction precedes the first question instead of being a
 * system message, which not every model supports.
 */
function messagesOf(options: {
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

function tuningOf<Item>(options: {
  settings: ChatSettings<ChatOptions> & { readonly task: ChatTask<Item> };
  endpoint: Endpoint;
}): ChatTuning {
  const { endpoint } = options;
  const { task, options: chosen, service, ...context } = options.settings;
  switch (chosen.tuning) {
    case 'in-context':
      return createInContextTuning({ endpoint, shown: chosen.examplesShown });
    case 'fine-tuning':
      return createFineTuning({
        endpoint,
        task: task.name,
        options: chosen.fineTuning,
        isDryRun: service instanceof DryRunChatService,
        context,
        conversation: ({ question, answer }) => [
          ...messagesOf({ instruction: task.instruction, examples: [], question }),
          { role: 'assistant', content: answer },
        ],
      });
    case 'none':
      return {
        modelFor: () => ({ endpoint, examples: [], trainedOn: [] }),
        pretrain: async () => {},
        tune: async () => {},
        state: () => null,
        restore: () => {},
      };
  }
}

function checkedEndpoint(options: { options: ChatOptions; task: string }): Endpoint {
  const { model, endpoints, temperature, samples } = options.options;
  const named = endpointOf({ role: `${options.task} model`, model, endpoints });
  const endpoint = temperature === undefined ? named : { ...named, temperature };
  if (samples > 1 && endpoint.temperature === 0)
    throw new InputError(
      `the ${options.task} model: ${samples} samples of ${endpoint.name} at temperature 0 are one answer ${samples} times; ` +
        'set a temperature above 0, or samples to 1',
    );
  return endpoint;
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
