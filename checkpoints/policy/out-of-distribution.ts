import * as z from 'zod/mini';
import { floatsFromBase64 } from '../../src/base64-floats.ts';
import { hashingIdentitySchema } from './hashing-identity.ts';
import { embedder } from './prefix-reader.ts';

/** Where the claims of some threads lie, and how far from there a claim like them may be. */
export const claimRegionSchema = z.object({
  encoder: hashingIdentitySchema,
  /** Sum of the claims' vectors at length 1; 32-bit floats, little-endian, base64. */
  center: z.string(),
  /** 95% of the claims score no more, each held against the center of the others. */
  threshold: z.number(),
});
export type ClaimRegion = z.infer<typeof claimRegionSchema>;

/** 5% of like threads look unlike; from twice as many on it is said. */
export const manyFlagged = 0.1;

/** How unlike the threads of a region a thread is. */
export interface OutOfDistribution {
  /** 1 − cosine of the claim's vector with the region's claims: 0 to 2. */
  readonly score: number;
  /** Whether hardly any claim of the region scores as much; what was found on those threads may not hold for this one. */
  readonly isFlagged: boolean;
}

/** A function from the text of a claim to how unlike the threads of a region it is. */
export function outOfDistributionFrom(region: ClaimRegion): (claim: string) => OutOfDistribution {
  const center = floatsFromBase64(region.center);
  const embed = embedder(region.encoder);
  return (claim) => {
    const score = distanceFrom(center, embed(claim));
    return { score, isFlagged: score > region.threshold };
  };
}

/** 1 − the cosine of a unit vector with another; 1 for a vector of zeros. */
export function distanceFrom(center: ArrayLike<number>, vector: ArrayLike<number>): number {
  let product = 0;
  let squares = 0;
  for (let i = 0; i < center.length; i++) {
    product += center[i] * vector[i];
    squares += vector[i] * vector[i];
  }
  return 1 - (squares === 0 ? 0 : product / Math.sqrt(squares));
}
