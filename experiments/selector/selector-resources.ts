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
import type { SelectorClaim, SelectorSettings, SelectorTraining } from '../../trainers/selector/setup.ts';
import { loadAllThreads, loadSelectorData, type SelectorData, selectorClaims } from './data.ts';
import type { SelectorExperiment } from './experiment.ts';
import { type EventFold, eventFolds, type TestedAndHeldOut } from './protocol.ts';
import { chatServiceOf, createTaskModels } from './task-models.ts';

export interface SelectorTools {
  readonly encoder: Encoder;
  readonly embeddings: EmbeddingStore;
  readonly annotations: AnnotationStore;
  readonly service: LiveChatService;
  /** Of local task models. */
  readonly encoders: Encoders;
}

export interface SelectorShared extends SelectorTools {
  readonly data: SelectorData;
}

/** Resources of all trials in a process, made once per configuration. All variants share one budget and one store. */
export function selectorResources({ runs }: { runs: string }) {
  const cache = join(runs, 'cache');
  let annotations: AnnotationStore | null = null;
  const services = new Map<string, LiveChatService>();
  const data = new PromiseCache<SelectorData>();
  const embeddings = new PromiseCache<Awaited<ReturnType<typeof openEmbeddings>>>();
  const encoders = storedEncoders({ directory: join(cache, 'embeddings') });
  async function toolsFor(experiment: SelectorExperiment, context: WorkContext): Promise<SelectorTools> {
    const { budget, retry, encoder } = experiment;
    makeFolder(cache);
    annotations ??= AnnotationStore.open(join(cache, 'annotations.sqlite'));
    const limits = JSON.stringify([experiment.name, budget, retry]);
    const service = services.get(limits) ?? chatServiceOf(experiment, { annotations, context });
    services.set(limits, service);
    return {
      annotations,
      service,
      ...(await embeddings.get(JSON.stringify(encoder), () => openEmbeddings(encoder, cache))),
      encoders,
    };
  }
  return {
    toolsFor,
    async foldsFor({ data: of }: SelectorExperiment, context: WorkContext): Promise<readonly EventFold[]> {
      return eventFolds(await loadAllThreads(of, context.onNote), of);
    },
    async sharedFor(experiment: SelectorExperiment, context: WorkContext): Promise<SelectorShared> {
      const of = JSON.stringify([experiment.data, experiment.seedShare]);
      const loaded = await data.get(of, () => loadSelectorData(experiment, context.onNote));
      return { ...(await toolsFor(experiment, context)), data: loaded };
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
  const { shared, ...trial } = options;
  const { seedShare } = trial.experiment;
  const { train, stancePretraining } = shared.data;
  const claims = selectorClaims(train, { seedShare, seed: trial.seed });
  return { ...(await settingsFor({ ...trial, tools: shared, claims })), stancePretraining };
}

/** Settings for given claims, without examples for pretraining. */
export async function settingsFor(
  options: Pick<SelectorTrial, 'experiment' | 'seed' | 'tally' | 'context'> & {
    tools: SelectorTools;
    claims: readonly SelectorClaim[];
  },
): Promise<SelectorSettings> {
  const { experiment, seed, tools, claims, tally, context } = options;
  const { encoder, embeddings, annotations, service, encoders } = tools;
  return {
    ...(await createTaskModels(experiment, { service, annotations, tally, encoders, context })),
    claims,
    stancePretraining: [],
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
