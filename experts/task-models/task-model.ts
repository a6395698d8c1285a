import { stances } from '../../src/data/thread.ts';

export const stanceClasses = stances;

/** Veracities of a claim, in the order that all distributions use. */
export const veracityClasses = ['non-rumor', 'true', 'false', 'unverified'] as const;

/** A reply whose stance towards the claim is to be predicted. */
export interface StanceItem {
  readonly threadId: string;
  readonly claim: string;
  readonly post: string;
  readonly place?: ReplyPlace;
}

/** Where a reply stands in its thread; null where that is not known. */
export interface ReplyPlace {
  /** Text of the post that it answers, which may be the claim. */
  readonly parent: string | null;
  /** 1 where it answers the claim. */
  readonly depth: number | null;
  readonly minutesSinceClaim: number | null;
}

/** A claim whose veracity is to be predicted, with the posts that respond to it. */
export interface VeracityItem {
  readonly threadId: string;
  readonly claim: string;
  readonly posts: readonly StancedPost[];
}

export interface StancedPost {
  readonly text: string;
  /** One probability for each stance; null where stances are not known, as in pretraining. */
  readonly stance: Float64Array | null;
}

export interface TaskPrediction {
  /** One probability for each class, in the order of `classes`, summing to 1. */
  readonly distribution: Float64Array;
  /** A short reason; empty where the model gives none. */
  readonly explanation: string;
}

export interface Example<Item> {
  readonly item: Item;
  /** Index into `classes`. */
  readonly label: number;
  /** The reason that came with a machine's label; empty for a human one. */
  readonly explanation: string;
}

/** A stance or a veracity model, as the selector uses it. */
export interface TaskModel<Item> {
  readonly classes: readonly string[];
  /** Everything that can change a prediction of the untuned model, as plain JSON. */
  readonly identity: Readonly<Record<string, unknown>>;
  /**
   * Predictions in the order of the items. The label that an item was tuned on must not simply be repeated: a model
   * that could remember it holds the item out.
   */
  predict(items: readonly Item[]): Promise<TaskPrediction[]>;
  /** Trains the untuned model on examples of other data; to be called before the first `tune`. */
  pretrain(examples: readonly Example<Item>[]): Promise<void>;
  /**
   * Fine-tunes the pretrained model on these examples. They replace those of an earlier call: nothing accumulates. An
   * empty list restores the pretrained model.
   */
  tune(examples: readonly Example<Item>[]): Promise<void>;
  /** Everything that `restore` needs to predict and tune as this model does now, bit for bit. */
  state(): TaskModelState;
  restore(state: TaskModelState): void;
}

export interface TaskModelState {
  readonly arrays: Readonly<
    Record<string, { readonly shape: readonly number[]; readonly data: Float32Array | Float64Array | Int32Array }>
  >;
  /** Plain JSON; every finite double in it reads back exactly. */
  readonly json: unknown;
}
