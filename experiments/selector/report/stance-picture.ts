import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';
import { Random } from '../../../src/tensor/random.ts';

/*
 * JSDRV, Figure 3: posts with their stances in two dimensions, before and after selection.
 *
 * Differences from the paper:
 *   projection | t-SNE | UMAP | umap-js is under a permissive licence (MIT) and draws every number from a stream that we
 *     give it; t-SNE libraries call Math.random or are under the LGPL. Either method keeps neighbourhoods, not distances.
 *   panels | not said | one projection of all posts, the second panel shows a part of it | two projections cannot be compared
 *   evidence | the eye | the eye and mean silhouettes in the space of the embeddings | a projection shows clusters that
 *     are none and hides some that are
 *   input | "[CLS] post [SEP] stance [SEP] reason" | the same, but the encoder adds what it needs at either end
 *
 * Two things raise a silhouette although nothing was judged better: the stance is part of the text, so classes differ a little
 * by construction, and a class that the selection empties no longer counts. So every number comes with its counts.
 */

const SEPARATOR = ' [SEP] ';
const USUAL_NEIGHBOURS = 15;
const FEWEST_POINTS = 4;
const EPOCHS_AT_A_TIME = 10;

const silhouetteSchema = z
  .number()
  .nullable()
  .describe('mean silhouette by stance over the posts shown, cosine distance between embeddings; null where undefined');

const panelSchema = z.strictObject({
  silhouette: silhouetteSchema,
  classes: z.array(
    z.strictObject({
      stance: z.string(),
      posts: z.int().describe('posts with this stance'),
      shownPosts: z.int().describe('those of them that were drawn for the picture'),
      silhouette: silhouetteSchema,
    }),
  ),
});

export const stancePictureSchema = z.strictObject({
  seed: z.int(),
  annotated: panelSchema.describe('every post with a stance'),
  retained: panelSchema.describe('the posts that the selector retained'),
  points: z
    .array(
      z.strictObject({
        x: z.number(),
        y: z.number(),
        stance: z.string(),
        isRetained: z.boolean(),
        isRight: z
          .boolean()
          .nullable()
          .default(null)
          .describe('whether the stance is that of the data, which the selector does not see; null where it has none'),
      }),
    )
    .nullable()
    .describe('the posts drawn, in random order; null when there are too few'),
  reason: z.string().nullable().describe('why there are no points'),
});

export type StancePicture = z.infer<typeof stancePictureSchema>;
export type StancePanel = StancePicture['annotated'];

interface StancePost {
  readonly text: string;
  readonly stance: string;
  readonly explanation: string;
  readonly isRetained: boolean;
  /** Null where nobody knows. */
  readonly isRight: boolean | null;
}

export async function stancePicture(options: {
  posts: readonly StancePost[];
  classes: readonly string[];
  /** Row-major `[texts.length, dimensions]`. */
  embed: (texts: readonly string[]) => Promise<Float32Array>;
  dimensions: number;
  /** Posts to draw at most. Distances between all of them are computed, so a few thousand is the practical limit. */
  points: number;
  seed: number;
  signal?: AbortSignal | undefined;
}): Promise<StancePicture> {
  const { posts, classes, embed, dimensions, seed, signal } = options;
  const stray = posts.find(({ stance }) => !classes.includes(stance));
  if (stray !== undefined)
    throw new Error(`a post has the stance "${stray.stance}", which is none of the classes ${classes.join(', ')}`);
  signal?.throwIfAborted();

  const drawn = drawPosts(options);
  const texts = drawn.map(({ text, stance, explanation }) => [text, stance, explanation].join(SEPARATOR));
  const embeddings = texts.length > 0 ? await embed(texts) : new Float32Array(0);
  signal?.throwIfAborted();
  const distances = cosineDistances({ embeddings, rows: drawn.length, dimensions });

  const panel = (isShown: (post: StancePost) => boolean) =>
    describePanel({ posts: posts.filter(isShown), classes, drawn, isShown, distances });
  const panels = { seed, annotated: panel(() => true), retained: panel(({ isRetained }) => isRetained) };

  if (drawn.length < FEWEST_POINTS)
    return {
      ...panels,
      points: null,
      reason: `there are ${drawn.length} posts to show, and a projection needs at least ${FEWEST_POINTS}`,
    };
  const places = await project({ distances, seed, signal });
  const points = drawn.map(({ stance, isRetained, isRight }, index) => ({
    ...places[index],
    stance,
    isRetained,
    isRight,
  }));
  return { ...panels, points, reason: null };
}

/**
 * A random sample in proportion to the strata (stance × retained or not). Adams' method gives each next point to the stratum
 * with the most posts per point, and first to those without any, so that twice as many points as classes show every stratum.
 */
function drawPosts(options: {
  posts: readonly StancePost[];
  classes: readonly string[];
  points: number;
  seed: number;
}): StancePost[] {
  const { posts, classes, points, seed } = options;
  const order = Random.seeded({ seed, purpose: 'stance-picture-posts' }).shuffled([...posts.keys()]);
  // Every class comes once before any comes twice, alternating between retained and not. Few points then show the most.
  const strata = [0, 1]
    .flatMap((turn) => classes.map((stance, index) => ({ stance, isRetained: (index + turn) % 2 === 0 })))
    .map((key) => order.filter((p) => posts[p].stance === key.stance && posts[p].isRetained === key.isRetained));
  const seats = strata.map(() => 0);
  for (let drawn = 0; drawn < Math.min(points, posts.length); drawn++) {
    const need = strata.map(({ length }, index) => (length === 0 ? 0 : length / seats[index]));
    seats[need.indexOf(Math.max(...need))]++;
  }
  const chosen = new Set(strata.flatMap((stratum, index) => stratum.slice(0, seats[index])));
  // Plot in random order. Later points hide earlier ones, so points sorted by class would make mixed clusters look pure.
  return order.filter((index) => chosen.has(index)).map((index) => posts[index]);
}

