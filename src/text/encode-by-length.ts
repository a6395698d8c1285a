/**
 * Encodes tokenized texts, row-major [texts, dimensions]. Texts of similar length share a batch, because its time grows
 * with the longest. The longest come first, so that a lack of memory shows at once. A text without tokens is the zero
 * vector.
 */
export async function encodeByLength(
  texts: readonly (readonly number[])[],
  {
    dimensions,
    batchSize,
    encodeBatch,
  }: {
    dimensions: number;
    batchSize: number;
    encodeBatch: (batch: readonly (readonly number[])[]) => Promise<Float32Array>;
  },
): Promise<Float32Array> {
  const order = Array.from(texts.keys())
    .filter((index) => texts[index].length > 0)
    .sort((a, b) => texts[b].length - texts[a].length || a - b);
  const vectors = new Float32Array(texts.length * dimensions);
  for (let start = 0; start < order.length; start += batchSize) {
    const batch = order.slice(start, start + batchSize);
    const encoded = await encodeBatch(batch.map((index) => texts[index]));
    for (const [place, index] of batch.entries())
      vectors.set(encoded.subarray(place * dimensions, (place + 1) * dimensions), index * dimensions);
  }
  return vectors;
}
