import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { writeFileAtomically } from '../../../src/atomic-file.ts';
import { sha256 } from '../../../src/content-hash.ts';
import { InputError } from '../../../src/errors.ts';
import { featureCount, prefixFeatureOptionsSchema } from './prefix-features.ts';

const floatsSchema = z.string().describe('32-bit floats, little-endian, base64');

/** A trained local detector, in memory and as the one JSON file it is saved in. */
export const fittedModelSchema = z.strictObject({
  format: z.literal('earshot-local-detector'),
  formatVersion: z.literal(1),
  task: z.string(),
  labels: z.array(z.string()).min(2),
  encoder: z.record(z.string(), z.unknown()).describe('identity of the encoder the weights belong to'),
  dimensions: z.int().positive(),
  features: prefixFeatureOptionsSchema,
  dimensionWeights: floatsSchema,
  weights: floatsSchema.describe('[classes − 1, features]; class 0 is the reference'),
  temperature: z.number().positive(),
  training: z
    .strictObject({
      seed: z.int(),
      threads: z.record(z.string(), z.int()).describe('training threads of each label'),
      threadIdsSha256: z.string(),
      rows: z.int(),
      l2: z.number(),
      heldOutLogLoss: z.number().describe('nats, of cross-validation after calibration'),
      heldOutAccuracy: z.number(),
    })
    .describe('how it came about'),
});

export type FittedModel = z.infer<typeof fittedModelSchema>;

/** The name of exactly these weights: part of every annotation made with them. */
export function fittedModelHash(model: FittedModel): string {
  return sha256(model);
}

export function saveFittedModel(options: { model: FittedModel; path: string }): void {
  writeFileAtomically(options.path, `${JSON.stringify(options.model, null, 1)}\n`);
}

export async function loadFittedModel(path: string): Promise<FittedModel> {
  let value: unknown;
  try {
    value = JSON.parse(await readFile(path, 'utf8'));
  } catch (error) {
    throw new InputError(`cannot read ${path}: ${error instanceof Error ? error.message : error}`, { cause: error });
  }
  const parsed = fittedModelSchema.safeParse(value);
  if (!parsed.success)
    throw new InputError(`${path} is not a trained local detector:\n${z.prettifyError(parsed.error)}`);
  const { labels, dimensions } = parsed.data;
  const expected = { dimensionWeights: dimensions, weights: (labels.length - 1) * featureCount(dimensions) };
  for (const [name, length] of Object.entries(expected) as ['dimensionWeights' | 'weights', number][]) {
    const found = floatsFromBase64(parsed.data[name]).length;
    if (found !== length)
      throw new InputError(`${path}: ${name} holds ${found} numbers instead of ${length}; the file is damaged`);
  }
  return parsed.data;
}

export function floatsToBase64(floats: Float32Array): string {
  const bytes = Buffer.alloc(floats.length * 4);
  for (const [index, value] of floats.entries()) bytes.writeFloatLE(value, index * 4);
  return bytes.toString('base64');
}

export function floatsFromBase64(text: string): Float32Array {
  const bytes = Buffer.from(text, 'base64');
  return Float32Array.from({ length: Math.floor(bytes.length / 4) }, (_, index) => bytes.readFloatLE(index * 4));
}
