import { join } from 'node:path';
import { AnnotationStore } from '../../experts/annotations/annotation-store.ts';
import type { LiveChatService } from '../../experts/llm/sending/live-chat-service.ts';
import type { PredictionTally } from '../../experts/task-models/chat/prediction-tally.ts';
import { makeFolder } from '../../src/atomic-file.ts';
import { canonicalJson, sha256 } from '../../src/content-hash.ts';
import { PromiseCache } from '../../src/promise-cache.ts';
import { createEncoder } from '../../src/text/create-encoder.ts';
import { EmbeddingStore } from '../../src/text/embedding-store.ts';
import type { Encoder } from '../../src/text/encoder.ts';
import { type Encoders, storedEncoders } from '../../src/text/stored-encoders.ts';
import type { WorkContext } from '../../src/work-context.ts';
import type { SelectorSettings, SelectorTraining } from '../../trainers/selector/setup.ts';
import { loadAllThreads, loadSelectorData, type SelectorData, selectorClaims } from './data.ts';
import type { SelectorExperiment } from './experiment.ts';
import { type EventFold, eventFolds, type TestedAndHeldOut } from './protocol.ts';
import { chatServiceOf, createTaskModels } from './task-models.ts';

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

/** Settings of a trial, with untrained task models. */
export async function freshSettings(
  options: Pick<SelectorTrial, 'experiment' | 'seed' | 'shared' | 'tally' | 'context'>,
): Promise<SelectorSettings> {
  const { experiment, seed, shared, tally, context } = options;
  const { data, encoder, embeddings, annotations, service, encoders } = shared;
  return {
    ...(await createTaskModels(experiment, { service, annotations, tally, encoders, context })),
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
