/** The value of a key, as users name classes; undefined for what only every object has, such as `constructor`. */
export function entryOf<Value>(record: Readonly<Record<string, Value>>, key: string): Value | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}
