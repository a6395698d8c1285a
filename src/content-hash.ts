import { createHash } from 'node:crypto';
import stringify from 'safe-stable-stringify';

/** JSON with sorted keys: equal for equal values. */
export function canonicalJson(value: unknown): string {
  return stringify(value) ?? 'null';
}

/** Names a value by its content. */
export function sha256(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex');
}
