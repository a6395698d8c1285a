import { emptyContext, retain, selectionState } from '../../envs/selection-env.ts';
import type { TaskPrediction } from '../../experts/task-models/task-model.ts';
import { embedAll } from './episode.ts';
import { explanationShown } from './explanation.ts';
import { retainProbability } from './policy.ts';
import { type Level, type SelectorClaim, type SelectorSettings, type SelectorTraining, stanceItem } from './setup.ts';

/** What a trained selector makes of one claim. */
export interface GreedySelection {
  readonly posts: readonly Decided[];
  /** Of the veracity model, from the posts retained. */
  readonly claim: Decided;
}

export interface Decided {
  readonly prediction: TaskPrediction;
  readonly retainProbability: number;
  readonly isRetained: boolean;
}

/** Claims whose posts are embedded at a time. */
const claimsAtOnce = 16;

/**
 * Inference: every post is labelled and, in time order, retained where π ≥ 1/2; the veracity model reads what was retained;
 * the claim is retained likewise. Nothing is drawn. Without policies everything is retained. What a claim is worth depends on the
 * claims retained before it, so they are decided in the order of their ids, whatever their order in a file.
 * @returns one entry a claim, in the order given
 */
export async function selectGreedily(options: {
  settings: Pick<
    SelectorSettings,
    'stanceModel' | 'veracityModel' | 'embedTexts' | 'embedExplanations' | 'dimensions' | 'config'
  >;
  policies: SelectorTraining['policies'] | null;
  claims: readonly SelectorClaim[];
  onProgress?: ((done: number, total: number) => void) | undefined;
  signal?: AbortSignal | undefined;
}): Promise<GreedySelection[]> {
  const { settings, policies, onProgress, signal } = options;
  const order = [...options.claims.keys()].sort((left, right) =>
    options.claims[left].threadId < options.claims[right].threadId ? -1 : 1,
  );
  const claims = order.map((place) => options.claims[place]);
  const { stanceModel, veracityModel, dimensions, config } = settings;
  const stances = await stanceModel.predict(
    claims.flatMap((claim) => claim.posts.map((_, post) => stanceItem(claim, post))),
  );
  const decides = policies !== null && Object.values(config.retain).includes('policy');
  const claimContext = emptyContext(dimensions);
  const selections: GreedySelection[] = [];
  const decided = (
    level: Level,
    seen: { claim: Float32Array; context: typeof claimContext; explanation: Float32Array; prediction: TaskPrediction },
  ): Decided => {
    const { prediction } = seen;
    if (policies === null || config.retain[level] === 'all')
      return { prediction, retainProbability: 1, isRetained: true };
    const shown = config.showDistribution ? { distribution: prediction.distribution } : {};
    const state = selectionState({ ...seen, ...shown });
    const probability = retainProbability(policies[level], state);
    return { prediction, retainProbability: probability, isRetained: probability >= 0.5 };
  };

  let next = 0;
  for (let start = 0; start < claims.length; start += claimsAtOnce) {
    signal?.throwIfAborted();
    const batch = claims.slice(start, start + claimsAtOnce);
    const own = stances.slice(next, next + batch.reduce((sum, { posts }) => sum + posts.length, 0));
    next += own.length;
    // Where no policy decides nothing looks at embeddings.
    const vectors = decides
      ? await embeddings(
          settings,
          batch.flatMap(({ claim, posts }) => [claim, ...posts]),
          batch
            .flatMap(({ posts }) => posts)
            .map((text, place) => explanationShown(own[place], { classes: stanceModel.classes, text, config })),
        )
      : { texts: [], reasons: [] };
    let place = 0;
    let row = 0;
    const chosen = batch.map((claim) => {
      const claimVector = vectors.texts[row++];
      const context = emptyContext(dimensions);
      const posts = claim.posts.map(() => {
        const seen = { claim: claimVector, context, explanation: vectors.reasons[place], prediction: own[place++] };
        const post = decided('posts', seen);
        if (decides && post.isRetained) retain(context, vectors.texts[row]);
        row++;
        return post;
      });
      return { claim, claimVector, posts };
    });
    const verdicts = await veracityModel.predict(
      chosen.map(({ claim: { threadId, claim, posts: texts }, posts }) => ({
        threadId,
        claim,
        posts: posts.flatMap(({ isRetained, prediction }, index) =>
          isRetained ? [{ text: texts[index], stance: prediction.distribution }] : [],
        ),
      })),
    );
    const { reasons } = decides
      ? await embeddings(
          settings,
          [],
          verdicts.map((verdict, index) =>
            explanationShown(verdict, { classes: veracityModel.classes, text: batch[index].claim, config }),
          ),
        )
      : { reasons: [] };
    for (const [index, { claimVector, posts }] of chosen.entries()) {
      const seen = { claim: claimVector, context: claimContext, explanation: reasons[index] };
      const claim = decided('claims', { ...seen, prediction: verdicts[index] });
      if (decides && claim.isRetained) retain(claimContext, claimVector);
      selections.push({ posts, claim });
    }
    onProgress?.(selections.length, claims.length);
  }
  const inOrderGiven: GreedySelection[] = new Array(claims.length);
  for (const [index, place] of order.entries()) inOrderGiven[place] = selections[index];
  return inOrderGiven;
}

async function embeddings(
  settings: Pick<SelectorSettings, 'embedTexts' | 'embedExplanations' | 'dimensions'>,
  texts: readonly string[],
  reasons: readonly string[],
) {
  const { embedTexts, embedExplanations, dimensions } = settings;
  return {
    texts: await embedAll(embedTexts, texts, dimensions),
    reasons: await embedAll(embedExplanations, reasons, dimensions),
  };
}
