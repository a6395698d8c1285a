/**
 * JSON that reads back as the very same value: like `JSON.stringify`, but it keeps −0 and refuses what JSON would
 * change silently (NaN to null, a Map to {}, a typed array to an object). A property that is undefined is left out.
 */
export function exactJson(value: unknown, path = '$'): string {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new Error(`${path} is ${value}, which JSON cannot hold; store null or a string`);
    return Object.is(value, -0) ? '-0' : JSON.stringify(value);
  }
  if (Array.isArray(value)) return `[${value.map((item, index) => exactJson(item, `${path}[${index}]`)).join(',')}]`;
  if (isPlainObject(value)) {
    const members = Object.entries(value).filter(([, member]) => member !== undefined);
    return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${exactJson(member, `${path}.${key}`)}`).join(',')}}`;
  }
  const found = typeof value === 'object' ? (value.constructor?.name ?? 'an object') : typeof value;
  throw new Error(`${path} is ${found}, which JSON cannot hold; use plain objects, arrays, strings and numbers`);
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
