import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type ClaimRegion, claimRegionSchema, distanceFrom } from '../../checkpoints/bundle/claim-shift.ts';
import type { RunDirectory } from '../../checkpoints/run-directory.ts';
import { floatsToBase64 } from '../../src/base64-floats.ts';
import { readJsonFile, writeJsonFile } from '../../src/json-file.ts';
import { quantile } from '../../src/metrics/summary-statistics.ts';
import { createHashingEncoder } from '../../src/text/hashing-encoder.ts';

/** `trained-claims.json`: where the claims lie that the verdicts of a run were learnt from. */
const pathOf = (run: RunDirectory) => join(run.path, 'trained-claims.json');

/** Null for a run of before this was kept. @throws InputError for a file that is damaged */
export function trainedClaims(run: RunDirectory): ClaimRegion | null {
  return existsSync(pathOf(run)) ? readJsonFile(pathOf(run), claimRegionSchema) : null;
}

export function saveTrainedClaims(run: RunDirectory, region: ClaimRegion): void {
  writeJsonFile(pathOf(run), region);
}

/** Of the claims' scores, so many are no higher than the threshold. */
const alikeShare = 0.95;

/** The center of these claims, and how far from it a claim like them may be: each is held against the center of the others. */
export async function claimRegion(claims: readonly string[]): Promise<ClaimRegion> {
  const encoder = createHashingEncoder();
  const { dimensions } = encoder;
  const rows = await encoder.encode(claims);
  const rowOf = (index: number) => rows.subarray(index * dimensions, (index + 1) * dimensions);
  const sum = new Float64Array(dimensions);
  for (const index of claims.keys()) for (const [i, value] of rowOf(index).entries()) sum[i] += value;
  const scores = claims.map((_, index) => {
    const row = rowOf(index);
    return distanceFrom(unit(sum.map((value, i) => value - row[i])), row);
  });
  return {
    encoder: claimRegionSchema.shape.encoder.parse(encoder.identity),
    center: floatsToBase64(Float32Array.from(unit(sum))),
    threshold: quantile(Float64Array.from(scores).sort(), alikeShare),
  };
}

function unit(vector: Float64Array): Float64Array {
  const length = Math.hypot(...vector);
  return vector.map((value) => value / (length || 1));
}
