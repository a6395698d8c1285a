import { stances } from '../../src/data/thread.ts';

export const stanceClasses = stances;

/** Veracities of a claim, in the order that all distributions use. */
export const veracityClasses = ['non-rumor', 'true', 'false', 'unverified'] as const;

/** A reply whose stance towards the claim is predicted. */
export interface StanceItem {
  readonly threadId: string;
  readonly claim: string;
  readonly post: string;
  readonly place?: ReplyPlace;
}

/** The place of a reply in its thread; null if unknown. */
export interface ReplyPlace {
  /** The text of the parent, which may be the claim. */
  readonly parent: string | null;
  /** The depth of the reply; 1 for an answer to the claim. */
  readonly depth: number | null;
  readonly minutesSinceClaim: number | null;
}

/** A claim whose veracity is predicted, with its replies. */
export interface VeracityItem {
  readonly threadId: string;
  readonly claim: string;
  readonly posts: readonly StancedPost[];
}

export interface StancedPost {
  readonly text: string;
  /** One probability per stance; null for unknown stances, as in pretraining. */
  readonly stance: Float64Array | null;
}

export interface TaskPrediction {
  /** One probability per class, in the order of `classes`, summing to 1. */
  readonly distribution: Float64Array;
  /** A short reason; empty if the model gives none. */
  readonly explanation: string;
}

export interface Example<Item> {
  readonly item: Item;
  /** Index into `classes`. */
  readonly label: number;
  /** The reason that came with a machine's label; empty for a human one. */
  readonly explanation: string;
}

/** A stance or veracity model of the selector. */
export interface TaskModel<Item> {
  readonly classes: readonly string[];
  /** Everything that can change a prediction of the untuned model, as plain JSON. */
  readonly identity: Readonly<Record<string, unknown>>;
  /** Predicts items in order. A model that could remember the label of an item that it was tuned on holds the item out. */
  predict(items: readonly Item[]): Promise<TaskPrediction[]>;
  /** Trains the untuned model on examples of other data. Called before the first `tune`. */
  pretrain(examples: readonly Example<Item>[]): Promise<void>;
  /**
   * Fine-tunes the pretrained model on these examples, which replace those of an earlier call. An empty list restores
   * the pretrained model.
   */
  tune(examples: readonly Example<Item>[]): Promise<void>;
  /** Everything that `restore` needs to predict and tune like this model, bit for bit. */
  state(): TaskModelState;
  restore(state: TaskModelState): void;
}

export interface TaskModelState {
  readonly arrays: Readonly<
    Record<string, { readonly shape: readonly number[]; readonly data: Float32Array | Float64Array | Int32Array }>
  >;
  /** Plain JSON. Every finite double reads back exactly. */
  readonly json: unknown;
}
