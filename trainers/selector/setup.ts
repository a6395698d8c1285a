import { stateSize } from '../../envs/selection-env.ts';
import type {
  Example,
  ReplyPlace,
  StanceItem,
  TaskModel,
  TaskPrediction,
  VeracityItem,
} from '../../experts/task-models/task-model.ts';
import { InputError } from '../../src/errors.ts';
import { Random } from '../../src/tensor/random.ts';
import type { SelectorConfig } from './config.ts';
import { createSelectorPolicy, type SelectorPolicy } from './policy.ts';

/** A claim with its posts, as the selector knows it. */
export interface SelectorClaim {
  readonly threadId: string;
  readonly claim: string;
  /** Replies, in time order. */
  readonly posts: readonly string[];
  /** Where each of them stands in the thread; left out where that is not known. */
  readonly places?: readonly ReplyPlace[];
  /** Index of its veracity among those of the veracity model; null: not known to the selector. */
  readonly label: number | null;
}

/** A post of a claim, as the stance model is asked about it. */
export function stanceItem({ threadId, claim, posts, places }: SelectorClaim, post: number): StanceItem {
  return { threadId, claim, post: posts[post], ...(places && { place: places[post] }) };
}

/** Predictions of a stance model for every reply, [claims][posts]. */
export async function predictStances(
  stanceModel: TaskModel<StanceItem>,
  claims: readonly SelectorClaim[],
): Promise<TaskPrediction[][]> {
  const items = claims.flatMap((claim) => claim.posts.map((_, post) => stanceItem(claim, post)));
  const said = (await stanceModel.predict(items)).values();
  return claims.map(({ posts }) => posts.map(() => said.next().value!));
}

/** Claims with all their replies, as the veracity model is asked about them. */
export async function wholeVeracityItems(
  stanceModel: TaskModel<StanceItem>,
  claims: readonly SelectorClaim[],
): Promise<VeracityItem[]> {
  const said = await predictStances(stanceModel, claims);
  return claims.map(({ threadId, claim, posts }, place) => ({
    threadId,
    claim,
    posts: posts.map((text, post) => ({ text, stance: said[place][post].distribution })),
  }));
}

/** Labels that the selector does not see; −1 where they are unknown. */
export interface HiddenLabels {
  readonly stanceOf: (claim: number, post: number) => number;
  readonly veracityOf: (claim: number) => number;
}

export interface SelectorSettings {
  readonly claims: readonly SelectorClaim[];
  readonly stanceModel: TaskModel<StanceItem>;
  readonly veracityModel: TaskModel<VeracityItem>;
  /** Examples that pretrain the stance model. The veracity model is pretrained on the labelled claims. */
  readonly stancePretraining: readonly Example<StanceItem>[];
  /** Embeds claims and posts, row-major `[texts.length, dimensions]`. They recur, so the vectors are worth keeping. */
  readonly embedTexts: (texts: readonly string[]) => Promise<Float32Array>;
  /** Embeds explanations, which are new in every epoch. */
  readonly embedExplanations: (texts: readonly string[]) => Promise<Float32Array>;
  readonly dimensions: number;
  readonly config: SelectorConfig;
  readonly seed: number;
  /** A control: retains random items, as many as a selector did in each epoch, for as many epochs as there are entries. */
  readonly matchedRandomControl?: {
    readonly epochs: readonly EpochRetention[];
    /** Alike in number, or in the share of each weak label among labelled and among unlabelled claims. */
    readonly alikeIn: 'size' | 'class';
  };
  /** A control: retains what the machine labelled right, and what has no known label. No policy can do this. */
  readonly oracleControl?: HiddenLabels;
}

export const levels = ['posts', 'claims'] as const;
export type Level = (typeof levels)[number];

/** How many items were shown and retained. */
export interface Stratum {
  shown: number;
  retained: number;
}
/** Of one epoch: items by the machine's label and by whether people labelled the claim; see `stratumOf`. */
export type EpochRetention = Readonly<Record<Level, readonly Stratum[]>>;

/** Rewards of a level so far: the running mean that the baseline subtracts, and recent ones for the null control. */
export interface RewardHistory {
  mean: number;
  count: number;
  recent: number[];
}

/** All that changes in training. */
export interface SelectorTraining {
  readonly settings: SelectorSettings;
  readonly policies: Readonly<Record<Level, SelectorPolicy>>;
  readonly rewards: Readonly<Record<Level, RewardHistory>>;
  random: Random;
  epoch: number;
  /** Claims in a row with a positive reward. */
  fullRewards: number;
  isTerminated: boolean;
  /** Of each epoch so far. */
  readonly retention: EpochRetention[];
}

/** @throws InputError when there is no labelled claim, or two claims share an id */
export function createSelectorTraining(settings: SelectorSettings): SelectorTraining {
  const { claims, config, seed, dimensions, stanceModel, veracityModel } = settings;
  checkClaims(claims, veracityModel.classes.length);
  const policy = (classes: readonly string[]) =>
    createSelectorPolicy({
      features: stateSize({ dimensions, shownClasses: config.showDistribution ? classes.length : 0 }),
    });
  const history = (): RewardHistory => ({ mean: 0, count: 0, recent: [] });
  return {
    settings,
    policies: { posts: policy(stanceModel.classes), claims: policy(veracityModel.classes) },
    rewards: { posts: history(), claims: history() },
    random: Random.seeded({ seed, purpose: 'selector' }),
    epoch: 0,
    fullRewards: 0,
    isTerminated: false,
    retention: [],
  };
}

function checkClaims(claims: readonly SelectorClaim[], veracities: number): void {
  if (!claims.some(({ label }) => label !== null))
    throw new InputError(
      `none of the ${claims.length} claims has a veracity label, and without one there is no reward: the selector needs seed claims; give threads with veracity, or raise the share of seeds`,
    );
  const ids = new Set<string>();
  for (const { threadId, label } of claims) {
    if (ids.has(threadId))
      throw new InputError(`two claims have the id ${JSON.stringify(threadId)}; ids must be unique in a data set`);
    ids.add(threadId);
    if (label !== null && !(Number.isInteger(label) && label >= 0 && label < veracities))
      throw new InputError(`claim ${threadId} has the label ${label}; it must be null or from 0 to ${veracities - 1}`);
  }
}
