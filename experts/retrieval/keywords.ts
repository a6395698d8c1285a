import { z } from 'zod';
import type { Encoder } from '../../src/text/encoder.ts';
import { cosine, embedTexts } from './text-similarity.ts';
import { type Entity, splitSentences } from './text-spans.ts';

/*
 * Keywords: how salient each entity is (Eq. 3), and which ones to search for. SC-MMR (Eqs. 4 and 5, Algorithm 3) picks
 * keywords that are salient and unlike one another.
 *
 * Differences from the paper:
 *   - Eq. 3 scores each entity. One that occurs several times has the score of its most salient place, whatever the case of its letters.
 *   - MMR*_prev after the seed: Algorithm 3 sets it to 1, while §3.3 compares with the score of the keyword chosen before.
 *     Here it is the seed's own salience. A product of two cosines is rarely above 0.56, which the second keyword would
 *     need against 1, so nearly every query would have a single keyword.
 *
 * For Figure 3, k keywords with the weight fixed at 0.5, set lambdaMax 0.5, lambdaMin 0.5, gamma null, maxKeywords k.
 */

export const scMmrSchema = z
  .strictObject({
    lambdaMax: z.number().min(0).max(1).default(1).describe('the weight of salience starts just below this'),
    lambdaMin: z.number().min(0).max(1).default(0.1).describe('weight of salience never goes below this'),
    alpha: z.number().min(0).default(0.3).describe('how fast the weight falls with the number of keywords chosen'),
    beta: z.number().default(2.5).describe('when the weight falls: at α·k = β it would be λ_max − 1'),
    gamma: z
      .number()
      .min(0)
      .nullable()
      .default(0.5)
      .describe('stops when the best score is at most this times the previous one; null: only maxKeywords stops it'),
    maxKeywords: z.int().min(1).nullable().default(null).describe('most keywords; null: no limit'),
  })
  .prefault({})
  .describe('how keywords are chosen among the entities (SC-MMR)');

export type ScMmrOptions = z.output<typeof scMmrSchema>;

/** Eq. 5: λ_k for `chosen` = k keywords chosen so far. */
export function salienceWeight(chosen: number, options: ScMmrOptions): number {
  return Math.max(options.lambdaMin, options.lambdaMax - Math.exp(options.alpha * chosen - options.beta));
}

/**
 * The indices of the keywords, in the order in which they were chosen.
 * @param input.similarity symmetric, `similarity[i][j]` between candidates i and j
 */
export function selectKeywords(
  input: { salience: readonly number[]; similarity: readonly (readonly number[])[] },
  options: ScMmrOptions,
): number[] {
  const { salience, similarity } = input;
  const candidates = new Set(salience.keys());
  if (candidates.size === 0) return [];
  const seed = best(candidates, (index) => salience[index]);
  const selected = [seed.index];
  candidates.delete(seed.index);
  let previous = seed.score;
  while (candidates.size > 0 && selected.length < (options.maxKeywords ?? Number.POSITIVE_INFINITY)) {
    const lambda = salienceWeight(selected.length, options);
    // Eq. 4a
    const next = best(candidates, (index) => {
      const redundancy = Math.max(...selected.map((other) => similarity[index][other]));
      return lambda * salience[index] - (1 - lambda) * redundancy;
    });
    if (options.gamma !== null && next.score <= options.gamma * previous) break;
    previous = next.score;
    selected.push(next.index);
    candidates.delete(next.index);
  }
  return selected;
}

/** Among equal scores the first candidate wins, so that the result depends on nothing else. */
function best(candidates: ReadonlySet<number>, score: (index: number) => number): { index: number; score: number } {
  let best = { index: -1, score: Number.NEGATIVE_INFINITY };
  for (const index of candidates) {
    const value = score(index);
    if (best.index < 0 || value > best.score) best = { index, score: value };
  }
  return best;
}

interface SalientEntity extends Entity {
  /** C(U): the entity's sentence with the one before and the one after. */
  readonly context: string;
  readonly salience: number;
  readonly vector: Float32Array;
}

/** Eq. 3: the similarity of entity and context times that of context and text. */
export function hierarchicalSalience(vectors: {
  entity: ArrayLike<number>;
  context: ArrayLike<number>;
  text: ArrayLike<number>;
}): number {
  return cosine(vectors.entity, vectors.context) * cosine(vectors.context, vectors.text);
}

/** The entities of a text with their salience, each spelling once, at its most salient place. */
export async function salientEntities(options: {
  text: string;
  entities: readonly Entity[];
  encoder: Encoder;
}): Promise<SalientEntity[]> {
  const { text, entities, encoder } = options;
  if (entities.length === 0) return [];
  const contexts = entities.map((entity) => localContext({ text, entity }));
  const vectors = await embedTexts({ encoder, texts: [text, ...entities.map((entity) => entity.text), ...contexts] });
  const best = new Map<string, SalientEntity>();
  for (const [index, entity] of entities.entries()) {
    const vector = vectors[1 + index];
    const context = vectors[1 + entities.length + index];
    const salience = hierarchicalSalience({ entity: vector, context, text: vectors[0] });
    const spelling = entity.text.toLowerCase();
    const previous = best.get(spelling);
    if (previous === undefined || salience > previous.salience)
      best.set(spelling, { ...entity, context: contexts[index], salience, vector });
  }
  return [...best.values()];
}

/** The sentences around an entity, which may itself cross the end of a sentence. */
export function localContext({ text, entity }: { text: string; entity: { start: number; end: number } }): string {
  const sentences = splitSentences(text);
  const first = sentences.findIndex(({ end }) => end > entity.start);
  const last = sentences.findLastIndex(({ start }) => start < entity.end);
  if (first < 0 || last < 0) return text;
  return text.slice(sentences[Math.max(0, first - 1)].start, sentences[Math.min(sentences.length - 1, last + 1)].end);
}
