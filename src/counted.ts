/** `10,000`. */
export function grouped(count: number): string {
  return count.toLocaleString('en-GB');
}

/** `1 seed`, `3 seeds`. */
export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}
