import { sha256OfText } from '../../../src/content-hash.ts';
import type { AskOnce } from '../../asking/ask-once.ts';
import { checkSamples, endpointOf } from '../../detectors/models-by-role.ts';
import type { ChatService } from '../../llm/chat.ts';
import { answerRelevantOptions, type Endpoint } from '../../llm/endpoint.ts';
import type { Example, TaskModel } from '../task-model.ts';
import type { ChatTask } from './chat-task.ts';
import type { ChatOptions } from './options.ts';
import { PredictionTally } from './prediction-tally.ts';
import { type ItemQuestion, predictions, wellFormedAnswer } from './predictions.ts';
import { type ChatExample, type InContextTuning, inContextTuning } from './tuning.ts';

export interface ChatSettings<Options> {
  readonly options: Options;
  readonly service: ChatService;
  /** Stores the answers, so that no process pays for one twice. */
  readonly askOnce?: AskOnce;
  /** Counts questions without an answer over all models of a run. */
  readonly tally?: PredictionTally;
  readonly signal?: AbortSignal;
}

/**
 * A task model that asks a language model one question per item, many at a time. Each answer is stored under the hash
 * of everything that could change it, including the examples, so an interrupted epoch asks nothing twice. An item with unreadable answers gets the uniform distribution.
 */
export function createChatTaskModel<Item extends { readonly threadId: string }>(
  settings: ChatSettings<ChatOptions> & { readonly task: ChatTask<Item> },
): TaskModel<Item> {
  const { task, options, tally = new PredictionTally() } = settings;
  const { name, asker, classes, version, promptVersion, limits } = task;
  const { samples, smoothing, failuresAtMost, unreadableAtMost } = options;
  const endpoint = checkEndpoint({ options, task: name });
  const tuning = inContextTuning({ shown: options.examplesShown });
  const model = modelOptionsOf(endpoint);
  const learn = (examples: readonly Example<Item>[]) => examples.map((example) => chatExample(task, example));
  return {
    classes,
    identity: {
      name: asker,
      version,
      promptVersion,
      ...limits,
      model,
      samples,
      smoothing,
      failuresAtMost,
      unreadableAtMost,
    },
    predict: async (items) => {
      // All questions are made first, so that one prediction uses one model, whatever is tuned in the meantime.
      const questions = items.map((item) => questionOf(item, { task, endpoint, tuning }));
      return predictions({ ...settings, tally }, { questions, concurrency: endpoint.concurrency });
    },
    pretrain(examples) {
      tuning.pretrain(learn(examples));
      return Promise.resolve();
    },
    tune(examples) {
      tuning.tune(learn(examples));
      return Promise.resolve();
    },
    state: () => ({ arrays: {}, json: tuning.state() }),
    restore: ({ json }) => tuning.restore(json),
  };
}

/** Distributions come from log-probabilities, or from samples without those that were cut off. */
function modelOptionsOf(endpoint: Endpoint): Record<string, unknown> {
  const { maxTokens, logprobs, topLogprobs } = endpoint;
  return { ...answerRelevantOptions(endpoint), maxTokens, logprobs, topLogprobs };
}

function questionOf<Item extends { readonly threadId: string }>(
  item: Item,
  { task, endpoint, tuning }: { task: ChatTask<Item>; endpoint: Endpoint; tuning: InContextTuning },
): ItemQuestion {
  const { threadId } = item;
  const examples = tuning.examplesFor({ threadId, subject: subjectHash(task, item) });
  const modelOptions = {
    promptVersion: task.promptVersion,
    model: modelOptionsOf(endpoint),
    examples: examples.map(({ question, answer }) => ({ question, answer })),
    // Stays in the keys of stored answers, which may name files of a fine-tuning.
    trainedOn: [],
  };
  return { text: task.question(item), endpoint, examples, modelOptions, threadId, length: task.length(item) };
}

function chatExample<Item extends { readonly threadId: string }>(
  task: ChatTask<Item>,
  { item, label, explanation }: Example<Item>,
): ChatExample {
  const answer = wellFormedAnswer(task, { label: task.classes[label], explanation });
  return {
    threadId: item.threadId,
    subject: subjectHash(task, item),
    label,
    question: task.shownQuestion(item),
    answer,
  };
}

/** Hashed, because it becomes part of checkpoints. */
function subjectHash<Item>(task: ChatTask<Item>, item: Item): string {
  return sha256OfText(task.subject(item)).slice(0, 16);
}

function checkEndpoint(options: { options: ChatOptions; task: string }): Endpoint {
  const { model, endpoints, temperature, samples } = options.options;
  const named = endpointOf({ role: `${options.task} model`, model, endpoints });
  const endpoint = temperature === undefined ? named : { ...named, temperature };
  checkSamples(endpoint, { samples, asker: `the ${options.task} model` });
  return endpoint;
}
