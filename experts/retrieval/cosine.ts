/** Cosine similarity; 0 when either vector has no direction, so that text without a word resembles nothing. */
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
