import type { Encoder } from '../../src/text/encoder.ts';
import { cosine } from './cosine.ts';
import { embedTexts } from './embed-texts.ts';
import type { Entity } from './entity.ts';
import { splitSentences } from './sentences.ts';

export interface SalientEntity extends Entity {
  /** C(U): the sentence it stands in, with the one before and the one after. */
  readonly context: string;
  readonly salience: number;
  readonly vector: Float32Array;
}

/** Eq. 3: how well the entity fits its context, times how well that fits the text. */
export function hierarchicalSalience(vectors: {
  entity: ArrayLike<number>;
  context: ArrayLike<number>;
  text: ArrayLike<number>;
}): number {
  return cosine(vectors.entity, vectors.context) * cosine(vectors.context, vectors.text);
}

/** The entities of a text with their salience, each spelling once: where it stands several times, at its best place. */
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
    const known = best.get(spelling);
    if (known === undefined || salience > known.salience)
      best.set(spelling, { ...entity, context: contexts[index], salience, vector });
  }
  return [...best.values()];
}

/** An entity that crosses what looks like the end of a sentence has the sentences around all of it. */
export function localContext(options: { text: string; entity: { start: number; end: number } }): string {
  const { text, entity } = options;
  const sentences = splitSentences(text);
  const first = sentences.findIndex(({ end }) => end > entity.start);
  const last = sentences.findLastIndex(({ start }) => start < entity.end);
  if (first < 0 || last < 0) return text;
  return text.slice(sentences[Math.max(0, first - 1)].start, sentences[Math.min(sentences.length - 1, last + 1)].end);
}
