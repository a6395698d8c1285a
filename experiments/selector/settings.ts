import type { AnnotationStore } from '../../experts/annotations/annotation-store.ts';
import type { ChatService } from '../../experts/llm/chat.ts';
import type { EmbeddingStore } from '../../src/text/embedding-store.ts';
import type { Encoder } from '../../src/text/encoder.ts';
import type { WorkContext } from '../../src/work-context.ts';
import type { SelectorSettings } from '../../trainers/selector/setup.ts';
import { type SelectorData, selectorClaims, type TestSet } from './data.ts';
import type { SelectorExperiment } from './experiment.ts';
import { createTaskModels } from './models.ts';

/** What the trials of a process share. */
export interface SelectorShared {
  readonly data: SelectorData;
  readonly encoder: Encoder;
  readonly embeddings: EmbeddingStore;
  readonly annotations: AnnotationStore;
  readonly service: ChatService;
  readonly runs: string;
}

/** One trial and what it works on. */
export interface SelectorTrial {
  readonly experiment: SelectorExperiment;
  readonly seed: number;
  readonly directory: string;
  readonly shared: SelectorShared;
  readonly context: WorkContext;
  readonly tested: readonly TestSet[];
  readonly heldOut: readonly TestSet[];
}

/** The settings of a trial, with task models that have learnt nothing yet. */
export async function freshSettings({
  experiment,
  seed,
  shared,
  context,
}: Pick<SelectorTrial, 'experiment' | 'seed' | 'shared' | 'context'>): Promise<SelectorSettings> {
  const { data, encoder, embeddings, annotations, service, runs } = shared;
  return {
    ...(await createTaskModels(experiment, { service, annotations, runs, context })),
    claims: selectorClaims(data.train, { seedShare: experiment.seedShare, seed }),
    stancePretraining: data.stancePretraining,
    embedTexts: (texts) => embeddings.embed(texts),
    embedExplanations: (texts) => encoder.encode(texts),
    dimensions: encoder.dimensions,
    config: experiment.selector,
    seed,
  };
}
