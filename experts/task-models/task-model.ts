/** Stances of a post towards its claim, in the order of distributions everywhere. */
export const stanceClasses = ['support', 'deny', 'query', 'comment'] as const;

/** Veracities of a claim, in the order of distributions everywhere. */
export const veracityClasses = ['non-rumor', 'true', 'false', 'unverified'] as const;

/** A reply, of which the stance towards the claim is asked. */
export interface StanceItem {
  readonly threadId: string;
  readonly claim: string;
  readonly post: string;
}

/** A claim with the posts that speak to it, of which the veracity is asked. */
export interface VeracityItem {
  readonly threadId: string;
  readonly claim: string;
  readonly posts: readonly StancedPost[];
}

export interface StancedPost {
  readonly text: string;
  /** One probability a stance class; null where stances are not known, as in pretraining. */
  readonly stance: Float64Array | null;
}

export interface TaskPrediction {
  /** One probability a class, in the order of `classes`, summing to 1. */
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
  /** All that can change a prediction of the untuned model, as plain JSON. */
  readonly identity: Readonly<Record<string, unknown>>;
  /** In the order of the items. What an item was tuned on must not echo back: models that could remember it hold it out. */
  predict(items: readonly Item[]): Promise<TaskPrediction[]>;
  /** Learns the untuned model from examples of other data; to be called before the first `tune`. */
  pretrain(examples: readonly Example<Item>[]): Promise<void>;
  /**
   * Fine-tunes the pretrained model on these examples, in place of those of an earlier call: nothing accumulates. No
   * examples bring the pretrained model back.
   */
  tune(examples: readonly Example<Item>[]): Promise<void>;
  /** All that `restore` needs to predict and tune as this model does now, bit for bit. */
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
