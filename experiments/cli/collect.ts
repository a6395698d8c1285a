/** For options that may be repeated. */
export function collect(value: string, previous: string[]): string[] {
  return [...previous, value];
}
