/** A number with its sign, as in tables of differences: `+0.014`, `−0.003`. */
export function signed(value: number, digits: number): string {
  return `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(digits)}`;
}
