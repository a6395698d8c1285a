import { emptyContext, type RetainedContext, retain } from '../../envs/selection-env.ts';
import type { TaskPrediction, VeracityItem } from '../../experts/task-models/task-model.ts';
import { likeliest } from '../../src/likeliest.ts';
import { wordsOf } from '../../src/text/word-set.ts';
import type { Chooser, PreselectedClaim, Step } from './choice.ts';
import type { SelectorConfig } from './config.ts';
import type { SelectorSettings } from './setup.ts';

/*
 * The two levels of the MDP as a policy meets them: items are shown in their order, and each is retained or not before the next.
 */

/** By claim and post, for the posts that the SD model was asked about. */
export type StanceOf = (claim: number, post: number) => TaskPrediction;

/** A claim whose posts were shown. */
export interface ShownPosts extends PreselectedClaim {
  readonly claimEmbedding: Float32Array;
  /** One a post. */
  readonly steps: readonly Step[];
  /** Indices of the posts that were retained, in order. */
  readonly retained: readonly number[];
}

type Shown = Pick<
  SelectorSettings,
  'claims' | 'config' | 'dimensions' | 'embedTexts' | 'embedExplanations' | 'stanceModel' | 'veracityModel'
>;

/** The post level (§4.1) of some claims. */
export async function showPosts(
  settings: Shown,
  { batch, stanceOf, choose }: { batch: readonly PreselectedClaim[]; stanceOf: StanceOf; choose: Chooser },
): Promise<ShownPosts[]> {
  const { claims, config, dimensions, stanceModel } = settings;
  const { classes } = stanceModel;
  const texts = batch.flatMap(({ claim, posts }) => [
    claims[claim].claim,
    ...Array.from(posts, (post) => claims[claim].posts[post]),
  ]);
  const explanations = batch.flatMap(({ claim, posts }) =>
    Array.from(posts, (post) =>
      explanationShown(stanceOf(claim, post), { classes, text: claims[claim].posts[post], config }),
    ),
  );
  const vectors = (await embedAll(settings.embedTexts, texts, dimensions)).values();
  const reasons = (await embedAll(settings.embedExplanations, explanations, dimensions)).values();
  return batch.map(({ claim, posts }) => {
    const claimEmbedding = next(vectors);
    const context = emptyContext(dimensions);
    const retained: number[] = [];
    const steps = Array.from(posts, (post) => {
      const embedding = next(vectors);
      const explanation = next(reasons);
      const shown = { claim: claimEmbedding, context, explanation, prediction: stanceOf(claim, post) };
      const step = choose('posts', { place: { claim, post }, ...shown });
      if (step.action === 1) {
        retain(context, embedding);
        retained.push(post);
      }
      return step;
    });
    return { claim, posts, claimEmbedding, steps, retained };
  });
}

/** The question to the RV model about a claim with some of its posts (§4.2). */
export function veracityItem(
  { claims }: Pick<Shown, 'claims'>,
  { claim, posts, stanceOf }: { claim: number; posts: readonly number[]; stanceOf: StanceOf },
): VeracityItem {
  const { threadId, claim: text, posts: texts } = claims[claim];
  const stanced = posts.map((post) => ({ text: texts[post], stance: stanceOf(claim, post).distribution }));
  return { threadId, claim: text, posts: stanced };
}

/** The claim level (§4.2) of claims whose posts were shown; `context` has the claims retained before. */
export async function showClaims(
  settings: Shown,
  options: {
    batch: readonly (Pick<ShownPosts, 'claim' | 'claimEmbedding'> & { readonly prediction: TaskPrediction })[];
    context: RetainedContext;
    choose: Chooser;
  },
): Promise<Step[]> {
  const { claims, config, dimensions, embedExplanations, veracityModel } = settings;
  const { batch, context, choose } = options;
  const { classes } = veracityModel;
  const shown = batch.map(({ claim, prediction }) =>
    explanationShown(prediction, { classes, text: claims[claim].claim, config }),
  );
  const explanations = await embedAll(embedExplanations, shown, dimensions);
  return batch.map(({ claim, claimEmbedding, prediction }, index) => {
    const explanation = explanations[index];
    const step = choose('claims', { place: { claim }, claim: claimEmbedding, context, explanation, prediction });
    if (step.action === 1) retain(context, claimEmbedding);
    return step;
  });
}

/** The explanation of a task model about an item, which is embedded as e(explanation) in the state (§4.3). */
export function explanationShown(
  { distribution, explanation }: TaskPrediction,
  { classes, text, config }: { classes: readonly string[]; text: string; config: Pick<SelectorConfig, 'explanation'> },
): string {
  if (config.explanation === 'reason') return explanation;
  const label = classes[likeliest(distribution)];
  if (config.explanation === 'label-and-reason') return `${label}: ${explanation}`;
  return wordsOf(`${text} ${explanation}`)
    .map((word) => `${label}_${word}`)
    .join(' ');
}

/** One vector for each text. */
async function embedAll(
  embed: (texts: readonly string[]) => Promise<Float32Array>,
  texts: readonly string[],
  dimensions: number,
): Promise<Float32Array[]> {
  const vectors = texts.length === 0 ? new Float32Array(0) : await embed(texts);
  return texts.map((_, index) => vectors.subarray(index * dimensions, (index + 1) * dimensions));
}

function next(vectors: Iterator<Float32Array>): Float32Array {
  return vectors.next().value;
}
