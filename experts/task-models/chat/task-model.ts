import { sha256OfText } from '../../../src/content-hash.ts';
import type { AskOnce } from '../../asking/ask-once.ts';
import { checkSamples, endpointOf } from '../../detectors/models-by-role.ts';
import type { ChatService } from '../../llm/chat.ts';
import { answerRelevantOptions, type Endpoint } from '../../llm/endpoint.ts';
import type { Example, TaskModel } from '../task-model.ts';
import type { ChatTask } from './chat-task.ts';
import type { ChatOptions } from './options.ts';
import { PredictionTally } from './prediction-tally.ts';
import { type ItemQuestion, messagesOf, predictions, wellFormedAnswer } from './predictions.ts';
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
  const { temperature } = options;
  const named = endpointOf({ role: `${name} model`, model: options.model, endpoints: options.endpoints });
  const endpoint = temperature === undefined ? named : { ...named, temperature };
  checkSamples(endpoint, { samples, asker: `the ${name} model` });
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
      const questions = items.map((item) => questionOf(item, { task, model, tuning }));
      return predictions({ ...settings, endpoint, tally }, questions);
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
  { task, model, tuning }: { task: ChatTask<Item>; model: Record<string, unknown>; tuning: InContextTuning },
): ItemQuestion {
  const { threadId } = item;
  const shown = tuning.examplesFor({ threadId, subject: subjectHash(task, item) });
  const examples = shown.map(({ question, answer }) => ({ question, answer }));
  const question = task.question(item);
  return {
    annotation: {
      detector: task.asker,
      version: task.version,
      // `trainedOn` stays in the keys of stored answers, which may name files of a fine-tuning.
      options: { promptVersion: task.promptVersion, model, examples, trainedOn: [] },
      input: question,
      threadId,
      prefixLength: task.length(item),
    },
    messages: messagesOf({ instruction: task.instruction, examples, question }),
  };
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
