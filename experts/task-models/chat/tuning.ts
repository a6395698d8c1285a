import type { Endpoint } from '../../llm/endpoint.ts';
import type { ChatExample } from './examples.ts';

/** Who is asked about an item, after what was learned. */
export interface Asked {
  readonly endpoint: Endpoint;
  /** Shown, solved, before the question. */
  readonly examples: readonly ChatExample[];
  /** Hashes of the files that the endpoint's model was fine-tuned on, one after the other. */
  readonly trainedOn: readonly string[];
}

/** What an example is to a tuning: shown in one form, learned in another, which may be longer. */
export interface TuningExample {
  readonly shown: ChatExample;
  readonly learned: Pick<ChatExample, 'question' | 'answer'>;
}

/** A way to learn from examples. */
export interface ChatTuning {
  askedAbout(item: { readonly threadId: string; readonly subject: string }): Asked;
  pretrain(examples: readonly TuningExample[]): Promise<void>;
  tune(examples: readonly TuningExample[]): Promise<void>;
  /** Plain JSON. */
  state(): unknown;
  restore(state: unknown): void;
}
