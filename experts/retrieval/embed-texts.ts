import type { Encoder } from '../../src/text/encoder.ts';

/** One vector a text, in the texts' order; equal texts are encoded once. */
export async function embedTexts(options: {
  encoder: Encoder;
  texts: readonly string[];
}): Promise<readonly Float32Array[]> {
  const { encoder, texts } = options;
  const distinct = [...new Set(texts)];
  if (distinct.length === 0) return [];
  const all = await encoder.encode(distinct);
  const rowOf = new Map(
    distinct.map((text, row) => [text, all.subarray(row * encoder.dimensions, (row + 1) * encoder.dimensions)]),
  );
  return texts.map((text) => rowOf.get(text) ?? new Float32Array(encoder.dimensions));
}
