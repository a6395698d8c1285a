import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import type { StanceItem, VeracityItem } from '../../experts/task-models/task-model.ts';
import { Random } from '../../src/tensor/random.ts';
import { createHashingEncoder } from '../../src/text/hashing-encoder.ts';
import { selectorSchema } from '../../trainers/selector/config.ts';
import { createSelector, type EpochSelection } from '../../trainers/selector/jsdrv.ts';
import type { SelectorClaim } from '../../trainers/selector/setup.ts';
import { leaning, scriptedModel } from '../trainers/selector/scripted-task-models.ts';
import { trainEpochs } from '../trainers/selector/train-epochs.ts';

/*
 * Planted data. The machine mistakes half of the stances (or of the veracities), and only the words of its reasons tell which:
 * there are words of knowing and words of guessing. A selector that works keeps what comes with the former, never having been
 * told of them.
 */

const knowing = ['report', 'source', 'officials', 'witness', 'evidence'];
const guessing = ['maybe', 'guess', 'unclear', 'unsure', 'perhaps'];
/** How the posts of a claim of each veracity are distributed over the stances. */
const typical = [0, 1, 2, 3].map((veracity) => leaning((veracity + 3) % 4, { classes: 4, sureness: 0.7 }));

interface Planted {
  readonly claims: readonly SelectorClaim[];
  readonly truths: readonly number[];
  /** By text of post, or by id of claim: what the machine says, whether that is right, and its reason. */
  readonly said: ReadonlyMap<string, { readonly label: number; readonly isRight: boolean; readonly reason: string }>;
}

function plant(options: { seed: number; claims: number; posts: number }): Planted {
  const random = Random.seeded({ seed: options.seed, purpose: 'planted' });
  const said = new Map<string, { label: number; isRight: boolean; reason: string }>();
  const say = (key: string, truth: number) => {
    const isRight = random.uniform() < 0.5;
    const words = isRight ? knowing : guessing;
    const reason = `because ${words[random.integer(5)]} ${words[random.integer(5)]} word${random.integer(20)}`;
    said.set(key, { label: isRight ? truth : (truth + 1 + random.integer(3)) % 4, isRight, reason });
  };
  const truths = Array.from({ length: options.claims }, (_, index) => index % 4);
  const claims = truths.map((veracity, index) => {
    const threadId = `thread ${index}`;
    say(threadId, veracity);
    const posts = Array.from({ length: options.posts }, (_, place) => {
      const text = `post ${index} ${place}`;
      // A chance of 0.7 of the stance that is typical of the veracity, 0.1 of each other.
      const stance = random.uniform() < 0.6 ? (veracity + 3) % 4 : random.integer(4);
      say(text, stance);
      return text;
    });
    return { threadId, claim: `claim ${index}`, posts, label: index % 8 < 4 ? veracity : null };
  });
  return { claims, truths, said };
}

/** The most likely veracity of a claim with posts of these stances. */
function naiveBayes({ posts }: VeracityItem): Float64Array {
  const logits = typical.map((shares) =>
    posts.reduce((sum, { stance }) => sum + shares.reduce((all, p, k) => all + (stance?.[k] ?? 0) * Math.log(p), 0), 0),
  );
  const weights = logits.map((logit) => Math.exp(logit - Math.max(...logits)));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return Float64Array.from(weights, (weight) => weight / total);
}

const dimensions = 64;
const encoder = createHashingEncoder({ dimensions });
const known = new Map<string, Float32Array>();
async function embed(texts: readonly string[]): Promise<Float32Array> {
  const fresh = texts.filter((text) => !known.has(text));
  const vectors = await encoder.encode(fresh);
  for (const [index, text] of fresh.entries())
    known.set(text, vectors.subarray(dimensions * index, dimensions * (index + 1)));
  const all = new Float32Array(dimensions * texts.length);
  for (const [index, text] of texts.entries()) all.set(known.get(text) ?? [], dimensions * index);
  return all;
}

