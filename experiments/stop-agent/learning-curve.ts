import { percent } from '../report/shown-numbers.ts';

/** A cross-validation with some of the labels. */
export interface CurvePoint {
  readonly labels: number;
  /** Of the detector after all posts. */
  readonly wholeMacroF1: number;
  /** Mean share of the posts that the agent reads; null where no agent was trained. */
  readonly earliness: number | null;
}

/**
 * Macro-F1 from few labels to all, and an outlook to twice as many.
 * @param seed whose folds these are, where others have other numbers
 */
export function learningCurveInWords(curve: readonly CurvePoint[], seed?: number): string {
  const scores = curve.map(({ labels, wholeMacroF1 }) => `${wholeMacroF1.toFixed(3)} with ${labels}`);
  const read = curve.flatMap(({ earliness }) => (earliness === null ? [] : [percent(earliness)]));
  const [before, last] = curve.slice(-2);
  const gain = lastGain(curve);
  const times = last.labels / before.labels;
  const more = Math.round(times) === 2 ? 'Doubling the labels' : `Going from ${before.labels} to ${last.labels} labels`;
  const outlook = labelsHelp(curve) ? `${last.labels} more may bring about as much` : 'more labels may bring little';
  const whose = seed === undefined ? '' : `in the folds of seed ${seed}, `;
  return `Labels: ${whose}macro-F1 after all posts is ${listed(scores)}${read.length === curve.length ? `; the agent reads ${listed(read)}` : ''}. ${more} brought ${gain < 0 ? '−' : '+'}${Math.abs(gain).toFixed(3)} last time; ${outlook}.`;
}

/** Whether the last labels brought something, so that more are likely to. */
export function labelsHelp(curve: readonly CurvePoint[]): boolean {
  return curve.length > 1 && lastGain(curve) >= leastGain;
}

function lastGain(curve: readonly CurvePoint[]): number {
  const [before, last] = curve.slice(-2);
  return last.wholeMacroF1 - before.wholeMacroF1;
}

/** Smaller gains are within what another draw of the labels changes. */
const leastGain = 0.005;

function listed(parts: readonly string[]): string {
  return parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} and ${parts[parts.length - 1]}`;
}
