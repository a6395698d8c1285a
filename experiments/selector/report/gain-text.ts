import type { Gain } from '../../../experts/selectors/held-out.ts';
import { signedInterval } from '../../report/shown-numbers.ts';

/** `log-likelihood +0.012 [+0.004, +0.020], macro-F1 +0.031 [−0.002, +0.066]`. */
export function gainText({ logLikelihood, macroF1 }: Gain): string {
  return `log-likelihood ${withInterval(logLikelihood)}, macro-F1 ${withInterval(macroF1)}`;
}

export function withInterval({ difference, low, high }: Gain['macroF1']): string {
  return signedInterval({ estimate: difference, low, high });
}
