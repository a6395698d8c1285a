/** The value of a text from outside; undefined where it is not JSON, which no schema accepts. */
export function jsonOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
