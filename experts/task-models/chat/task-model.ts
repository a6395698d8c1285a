import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { InputError, ProviderError } from '../../../src/errors.ts';
import { PromiseCache } from '../../../src/promise-cache.ts';
import type { KeptParts } from '../../annotations/kept-calls.ts';
import type { Judgement } from '../../detector.ts';
import { endpointOf } from '../../detectors/models-by-role.ts';
import { type ChatMessage, type ChatRequest, type ChatService, usageOf } from '../../llm/chat.ts';
import { DryRunChatService } from '../../llm/cost/dry-run-chat-service.ts';
import { answerRelevantOptions, type Endpoint } from '../../llm/endpoint.ts';
import { endsAllCalls } from '../../llm/failures.ts';
import { inParallel } from '../../llm/in-parallel.ts';
import type { Example, TaskModel, TaskPrediction } from '../task-model.ts';
import { type ChatTask, predictionOf, readAnswer, uniformPrediction, writeAnswer } from './answer.ts';
import { createFineTuning, type FineTuningContext } from './fine-tuning.ts';
import type { ChatOptions } from './options.ts';
import { type ChatTuning, createInContextTuning, type TunedModel, type TuningExample } from './tuning.ts';

export interface ChatSettings<Options> extends FineTuningContext {
  readonly options: Options;
  readonly service: ChatService;
  /** Keeps the answers, so that no process pays for one twice. */
  readonly keptParts?: KeptParts | undefined;
}

interface Question {
  readonly text: string;
  readonly model: TunedModel;
  /** What of the model can change the answer, for annotation keys. */
  readonly modelOptions: Readonly<Record<string, unknown>>;
  readonly threadId: string;
  readonly length: number;
}

/** Answer of a dry run, as long as a typical reason. */
const pretendedReason = 'this is what the words of the post say, read together with the claim that it replies to';

/**
 * A task model that asks a language model one question for each item, many at a time. Each answer is kept under the
 * hash of everything that could change it, including the examples and the fine-tuned model, so a killed epoch asks
 * nothing twice.
 */
export function createChatTaskModel<Item extends { readonly threadId: string }>(
  settings: ChatSettings<ChatOptions> & { readonly task: ChatTask<Item> },
): TaskModel<Item> {
  const { task, options, service, keptParts, signal } = settings;
  const { classes, version, promptVersion } = task;
  const { samples, smoothing, failuresAtMost } = options;
  const endpoint = checkedEndpoint({ options, task: task.name });
  const tuning = tuningOf({ settings, endpoint });
  // Hashed, because they end up in checkpoints.
  const subjectOf = (item: Item) => hashOf(task.subject(item)).slice(0, 16);

  function questionOf(item: Item): Question {
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

  /** One answer. If it names no class, it is sent back once. */
  async function ask(question: Question, sample: number): Promise<Judgement> {
    const { text, model } = question;
    const messages = messagesOf({ instruction: task.instruction, examples: model.examples, question: text });
    const request: ChatRequest = {
      endpoint: model.endpoint,
      messages,
      dryRunText: writeAnswer({ form: task, label: classes[0], explanation: pretendedReason }),
      sampleIndex: sample,
      wantLogprobs: sample === 0,
    };
    const answers = [await service.chat(request)];
    const transcript = [{ role: task.name, text: answers[0].text }];
    let read = readAnswer({ answer: answers[0], form: task });
    if (read.label === null) {
      const complaint = complaintOf(task);
      const again: ChatMessage[] = [
        ...messages,
        { role: 'assistant', content: answers[0].text },
        { role: 'user', content: complaint },
      ];
      const second = await service.chat({ ...request, messages: again });
      answers.push(second);
      transcript.push({ role: 'earshot', text: complaint }, { role: task.name, text: second.text });
      read = readAnswer({ answer: second, form: task });
    }
    return { ...read, transcript, usage: usageOf(answers) };
  }

  function answerOf(question: Question, sample: number): Promise<Judgement> {
    const part = {
      detector: task.asker,
      version,
      options: { ...question.modelOptions, sample },
      input: question.text,
      threadId: question.threadId,
      prefixLength: question.length,
    };
    const asking = () => ask(question, sample);
    return keptParts ? keptParts.part(part, asking) : asking();
  }

  async function predictionFor(question: Question): Promise<TaskPrediction> {
    const first = await answerOf(question, 0);
    if (first.probabilities !== null || samples === 1) return predictionOf({ classes, answers: [first], smoothing });
    // Awaits them all even when one fails, so that every answer that was paid for is kept.
    const others = await Promise.allSettled(
      Array.from({ length: samples - 1 }, (_, index) => answerOf(question, index + 1)),
    );
    const answers = others.map((other) => {
      if (other.status === 'rejected') throw other.reason;
      return other.value;
    });
    return predictionOf({ classes, answers: [first, ...answers], smoothing });
  }

  const tuningExample = ({ item, label, explanation }: Example<Item>): TuningExample => {
    if (classes[label] === undefined)
      throw new InputError(`an example of the ${task.name} model has label ${label}; it has ${classes.length} classes`);
    const answer = writeAnswer({ form: task, label: classes[label], explanation });
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
    },

    async predict(items) {
      // All questions are made first: whatever is tuned meanwhile, one prediction is that of one model.
      const questions = items.map(questionOf);
      const cache = new PromiseCache<TaskPrediction>();
      const predictions: TaskPrediction[] = [];
      let failures = 0;
      await inParallel({
        items: questions.entries(),
        // The service would make more of them wait anyway.
        concurrency: Math.min(endpoint.concurrency.max, questions.length),
        async work([index, question]) {
          signal?.throwIfAborted();
          const key = hashOf(JSON.stringify([question.text, question.modelOptions]));
          try {
            predictions[index] = await cache.get(key, () => predictionFor(question));
          } catch (error) {
            const isTolerable = error instanceof ProviderError && !endsAllCalls(error);
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

function complaintOf({ field, classes, words }: Pick<ChatTask<never>, 'field' | 'classes' | 'words'>): string {
  const named = classes.map((name) => words[name][0]).join(', ');
  const name = field.toLowerCase();
  return `Your answer names none of these, or several: ${named}. Answer again in this form: ${field}: [${name}], Reason: [reason]`;
}

function tuningOf<Item>(options: {
  settings: ChatSettings<ChatOptions> & { readonly task: ChatTask<Item> };
  endpoint: Endpoint;
}): ChatTuning {
  const { endpoint } = options;
  const { task, options: chosen, service, ...context } = options.settings;
  const { usePretraining } = chosen;
  switch (chosen.tuning) {
    case 'in-context':
      return createInContextTuning({ endpoint, shown: chosen.examplesShown, usePretraining });
    case 'fine-tuning':
      return createFineTuning({
        endpoint,
        task: task.name,
        options: chosen.fineTuning,
        usePretraining,
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
