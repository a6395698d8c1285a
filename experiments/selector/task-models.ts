import type { AnnotationStore } from '../../experts/annotations/annotation-store.ts';
import { type AskOnce, askOnceIn } from '../../experts/asking/ask-once.ts';
import { CallJournal } from '../../experts/asking/call-journal.ts';
import { LiveChatService } from '../../experts/llm/sending/live-chat-service.ts';
import type { Waits } from '../../experts/llm/waits.ts';
import type { PredictionTally } from '../../experts/task-models/chat/prediction-tally.ts';
import { createChatStanceModel } from '../../experts/task-models/chat/stance.ts';
import { createChatVeracityModel } from '../../experts/task-models/chat/veracity.ts';
import { createLocalStanceModel } from '../../experts/task-models/local/stance.ts';
import { createLocalVeracityModel } from '../../experts/task-models/local/veracity.ts';
import type { TaskModel } from '../../experts/task-models/task-model.ts';
import { Random } from '../../src/tensor/random.ts';
import type { EncoderConfig } from '../../src/text/create-encoder.ts';
import type { Encoders } from '../../src/text/stored-encoders.ts';
import type { WorkContext } from '../../src/work-context.ts';
import type { SelectorExperiment } from './experiment.ts';

/** One budget, one set of connections and one store for all language models of an experiment. */
export interface ModelContext {
  readonly service: LiveChatService;
  readonly annotations: AnnotationStore;
  readonly tally: PredictionTally;
  readonly encoders: Encoders;
  readonly context: WorkContext;
}

export function chatServiceOf(
  experiment: SelectorExperiment,
  { annotations, context: { signal, onNote, maxWaitMs } }: Pick<ModelContext, 'annotations' | 'context'>,
): LiveChatService {
  return new LiveChatService({
    random: Random.seeded({ seed: 0, purpose: 'waiting times' }),
    budget: experiment.budget,
    ledger: annotations.ledgers.named(experiment.name),
    retry: { ...experiment.retry, maxWaitMs: maxWaitMs ?? experiment.retry.maxWaitMs },
    signal,
    onNote,
  });
}

/** Fresh, untuned models. */
export async function createTaskModels(experiment: SelectorExperiment, models: ModelContext) {
  const { stanceModel, veracityModel } = experiment;
  const { askOnce: shared, ...asking } = chatSettings(models);
  const withProgress = <Item>(task: string, create: (askOnce: AskOnce) => TaskModel<Item>) =>
    withAskingProgress({
      task,
      askOnce: shared,
      onProgress: models.context.onProgress,
      waits: models.service.waits,
      create,
    });
  return {
    stanceModel:
      stanceModel.name === 'chat'
        ? withProgress('stances', (askOnce) => createChatStanceModel({ ...asking, askOnce, options: stanceModel }))
        : createLocalStanceModel(await localSettings(stanceModel, models)),
    veracityModel:
      veracityModel.name === 'chat'
        ? withProgress('veracities', (askOnce) =>
            createChatVeracityModel({ ...asking, askOnce, options: veracityModel }),
          )
        : createLocalVeracityModel(await localSettings(veracityModel, models)),
  };
}

async function localSettings<Options extends { encoder: EncoderConfig; name: 'local' }>(
  { name: _, encoder, ...options }: Options,
  { encoders }: ModelContext,
) {
  return { options, encoder: await encoders(encoder) };
}

function chatSettings({ service, annotations, tally, context: { signal } }: ModelContext) {
  // An answer that cannot be read is paid for as well. It is kept until the one that replaces it is there.
  const calls = new CallJournal({ service, table: annotations.responses });
  return {
    service: calls,
    askOnce: askOnceIn({ store: annotations, calls, signal, waits: service.waits }),
    tally,
    signal,
  };
}

/** Shorter predictions finish soon, and their progress would interrupt that of the surrounding work. */
const fewestItems = 100;
/** Interval of progress while a prediction waits. */
const toldEveryMs = 1000;

/** Wraps a task model to show how many questions are answered, because a prediction may take hours. */
export function withAskingProgress<Item>(options: {
  /** The task in lines of progress, such as "stances". */
  task: string;
  askOnce: AskOnce;
  onProgress: WorkContext['onProgress'];
  /** Explains waiting times in the progress. */
  waits: Waits;
  create: (askOnce: AskOnce) => TaskModel<Item>;
}): TaskModel<Item> {
  const { task, askOnce, onProgress, waits, create } = options;
  let underWay: { answered: number; total: number } | null = null;
  const show = () => {
    if (underWay !== null)
      onProgress(`asking for ${task}`, underWay.answered, underWay.total, waits.inWords() ?? undefined);
  };
  const model = create(async (question, ask) => {
    const answer = await askOnce(question, ask);
    // Several samples of an item make more answers than items, so the last step waits for the whole prediction.
    if (underWay !== null && underWay.answered < underWay.total - 1) {
      underWay.answered++;
      show();
    }
    return answer;
  });
  return {
    ...model,
    async predict(items) {
      const isLong = items.length >= fewestItems;
      if (isLong) underWay = { answered: 0, total: items.length };
      const telling = setInterval(() => {
        if (waits.inWords() === null) return;
        underWay ??= { answered: 0, total: items.length };
        show();
      }, toldEveryMs);
      try {
        const predictions = await model.predict(items);
        if (underWay !== null) underWay.answered = underWay.total;
        show();
        return predictions;
      } finally {
        clearInterval(telling);
        underWay = null;
      }
    },
  };
}
