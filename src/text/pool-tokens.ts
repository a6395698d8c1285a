/**
 * One vector a text from its tokens' vectors. `hidden` is `[batch, length, dimensions]`, `mask` `[batch, length]` with 1
 * at tokens and 0 at padding; returns `[batch, dimensions]`.
 */
export function poolTokens(options: {
  hidden: Float32Array;
  mask: Uint8Array;
  length: number;
  dimensions: number;
  pooling: 'cls' | 'mean';
}): Float32Array {
  const { hidden, mask, length, dimensions, pooling } = options;
  const batch = mask.length / length;
  const pooled = new Float32Array(batch * dimensions);
  const sum = new Float64Array(dimensions);
  for (let text = 0; text < batch; text++) {
    const start = text * length * dimensions;
    if (pooling === 'cls') {
      pooled.set(hidden.subarray(start, start + dimensions), text * dimensions);
      continue;
    }
    sum.fill(0);
    let tokens = 0;
    for (let token = 0; token < length; token++) {
      if (mask[text * length + token] === 0) continue;
      tokens++;
      const offset = start + token * dimensions;
      for (let element = 0; element < dimensions; element++) sum[element] += hidden[offset + element];
    }
    for (let element = 0; element < dimensions; element++) pooled[text * dimensions + element] = sum[element] / tokens;
  }
  return pooled;
}
