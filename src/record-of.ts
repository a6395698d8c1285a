import { z } from 'zod';

/** A record with keys of users, such as classes: any string is a key. `z.record` leaves out `__proto__`. */
export function recordOf<Value extends z.ZodType>(value: Value) {
  return z.preprocess(escapeKeys, z.record(z.string(), value)).transform(unescapeKeys);
}

const protoLike = /^__+proto__$/;

/** Adds an underscore to `__proto__` and to all similar keys, so that no two keys become equal. */
function escapeKeys(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !Object.keys(value).some(isProtoLike)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, value]) => [isProtoLike(key) ? `_${key}` : key, value]));
}

function unescapeKeys<Value>(record: Record<string, Value>): Record<string, Value> {
  if (!Object.keys(record).some(isProtoLike)) return record;
  return Object.fromEntries(
    Object.entries(record).map(([key, value]) => [isProtoLike(key) ? key.slice(1) : key, value]),
  );
}

function isProtoLike(key: string): boolean {
  return protoLike.test(key);
}
