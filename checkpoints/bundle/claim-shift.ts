import { floatsFromBase64 } from '../../src/base64-floats.ts';
import { embedder } from './prefix-reader.ts';
import type { StopPromise } from './promise.ts';

/** How unlike the calibration threads a thread is. */
export interface ClaimShift {
  /** 1 − cosine of the claim's vector with the calibration claims': 0 to 2. */
  readonly score: number;
  /** Whether hardly any calibration claim scores as much; the promise says nothing about such threads. */
  readonly isUnlike: boolean;
}

/** A function from the text of a claim to how unlike the calibration threads it is. */
export function claimShift({ shift }: Pick<StopPromise, 'shift'>): (claim: string) => ClaimShift {
  const center = floatsFromBase64(shift.center);
  const embed = embedder(shift.encoder);
  return (claim) => {
    const score = distanceFrom(center, embed(claim));
    return { score, isUnlike: score > shift.threshold };
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
