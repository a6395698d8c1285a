import type { Encoder } from '../../src/text/encoder.ts';
import { cosine } from './cosine.ts';
import { embedTexts } from './embed-texts.ts';

/**
 * Eq. 7: the sense whose description, put in the entity's place, leaves its context most like what it was. Returns the
 * index; the first of equals, which is the one that the encyclopedia finds likeliest.
 */
export async function disambiguate(options: {
  entity: string;
  context: string;
  senses: readonly string[];
  encoder: Encoder;
}): Promise<number> {
  const { entity, context, senses, encoder } = options;
  if (senses.length < 2) return 0;
  const modified = senses.map((sense) =>
    context.includes(entity) ? context.replaceAll(entity, () => sense) : `${sense} ${context}`,
  );
  const [original, ...vectors] = await embedTexts({ encoder, texts: [context, ...modified] });
  const similarities = vectors.map((vector) => cosine(original, vector));
  return similarities.indexOf(Math.max(...similarities));
}
