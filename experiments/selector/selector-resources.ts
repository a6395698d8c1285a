import { join } from 'node:path';
import { AnnotationStore } from '../../experts/annotations/annotation-store.ts';
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
import { makeFolder } from '../../src/atomic-file.ts';
import { canonicalJson, sha256 } from '../../src/content-hash.ts';
import { PromiseCache } from '../../src/promise-cache.ts';
import { Random } from '../../src/tensor/random.ts';
import { createEncoder, type EncoderConfig } from '../../src/text/create-encoder.ts';
import { EmbeddingStore } from '../../src/text/embedding-store.ts';
import type { Encoder } from '../../src/text/encoder.ts';
import { type Encoders, storedEncoders } from '../../src/text/stored-encoders.ts';
import type { WorkContext } from '../../src/work-context.ts';
import type { SelectorSettings, SelectorTraining } from '../../trainers/selector/setup.ts';
import { loadAllThreads, loadSelectorData, type SelectorData, selectorClaims } from './data.ts';
import type { SelectorExperiment } from './experiment.ts';
import { type EventFold, eventFolds, type TestedAndHeldOut } from './protocol.ts';

export interface SelectorShared {
  readonly data: SelectorData;
  readonly encoder: Encoder;
  readonly embeddings: EmbeddingStore;
  readonly annotations: AnnotationStore;
  readonly service: LiveChatService;
  /** Of local task models. */
  readonly encoders: Encoders;
}

/** Resources of all trials in a process, made once per configuration. All variants share one budget and one store. */
export function selectorResources({ runs }: { runs: string }) {
  const cache = join(runs, 'cache');
  let annotations: AnnotationStore | null = null;
  const services = new Map<string, LiveChatService>();
  const data = new PromiseCache<SelectorData>();
  const embeddings = new PromiseCache<Awaited<ReturnType<typeof openEmbeddings>>>();
  const encoders = storedEncoders({ directory: join(cache, 'embeddings') });
  return {
    async foldsFor({ data: of }: SelectorExperiment, context: WorkContext): Promise<readonly EventFold[]> {
      return eventFolds(await loadAllThreads(of, context.onNote), of);
    },
    async sharedFor(experiment: SelectorExperiment, context: WorkContext): Promise<SelectorShared> {
      const { name, budget, retry, encoder, seedShare } = experiment;
      const of = JSON.stringify([experiment.data, seedShare]);
      const loaded = await data.get(of, () => loadSelectorData(experiment, context.onNote));
      makeFolder(cache);
      annotations ??= AnnotationStore.open(join(cache, 'annotations.sqlite'));
      const limits = JSON.stringify([name, budget, retry]);
      const service = services.get(limits) ?? chatServiceOf(experiment, { annotations, context });
      services.set(limits, service);
      const opened = await embeddings.get(JSON.stringify(encoder), () => openEmbeddings(encoder, cache));
      return { data: loaded, annotations, service, ...opened, encoders };
    },
    close() {
      annotations?.close();
      annotations = null;
    },
  };
}

export type SelectorResources = ReturnType<typeof selectorResources>;

async function openEmbeddings(config: SelectorExperiment['encoder'], cache: string) {
  const encoder = await createEncoder(config);
  return { encoder, embeddings: await EmbeddingStore.open({ encoder, directory: join(cache, 'embeddings') }) };
}

export interface SelectorTrial extends TestedAndHeldOut {
  readonly experiment: SelectorExperiment;
  readonly seed: number;
  readonly directory: string;
  readonly shared: SelectorShared;
  /** Counts failed predictions of task models. */
  readonly tally: PredictionTally;
  readonly context: WorkContext;
}

type ModelsOf = Pick<SelectorTrial, 'experiment' | 'shared' | 'tally' | 'context'>;

/** Settings of a trial, with untrained task models. */
export async function freshSettings(trial: ModelsOf & Pick<SelectorTrial, 'seed'>): Promise<SelectorSettings> {
  const { experiment, seed, shared } = trial;
  const { data, encoder, embeddings } = shared;
  return {
    ...(await createTaskModels(trial)),
    claims: selectorClaims(data.train, { seedShare: experiment.seedShare, seed }),
    stancePretraining: data.stancePretraining,
    embedTexts: (texts) => embeddings.embed(texts),
    embedExplanations: (texts) => encoder.encode(texts),
    dimensions: encoder.dimensions,
    config: experiment.selector,
    seed,
  };
}

/** Identifies the models and options that checkpoints depend on. */
export function selectorIdentity(training: SelectorTraining, embeddings: EmbeddingStore): string {
  const { stanceModel, veracityModel, config } = training.settings;
  return canonicalJson({
    encoder: embeddings.identityHash,
    models: sha256([stanceModel.identity, veracityModel.identity]),
    selector: sha256(config),
  });
}

function chatServiceOf(
  experiment: SelectorExperiment,
  { annotations, context: { signal, onNote, maxWaitMs } }: { annotations: AnnotationStore; context: WorkContext },
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
async function createTaskModels({ experiment, shared, tally, context }: ModelsOf) {
  const { stanceModel, veracityModel } = experiment;
  const { annotations, service, encoders } = shared;
  const { signal } = context;
  // An answer that cannot be read is paid for as well. It is kept until the one that replaces it is there.
  const calls = new CallJournal({ service, table: annotations.responses });
  const { waits } = service;
  const asking = { service: calls, tally, signal };
  const askOnce = askOnceIn({ store: annotations, calls, signal, waits });
  const withProgress = <Item>(task: string, create: (askOnce: AskOnce) => TaskModel<Item>) =>
    withAskingProgress({ task, askOnce, onProgress: context.onProgress, waits, create });
  return {
    stanceModel:
      stanceModel.name === 'chat'
        ? withProgress('stances', (askOnce) => createChatStanceModel({ ...asking, askOnce, options: stanceModel }))
        : createLocalStanceModel(await localSettings(stanceModel, encoders)),
    veracityModel:
      veracityModel.name === 'chat'
        ? withProgress('veracities', (askOnce) =>
            createChatVeracityModel({ ...asking, askOnce, options: veracityModel }),
          )
        : createLocalVeracityModel(await localSettings(veracityModel, encoders)),
  };
}

async function localSettings<Options extends { encoder: EncoderConfig; name: 'local' }>(
  { name: _, encoder, ...options }: Options,
  encoders: Encoders,
) {
  return { options, encoder: await encoders(encoder) };
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