const classes = ['0', '1', '2', '3'];
type Level = 'posts' | 'claims';

/** Enough to learn in these epochs: precision comes to 0.94 or more. A post's reward is shared with the others of its claim: it takes more claims, and a baseline. */
const sizes = {
  posts: { claims: 160, posts: 10, config: { epochs: 40, learningRate: 0.02, baseline: 'running-mean' } },
  claims: { claims: 200, posts: 3, config: { learningRate: 0.005 } },
} as const;

/** Of the first epoch and over the last ten: how many of the retained weak labels are right, and of the right ones retained. */
async function qualities(options: { level: Level; seed: number; config?: z.input<typeof selectorSchema> }) {
  const { level, seed, config } = options;
  const { claims, truths, said } = plant({ seed, ...sizes[level] });
  const of = (key: string) => {
    const own = said.get(key);
    if (own === undefined) throw new Error(`nothing was planted for ${key}`);
    return own;
  };
  const truthOf = new Map(claims.map(({ threadId }, index) => [threadId, truths[index]]));
  // At either level, the other is told rightly: what is tested is one policy.
  const stance = scriptedModel<StanceItem>({
    classes,
    answer: ({ threadId, post }) =>
      level === 'posts'
        ? { distribution: leaning(of(post).label, { classes: 4, sureness: 0.7 }), explanation: of(post).reason }
        : { distribution: typical[truthOf.get(threadId) ?? 0], explanation: '' },
  });
  const veracity = scriptedModel<VeracityItem>({
    classes,
    answer: (item) =>
      level === 'posts'
        ? { distribution: naiveBayes(item), explanation: '' }
        : {
            distribution: leaning(of(item.threadId).label, { classes: 4, sureness: 0.7 }),
            explanation: of(item.threadId).reason,
          },
  });
  const trainer = createSelector({
    claims,
    stanceModel: stance.model,
    veracityModel: veracity.model,
    stancePretraining: [],
    embedTexts: embed,
    embedExplanations: embed,
    dimensions,
    config: selectorSchema.parse({ ...sizes[level].config, stopAfterFullRewards: null, ...config }),
    seed,
  });
  const epochs = await trainEpochs(trainer);
  const quality = (selections: readonly EpochSelection[]) => {
    const items = selections.flatMap(({ posts, claims: shown }) =>
      level === 'posts'
        ? posts.map(({ claim, post, isRetained }) => ({ isRetained, isRight: of(claims[claim].posts[post]).isRight }))
        : shown.map(({ claim, isRetained }) => ({ isRetained, isRight: of(claims[claim].threadId).isRight })),
    );
    const retained = items.filter(({ isRetained }) => isRetained);
    const right = retained.filter(({ isRight }) => isRight).length;
    return { precision: right / retained.length, recall: right / items.filter(({ isRight }) => isRight).length };
  };
  return { first: quality(epochs.slice(0, 1)), last: quality(epochs.slice(-10)) };
}

describe.each(['posts', 'claims'] as const)('on planted data, the policy of %s', (level) => {
  it.each([1, 2])('learns to retain what the machine labelled rightly, seed %i', async (seed) => {
    const { first, last } = await qualities({ level, seed });
    expect(Math.abs(first.precision - 0.5)).toBeLessThan(0.12);
    expect(last.precision).toBeGreaterThanOrEqual(0.9);
    expect(last.recall).toBeGreaterThanOrEqual(0.8);
  });

  // Not 0.5 exactly: Adam makes a random walk of rewards that mean nothing.
  it('learns nothing from shuffled rewards', async () => {
    const { last } = await qualities({ level, seed: 1, config: { control: 'shuffled-rewards' } });
    expect(last.precision).toBeLessThan(0.65);
  });
});

describe('with the paper’s reward, which is the same for a claim retained and discarded,', () => {
  it('the policy of claims learns nothing', async () => {
    const { last } = await qualities({ level: 'claims', seed: 1, config: { discardedClaim: 'same' } });
    expect(last.precision).toBeLessThan(0.65);
  });
});
