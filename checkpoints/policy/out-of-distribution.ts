import * as z from 'zod/mini';
import { floatsFromBase64 } from '../../src/base64-floats.ts';
import { embedder, hashingIdentitySchema } from './prefix-reader.ts';

/** The region of some threads' claims. */
export const claimRegionSchema = z.object({
  encoder: hashingIdentitySchema,
  /** Sum of the claims' unit vectors; 32-bit floats, little-endian, base64. */
  center: z.string(),
  /** The score that 95% of the claims do not exceed, each compared with the center of the others. */
  threshold: z.number(),
});
export type ClaimRegion = z.infer<typeof claimRegionSchema>;

/** 5% of similar threads are flagged by chance; a warning is printed from twice that share on. */
export const manyFlagged = 0.1;

/** How far a thread lies from a region. */
export interface OutOfDistribution {
  /** 1 − cosine of the claim's vector with the region's claims: 0 to 2. */
  readonly score: number;
  /** Whether the score exceeds that of 95% of the region's claims. Results on the region may not hold then. */
  readonly isFlagged: boolean;
}

export function outOfDistributionFrom(region: ClaimRegion): (claim: string) => OutOfDistribution {
  const center = floatsFromBase64(region.center);
  const embed = embedder(region.encoder);
  return (claim) => {
    const score = distanceFrom(center, embed(claim));
    return { score, isFlagged: score > region.threshold };
  };
}

/** 1 − cosine of a unit vector with another; 1 for a vector of zeros. */
export function distanceFrom(center: ArrayLike<number>, vector: ArrayLike<number>): number {
  let product = 0;
  let squares = 0;
  for (let i = 0; i < center.length; i++) {
    product += center[i] * vector[i];
    squares += vector[i] * vector[i];
  }
  return 1 - (squares === 0 ? 0 : product / Math.sqrt(squares));
}
