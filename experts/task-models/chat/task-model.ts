import { InputError } from '../../../src/errors.ts';
import type { AskOnce } from '../../asking/ask-once.ts';
import { checkSamples, endpointOf } from '../../detectors/models-by-role.ts';
import type { ChatService } from '../../llm/chat.ts';
import { DryRunChatService } from '../../llm/cost/dry-run-chat-service.ts';
import { answerRelevantOptions, type Endpoint } from '../../llm/endpoint.ts';
import type { Example, TaskModel } from '../task-model.ts';
import type { ChatTask } from './chat-task.ts';
import { createFineTuning, type FineTuningContext } from './fine-tuning.ts';
import type { ChatOptions } from './options.ts';
import { PredictionTally } from './prediction-tally.ts';
import { hashOf, type ItemQuestion, messagesOf, predictions, wellFormedAnswer } from './predictions.ts';
import { type ChatTuning, createInContextTuning, type TuningExample } from './tuning.ts';

export interface ChatSettings<Options> extends FineTuningContext {
  readonly options: Options;
  readonly service: ChatService;
  /** Stores the answers, so that no process pays for one twice. */
  readonly askOnce?: AskOnce;
  /** Counts questions without an answer over all models of a run. */
  readonly tally?: PredictionTally;
}

/**
 * A task model that asks a language model one question per item, many at a time. Each answer is stored under the hash
 * of everything that could change it, including the examples and the fine-tuned model, so an interrupted epoch asks
 * nothing twice. An item with unreadable answers gets the uniform distribution.
 */
export function createChatTaskModel<Item extends { readonly threadId: string }>(
  settings: ChatSettings<ChatOptions> & { readonly task: ChatTask<Item> },
): TaskModel<Item> {
  const { task, options, tally = new PredictionTally() } = settings;
  const { name, asker, classes, version, promptVersion, limits } = task;
  const { samples, smoothing, failuresAtMost, unreadableAtMost } = options;
  const endpoint = checkEndpoint({ options, task: name });
  const tuning = tuningOf({ settings, endpoint });
  const model = modelOptionsOf(endpoint);
  const learn = (examples: readonly Example<Item>[]) => examples.map((example) => tuningExample(task, example));
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
      const questions = items.map((item) => questionOf(item, { task, tuning }));
      return predictions({ ...settings, tally }, { questions, concurrency: endpoint.concurrency });
    },
    pretrain: (examples) => tuning.pretrain(learn(examples)),
    tune: (examples) => tuning.tune(learn(examples)),
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
  { task, tuning }: { task: ChatTask<Item>; tuning: ChatTuning },
): ItemQuestion {
  const { threadId } = item;
  const model = tuning.modelFor({ threadId, subject: subjectHash(task, item) });
  const modelOptions = {
    promptVersion: task.promptVersion,
    model: modelOptionsOf(model.endpoint),
    examples: model.examples.map(({ question, answer }) => ({ question, answer })),
    trainedOn: model.trainedOn,
  };
  return { text: task.question(item), model, modelOptions, threadId, length: task.length(item) };
}

function tuningExample<Item extends { readonly threadId: string }>(
  task: ChatTask<Item>,
  { item, label, explanation }: Example<Item>,
): TuningExample {
  const { name, classes } = task;
  if (classes[label] === undefined)
    throw new InputError(`an example of the ${name} model has label ${label}; it has ${classes.length} classes`);
  const answer = wellFormedAnswer(task, { label: classes[label], explanation });
  const { threadId } = item;
  return {
    shown: { threadId, subject: subjectHash(task, item), label, question: task.shownQuestion(item), answer },
    learned: { question: task.question(item), answer },
  };
}

/** Hashed, because it becomes part of checkpoints. */
function subjectHash<Item>(task: ChatTask<Item>, item: Item): string {
  return hashOf(task.subject(item)).slice(0, 16);
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

function checkEndpoint(options: { options: ChatOptions; task: string }): Endpoint {
  const { model, endpoints, temperature, samples } = options.options;
  const named = endpointOf({ role: `${options.task} model`, model, endpoints });
  const endpoint = temperature === undefined ? named : { ...named, temperature };
  checkSamples(endpoint, { samples, asker: `the ${options.task} model` });
  return endpoint;
}
