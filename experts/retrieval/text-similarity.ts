import type { Encoder } from '../../src/text/encoder.ts';

/** One vector per text, in order; equal texts are encoded once. */
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

/** Cosine similarity; 0 if either vector is zero, so that a text without words is similar to nothing. */
export function cosine(left: ArrayLike<number>, right: ArrayLike<number>): number {
  let product = 0;
  let leftSquares = 0;
  let rightSquares = 0;
  for (let index = 0; index < left.length; index++) {
    product += left[index] * right[index];
    leftSquares += left[index] * left[index];
    rightSquares += right[index] * right[index];
  }
  return leftSquares === 0 || rightSquares === 0 ? 0 : product / Math.sqrt(leftSquares * rightSquares);
}
