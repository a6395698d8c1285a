import type { Gain } from '../../../experts/selectors/held-out.ts';
import { shown } from '../../report/shown-numbers.ts';

/** `log-likelihood +0.012 [+0.004, +0.020], macro-F1 +0.031 [−0.002, +0.066]`. */
export function gainText({ logLikelihood, macroF1: score }: Gain): string {
  return `log-likelihood ${shownGain(logLikelihood)}, macro-F1 ${shownGain(score)}`;
}

export function shownGain({ difference: mean, ...interval }: Gain['macroF1']): string {
  return shown({ mean, interval }, { isDifference: true });
}
