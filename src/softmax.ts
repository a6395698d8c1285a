/** Logits to probabilities, in place; returns ln Σ exp(logit). */
export function softmaxInPlace(logits: number[] | Float64Array): number {
  let largest = -Infinity;
  for (let index = 0; index < logits.length; index++) largest = Math.max(largest, logits[index]);
  let sum = 0;
  for (let index = 0; index < logits.length; index++) {
    logits[index] = Math.exp(logits[index] - largest);
    sum += logits[index];
  }
  for (let index = 0; index < logits.length; index++) logits[index] /= sum;
  return largest + Math.log(sum);
}

/** Logits to probabilities, as new numbers. */
export function softmax(logits: Iterable<number>): number[] {
  const probabilities = [...logits];
  softmaxInPlace(probabilities);
  return probabilities;
}
