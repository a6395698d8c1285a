import { emptyContext } from '../../envs/selection-env.ts';
import type { TaskPrediction } from '../../experts/task-models/task-model.ts';
import { decided, policyChooser, type Step } from './choice.ts';
import { predictStances, type SelectorClaim, type SelectorSettings, type SelectorTraining } from './setup.ts';
import { showClaims, showPosts, veracityItem } from './show.ts';

/** The selection of a trained selector for one claim. */
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

const nothing = async () => new Float32Array(0);

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
  signal?: AbortSignal;
}): Promise<GreedySelection[]> {
  const { settings, policies, claims, onProgress, signal } = options;
  const { stanceModel, veracityModel, config } = settings;
  const order = [...claims.keys()].sort((left, right) => (claims[left].threadId < claims[right].threadId ? -1 : 1));
  const stances = await predictStances(
    stanceModel,
    order.map((claim) => claims[claim]),
  );
  const stancesOf = new Map(order.map((claim, place) => [claim, stances[place]]));
  const stanceOf = (claim: number, post: number) => stancesOf.get(claim)![post];
  const decides = policies !== null && Object.values(config.retain).includes('policy');
  const choose = decides
    ? policyChooser({ policies, config, isRetained: (probability) => probability >= 0.5 })
    : () => decided(true);
  // Where no policy decides nothing looks at embeddings.
  const embedding = decides ? {} : { dimensions: 0, embedTexts: nothing, embedExplanations: nothing };
  const shown = { ...settings, ...embedding, claims };
  const context = emptyContext(shown.dimensions);
  const selections: GreedySelection[] = new Array(claims.length);
  for (let start = 0; start < order.length; start += claimsAtOnce) {
    signal?.throwIfAborted();
    const batch = order
      .slice(start, start + claimsAtOnce)
      .map((claim) => ({ claim, posts: Int32Array.from(claims[claim].posts.keys()) }));
    const posts = await showPosts(shown, { batch, stanceOf, choose });
    const verdicts = await veracityModel.predict(
      posts.map(({ claim, retained }) => veracityItem(shown, { claim, posts: retained, stanceOf })),
    );
    const judged = posts.map((post, index) => ({ ...post, prediction: verdicts[index] }));
    const steps = await showClaims(shown, { batch: judged, context, choose });
    for (const [index, { claim, steps: ofPosts, prediction }] of judged.entries())
      selections[claim] = {
        posts: ofPosts.map((step, post) => decidedBy(step, stanceOf(claim, post))),
        claim: decidedBy(steps[index], prediction),
      };
    onProgress?.(start + batch.length, claims.length);
  }
  return selections;
}

function decidedBy({ action, retainProbability }: Step, prediction: TaskPrediction): Decided {
  return { prediction, retainProbability, isRetained: action === 1 };
}
