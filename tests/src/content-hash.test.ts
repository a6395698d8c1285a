import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson, sha256, sha256OfList } from '../../src/content-hash.ts';

const runs = { seed: 20, numRuns: 300 };

/** JSON as a file would hold it: −0 reads back as 0 from canonical JSON, so it is not drawn. */
const json = fc.jsonValue({ stringUnit: 'binary' }).map((value) => JSON.parse(JSON.stringify(value)));
const small = fc.oneof(fc.integer({ min: 0, max: 1 }), fc.constantFrom('', 'a', '0', null, true, [], {}));
/** Few enough different values that two draws are equal now and then. */
const alike = fc.oneof(
  small,
  fc.array(small, { maxLength: 2 }),
  fc.dictionary(fc.constantFrom('a', 'b'), small, { noNullPrototype: true }),
);

/** The same value with the keys of every object in reverse order. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).reverse();
  return Object.fromEntries(entries.map(([key, member]) => [key, reversed(member)]));
}

describe('canonical JSON', () => {
  it('is JSON of the value, whatever the order of keys', () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(JSON.parse(canonicalJson(value))).toEqual(value);
        expect(canonicalJson(reversed(value))).toBe(canonicalJson(value));
        expect(sha256(reversed(value))).toBe(sha256(value));
      }),
      runs,
    );
  });

  it('is equal for equal values and for no others', () => {
    let equal = 0;
    const compare = (first: unknown, second: unknown) => {
      const same = isDeepStrictEqual(first, second);
      equal += Number(same);
      expect(canonicalJson(first) === canonicalJson(second)).toBe(same);
      expect(sha256(first) === sha256(second)).toBe(same);
    };
    fc.assert(fc.property(fc.oneof(alike, json), fc.oneof(alike, json), compare), { ...runs, numRuns: 1000 });
    expect(equal).toBeGreaterThan(10);
  });

  it('is what is hashed, in one piece or in several', () => {
    const hashOf = (value: unknown) => createHash('sha256').update(canonicalJson(value)).digest('hex');
    fc.assert(
      fc.property(fc.oneof(json, fc.array(alike), fc.array(fc.array(alike))), (value) => {
        expect(sha256(value)).toBe(hashOf(value));
        if (!Array.isArray(value)) return;
        const list = sha256OfList();
        for (const item of value) list.add(item);
        expect(list.digest()).toBe(hashOf(value));
      }),
      runs,
    );
    expect(sha256([{ a: undefined }, undefined])).toBe(hashOf([{}, null]));
  });

  it('leaves out what is undefined', () => {
    expect(canonicalJson({ b: 1, a: undefined })).toBe('{"b":1}');
    expect(canonicalJson(undefined)).toBe('null');
  });

  it.each([
    ['NaN', Number.NaN],
    ['an infinity', { a: [Number.POSITIVE_INFINITY] }],
    ['a function', () => 1],
  ])('refuses %s', (_, value) => {
    expect(() => canonicalJson(value)).toThrow();
  });
});
