import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { loadCheckpoint, saveCheckpoint } from '../../checkpoints/checkpoint.ts';
import type { NamedArray } from '../../checkpoints/tensor-file.ts';
import { InputError } from '../../src/errors.ts';
import { exactJson } from '../../src/json-file.ts';
import { temporaryFolder } from '../src/data/fixtures.ts';

const runs = { seed: 23, numRuns: 100 };
const kinds = [Float64Array, Float32Array, Int32Array, Uint8Array];

/** Any bit pattern: −0, subnormals, infinities and every NaN among the floats. */
const array: fc.Arbitrary<NamedArray> = fc
  .record({
    kind: fc.constantFrom(...kinds),
    shape: fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 3 }),
    bytes: fc.uint8Array({ minLength: 27 * 8, maxLength: 27 * 8 }),
  })
  .map(({ kind, shape, bytes }) => {
    const size = shape.reduce((product, length) => product * length, 1);
    return { shape, data: new kind(bytes.slice(0, size * kind.BYTES_PER_ELEMENT).buffer) };
  });
const special: fc.Arbitrary<NamedArray> = fc.constantFrom(
  { shape: [5], data: Float64Array.of(-0, 5e-324, Number.NaN, Number.NEGATIVE_INFINITY, Number.MAX_VALUE) },
  { shape: [2, 2], data: Float32Array.of(-0, 1e-45, Number.NaN, Number.POSITIVE_INFINITY) },
);
const name = fc.string({ unit: 'binary', maxLength: 8 }).filter((drawn) => drawn !== '__metadata__');
const arrays = fc.dictionary(name, fc.oneof(array, special), { maxKeys: 6, noNullPrototype: true });
const state = fc.jsonValue({ stringUnit: 'binary' });

const expected = { kind: 'test', formatVersion: 1, stateSchema: z.unknown() };
const bytesOf = ({ buffer, byteOffset, byteLength }: NamedArray['data']) => Buffer.from(buffer, byteOffset, byteLength);

describe('any checkpoint', () => {
  it('reads back bit for bit', () => {
    const path = join(temporaryFolder(), 'any.safetensors');
    fc.assert(
      fc.property(arrays, state, (arrays, state) => {
        saveCheckpoint(path, { kind: 'test', formatVersion: 1, arrays, state });
        const loaded = loadCheckpoint(path, expected);
        expect(loaded.state).toStrictEqual(state);
        expect(Object.keys(loaded.arrays).sort()).toEqual(Object.keys(arrays).sort());
        for (const [name, { shape, data }] of Object.entries(arrays)) {
          expect(loaded.arrays[name].shape).toEqual(shape);
          expect(loaded.arrays[name].data.constructor).toBe(data.constructor);
          expect(bytesOf(loaded.arrays[name].data).equals(bytesOf(data))).toBe(true);
        }
      }),
      runs,
    );
  });

  it('is refused with a message when it is cut short or any one bit of it is flipped', () => {
    const path = join(temporaryFolder(), 'broken.safetensors');
    const damage = fc.record({
      position: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      bit: fc.nat(8),
    });
    fc.assert(
      fc.property(arrays, state, damage, (arrays, state, { position, bit }) => {
        saveCheckpoint(path, { kind: 'test', formatVersion: 1, arrays, state });
        const file = readFileSync(path);
        const byte = Math.floor(position * file.length);
        if (bit < 8) file[byte] ^= 1 << bit;
        writeFileSync(path, bit < 8 ? file : file.subarray(0, byte));
        const load = () => loadCheckpoint(path, expected);
        expect(load).toThrow(InputError);
        expect(load).toThrow(/is corrupt|is not a checkpoint/);
      }),
      { ...runs, numRuns: 250 },
    );
  });
});

describe('exact JSON', () => {
  it('reads back as the very same value, −0 and keys in their order', () => {
    fc.assert(
      fc.property(state, (value) => {
        const text = exactJson(value);
        expect(JSON.parse(text)).toStrictEqual(value);
        expect(exactJson(JSON.parse(text))).toBe(text);
      }),
      { ...runs, numRuns: 500 },
    );
  });

  it('refuses numbers that JSON would turn into null, and names their place', () => {
    fc.assert(
      fc.property(fc.constantFrom(Number.NaN, Infinity, -Infinity), fc.nat(5), (bad, index) => {
        const list: number[] = Array(index).fill(0).concat(bad);
        expect(() => exactJson({ list })).toThrow(`$.list[${index}] is ${bad}, which JSON cannot hold`);
      }),
      { ...runs, numRuns: 20 },
    );
  });
});
