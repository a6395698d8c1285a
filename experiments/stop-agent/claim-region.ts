import { type ClaimRegion, claimRegionSchema, distanceFrom } from '../../checkpoints/policy/out-of-distribution.ts';
import { floatsToBase64 } from '../../src/base64-floats.ts';
import type { Thread } from '../../src/data/thread.ts';
import { quantile } from '../../src/metrics/summary-statistics.ts';
import { createHashingEncoder } from '../../src/text/hashing-encoder.ts';
import type { Parts } from './parts.ts';

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

/** The region of the training claims: those of the detector, or of the agent where a detector from a file was trained elsewhere. */
export function trainingRegion({ detector, demonstrations, environment }: Parts): Promise<ClaimRegion> {
  return claimRegion(claimsOf(detector.length > 0 ? detector : [...demonstrations, ...environment]));
}

export function claimsOf(threads: readonly Thread[]): string[] {
  return threads.map(({ posts: [claim] }) => claim.text);
}

function unit(vector: Float64Array): Float64Array {
  const length = Math.hypot(...vector);
  return vector.map((value) => value / (length || 1));
}
