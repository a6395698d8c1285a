import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import type { Encoder } from '../src/text/encoder.ts';

const lineSchema = z.strictObject({ text: z.string(), vector: z.array(z.number()).min(1) });

/**
 * Vectors of sentence-vectors.py by text, less their mean: sentence encoders such as E5 give all texts one direction in common, which
 * would take most of a unit length.
 */
export async function readVectors(path: string): Promise<Map<string, Float32Array>> {
  const lines = (await readFile(path, 'utf8')).trim().split('\n');
  const found = lines.map((line) => lineSchema.parse(JSON.parse(line)));
  const sums = new Float64Array(found[0].vector.length);
  for (const { vector } of found) for (const [place, value] of vector.entries()) sums[place] += value;
  return new Map(
    found.map(({ text, vector }) => [
      text,
      Float32Array.from(vector, (value, place) => value - sums[place] / found.length),
    ]),
  );
}

/** An encoder that knows these texts and no others. */
export function encoderOf(known: ReadonlyMap<string, Float32Array>): Encoder {
  const dimensions = known.values().next().value?.length ?? 0;
  return {
    dimensions,
    identity: { name: 'vectors of a file', dimensions },
    async encode(texts) {
      const all = new Float32Array(texts.length * dimensions);
      for (const [index, text] of texts.entries()) all.set(known.get(text) ?? [], index * dimensions);
      return all;
    },
  };
}