/**
 * 1 − cos, computed as half the squared distance of unit vectors: exactly 0 for equal texts, and precise even where an encoder
 * puts all texts into a narrow cone. A zero vector has no direction; it is at 0 from other zero vectors and ½ from the rest.
 */
function cosineDistances(options: { embeddings: Float32Array; rows: number; dimensions: number }): Float64Array[] {
  const { embeddings, rows, dimensions } = options;
  if (embeddings.length !== rows * dimensions)
    throw new Error(`${rows} texts of ${dimensions} dimensions were embedded as ${embeddings.length} numbers`);
  if (!embeddings.every(Number.isFinite)) throw new Error('the encoder returned a number that is not finite');
  const units = Array.from({ length: rows }, (_, row) => {
    const vector = Float64Array.from(embeddings.subarray(row * dimensions, (row + 1) * dimensions));
    const norm = Math.hypot(...vector) || 1;
    return vector.map((value) => value / norm);
  });
  const distances = units.map(() => new Float64Array(rows));
  for (let left = 0; left < rows; left++)
    for (let right = 0; right < left; right++) {
      let squares = 0;
      for (let index = 0; index < dimensions; index++) squares += (units[left][index] - units[right][index]) ** 2;
      distances[left][right] = distances[right][left] = squares / 2;
    }
  return distances;
}

function describePanel(options: {
  posts: readonly StancePost[];
  classes: readonly string[];
  drawn: readonly StancePost[];
  isShown: (post: StancePost) => boolean;
  distances: readonly Float64Array[];
}): StancePanel {
  const { posts, classes, drawn, isShown, distances } = options;
  const clusters = classes.map((stance) =>
    [...drawn.keys()].filter((index) => isShown(drawn[index]) && drawn[index].stance === stance),
  );
  const silhouettes = clusterSilhouettes({ clusters, distances });
  return {
    silhouette: meanOf(silhouettes.flat()),
    classes: classes.map((stance, index) => ({
      stance,
      posts: posts.filter((post) => post.stance === stance).length,
      shownPosts: clusters[index].length,
      silhouette: meanOf(silhouettes[index]),
    })),
  };
}

/**
 * Rousseeuw (1987): (b − a) / max(a, b), where a is the mean distance to the post's own cluster and b that to the nearest
 * other one; 0 for a post alone in its cluster. Undefined, thus empty, unless there are two clusters, one with two posts.
 */
function clusterSilhouettes(options: {
  clusters: readonly (readonly number[])[];
  distances: readonly Float64Array[];
}): number[][] {
  const { clusters, distances } = options;
  const occupied = clusters.filter(({ length }) => length > 0);
  if (occupied.length < 2 || occupied.every(({ length }) => length === 1)) return clusters.map(() => []);
  return clusters.map((own) =>
    own.map((item) => {
      if (own.length === 1) return 0;
      const total = (others: readonly number[]) => others.reduce((sum, other) => sum + distances[item][other], 0);
      const within = total(own) / (own.length - 1);
      const nearest = Math.min(
        ...occupied.filter((other) => other !== own).map((other) => total(other) / other.length),
      );
      const larger = Math.max(within, nearest);
      return larger === 0 ? 0 : (nearest - within) / larger;
    }),
  );
}

function meanOf(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}

async function project(options: {
  distances: readonly Float64Array[];
  seed: number;
  signal?: AbortSignal | undefined;
}): Promise<{ x: number; y: number }[]> {
  const { distances, seed, signal } = options;
  const random = Random.seeded({ seed, purpose: 'stance-picture-projection' });
  const nNeighbors = Math.min(USUAL_NEIGHBOURS, distances.length - 1);
  const { UMAP } = await import('umap-js');
  // The usual minDist of 0.1 packs a cluster until its marks cover each other.
  const umap = new UMAP({ nNeighbors, minDist: 0.5, random: () => random.uniform() });
  // All distances are known, so neighbours are exact. The library counts a point as its own first neighbour.
  const neighbours = distances.map((row, item) => {
    const others = [...row.keys()].filter((other) => other !== item);
    return [item, ...others.sort((left, right) => row[left] - row[right]).slice(0, nNeighbors - 1)];
  });
  umap.setPrecomputedKNN(
    neighbours,
    neighbours.map((indices, item) => indices.map((index) => distances[item][index])),
  );
  // Once neighbours are given, the library only counts the vectors.
  const epochs = umap.initializeFit(distances.map(() => []));
  for (let epoch = 0; epoch < epochs; epoch++) {
    // The library's asynchronous fit waits a millisecond after each epoch, which would take most of the time here.
    if (epoch % EPOCHS_AT_A_TIME === 0) await setImmediate();
    signal?.throwIfAborted();
    umap.step();
  }
  const places = umap.getEmbedding();
  return places.map(([x, y]) => ({ x, y }));
}
