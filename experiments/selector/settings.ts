import type { AnnotationStore } from '../../experts/annotations/annotation-store.ts';
import type { ChatService } from '../../experts/llm/chat.ts';
import type { EmbeddingStore } from '../../src/text/embedding-store.ts';
import type { Encoder } from '../../src/text/encoder.ts';
import type { Encoders } from '../../src/text/stored-encoders.ts';
import type { WorkContext } from '../../src/work-context.ts';
import type { SelectorClaim, SelectorSettings } from '../../trainers/selector/setup.ts';
import { type SelectorData, selectorClaims } from './data.ts';
import type { SelectorExperiment } from './experiment.ts';
import { createTaskModels } from './models.ts';
import type { TestSet } from './protocol.ts';

/** What every use of a selector needs, whatever it works on. */
export interface SelectorTools {
  readonly encoder: Encoder;
  readonly embeddings: EmbeddingStore;
  readonly annotations: AnnotationStore;
  readonly service: ChatService;
  /** Of local task models. */
  readonly encoders: Encoders;
  readonly runs: string;
}

/** What the trials of a process share. */
export interface SelectorShared extends SelectorTools {
  readonly data: SelectorData;
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
  shared,
  ...trial
}: Pick<SelectorTrial, 'experiment' | 'seed' | 'shared' | 'context'>): Promise<SelectorSettings> {
  const { seedShare } = trial.experiment;
  const { train, stancePretraining } = shared.data;
  const claims = selectorClaims(train, { seedShare, seed: trial.seed });
  return { ...(await settingsFor({ ...trial, tools: shared, claims })), stancePretraining };
}

/** The same for claims that are known otherwise; nothing is there to pretrain on. */
export async function settingsFor(options: {
  experiment: SelectorExperiment;
  seed: number;
  tools: SelectorTools;
  claims: readonly SelectorClaim[];
  context: WorkContext;
}): Promise<SelectorSettings> {
  const { experiment, seed, tools, claims, context } = options;
  const { encoder, embeddings, annotations, service, encoders, runs } = tools;
  return {
    ...(await createTaskModels(experiment, { service, annotations, encoders, runs, context })),
    claims,
    stancePretraining: [],
    embedTexts: (texts) => embeddings.embed(texts),
    embedExplanations: (texts) => encoder.encode(texts),
    dimensions: encoder.dimensions,
    config: experiment.selector,
    seed,
  };
}
