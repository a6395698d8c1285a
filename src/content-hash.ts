import { createHash } from 'node:crypto';
import { configure } from 'safe-stable-stringify';

const stringify = configure({ deterministic: true, strict: true });

/**
 * JSON with sorted keys and no spaces: equal texts for equal values and only for those. −0 counts as 0, and a property
 * that is undefined is left out.
 * @throws Error for what JSON cannot hold: NaN, an infinity, a function, a cycle
 */
export function canonicalJson(value: unknown): string {
  return stringify(value) ?? 'null';
}

/**
 * SHA-256 of a value's canonical JSON, in hexadecimal: names the value by its content.
 * @throws Error for what JSON cannot hold
 */
export function sha256(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex');
}
