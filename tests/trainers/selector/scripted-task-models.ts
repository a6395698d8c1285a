import { z } from 'zod';
import type {
  Example,
  StanceItem,
  TaskModel,
  TaskPrediction,
  VeracityItem,
} from '../../../experts/task-models/task-model.ts';
import { Random } from '../../../src/tensor/random.ts';
import { selectorSchema } from '../../../trainers/selector/config.ts';
import type { SelectorClaim, SelectorSettings } from '../../../trainers/selector/setup.ts';

/** A task model that answers as told and keeps what it was asked and taught, one entry a call. */
export interface ScriptedModel<Item> {
  readonly model: TaskModel<Item>;
  readonly asked: (readonly Item[])[];
  readonly pretrained: (readonly Example<Item>[])[];
  readonly tuned: (readonly Example<Item>[])[];
}

/** @param options.answer may depend on `taught`, a number in [0, 1) that changes with what the model was taught */
export function scriptedModel<Item>(options: {
  classes: readonly string[];
  answer: (item: Item, taught: number) => TaskPrediction;
}): ScriptedModel<Item> {
  const asked: (readonly Item[])[] = [];
  const pretrained: (readonly Example<Item>[])[] = [];
  const tuned: (readonly Example<Item>[])[] = [];
  const memory = Float64Array.of(0, 0);
  let calls = 0;
  const learn = (place: number, examples: readonly Example<Item>[]) => {
    calls++;
    memory[place] = examples.reduce((sum, { label, explanation }) => sum + label + explanation.length / 7, calls / 9);
  };
  const model: TaskModel<Item> = {
    classes: options.classes,
    identity: { name: 'scripted' },
    async predict(items) {
      asked.push(items);
      return items.map((item) => options.answer(item, (memory[0] + memory[1]) % 1));
    },
    async pretrain(examples) {
      pretrained.push(examples);
      learn(0, examples);
    },
    async tune(examples) {
      tuned.push(examples);
      learn(1, examples);
    },
    state: () => ({ arrays: { memory: { shape: [2], data: memory.slice() } }, json: { calls } }),
    restore({ arrays, json }) {
      memory.set(arrays.memory.data);
      calls = z.object({ calls: z.int() }).parse(json).calls;
    },
  };
  return { model, asked, pretrained, tuned };
}

/** A class as sure as told, the rest shared evenly. */
export function leaning(toClass: number, options: { classes: number; sureness?: number }): Float64Array {
  const { classes, sureness = 1 } = options;
  return Float64Array.from({ length: classes }, (_, index) =>
    index === toClass ? sureness : (1 - sureness) / (classes - 1),
  );
}

export const sceneDimensions = 3;

/** Three numbers that depend on the text alone. */
export function sceneEmbedding(text: string): Float32Array {
  const random = Random.seeded({ seed: 0, purpose: text });
  return Float32Array.from({ length: sceneDimensions }, () => random.normal());
}

async function embed(texts: readonly string[]): Promise<Float32Array> {
  return Float32Array.from(texts.flatMap((text) => [...sceneEmbedding(text)]));
}

/** What the veracity model says of a claim by the number of posts retained, unless told otherwise. */
export const veracityAfter: readonly (readonly number[])[] = [
  [0, 0, 1],
  [0.5, 0.5, 0],
  [1, 0, 0],
  [0, 1, 0],
  [0, 0.5, 0.5],
];

export interface Scene {
  readonly settings: SelectorSettings;
  readonly stance: ScriptedModel<StanceItem>;
  readonly veracity: ScriptedModel<VeracityItem>;
}

/** A claim whose posts take these stances, which the stance model reads off their last word. */
export function sceneClaim(name: string, options: { label: number | null; stances: readonly number[] }): SelectorClaim {
  const { label, stances } = options;
  return {
    threadId: name,
    claim: `claim ${name}`,
    posts: stances.map((stance, post) => `${name} post ${post} says ${stance}`),
    label,
  };
}

/** One labelled claim of each of three veracities, whose posts all take the stance of that number, and an unlabelled one. */
export const sceneClaims: readonly SelectorClaim[] = [
  sceneClaim('a', { label: 0, stances: [0, 0, 0, 0] }),
  sceneClaim('b', { label: 1, stances: [1, 1, 1, 1] }),
  sceneClaim('c', { label: 2, stances: [2, 2, 2, 2] }),
  sceneClaim('d', { label: null, stances: [0, 1, 0, 2] }),
];

/** Three veracities, three stances, and models that do as they are told. */
export function createScene(
  options: {
    claims?: readonly SelectorClaim[];
    config?: z.input<typeof selectorSchema>;
    seed?: number;
    matchedRandomControl?: SelectorSettings['matchedRandomControl'];
    stancePretraining?: SelectorSettings['stancePretraining'];
    veracityOf?: (item: VeracityItem, taught: number) => readonly number[];
    stanceOf?: (item: StanceItem, taught: number) => ArrayLike<number>;
  } = {},
): Scene {
  const {
    claims = sceneClaims,
    config = {},
    seed = 1,
    stancePretraining = [],
    veracityOf = ({ posts }) => veracityAfter[posts.length],
    stanceOf = ({ post }) => leaning(Number(post.at(-1)), { classes: 3 }),
  } = options;
  const stance = scriptedModel<StanceItem>({
    classes: ['support', 'deny', 'comment'],
    answer: (item, taught) => ({
      distribution: Float64Array.from(stanceOf(item, taught)),
      explanation: `because of ${item.post}`,
    }),
  });
  const veracity = scriptedModel<VeracityItem>({
    classes: ['non-rumor', 'true', 'false'],
    answer: (item, taught) => ({
      distribution: Float64Array.from(veracityOf(item, taught)),
      explanation: `${item.threadId} has ${item.posts.length} posts`,
    }),
  });
  const settings: SelectorSettings = {
    claims,
    stanceModel: stance.model,
    veracityModel: veracity.model,
    stancePretraining,
    embedTexts: embed,
    embedExplanations: embed,
    dimensions: sceneDimensions,
    config: selectorSchema.parse(config),
    seed,
    ...(options.matchedRandomControl && { matchedRandomControl: options.matchedRandomControl }),
  };
  return { settings, stance, veracity };
}
