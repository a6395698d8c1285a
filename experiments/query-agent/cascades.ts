import type { QueryEpisode } from '../../envs/query-env.ts';
import type { QueryThread } from '../../trainers/query-agent/states.ts';

/*
 * Fixed rules over several detectors, to compare an agent with. A cascade asks one detector while it reads, until that is sure enough; if
 * it never is, it asks another at its last post and answers with that. Single detectors and early confidence rules are
 * cascades without a second detector.
 */

export interface Cascade {
  readonly name: string;
  /** Asked at every step from so many posts on, up to `last`. */
  readonly detector: number;
  readonly first: number;
  readonly last: number;
  /** Answers once the likeliest label has this probability; above 1 for never. */
  readonly confidence: number;
  /** Asked at the last step where the first was never sure; null to answer with the first in any case. */
  readonly second: number | null;
}

/** Confidences that cascades wait for. */
const confidences = [0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.97, 0.99];

/**
 * Every cascade over some detectors, with every pair of first and last lengths.
 * @param options.names of the detectors, in their order
 * @param options.lengths at which the detectors may be asked; Infinity for all posts
 */
export function allCascades({ names, lengths }: { names: readonly string[]; lengths: readonly number[] }): Cascade[] {
  const single = names.flatMap((name, detector) =>
    lengths.map(
      (last): Cascade => ({
        name: `${name} at ${shown(last)}`,
        detector,
        first: last,
        last,
        confidence: 2,
        second: null,
      }),
    ),
  );
  const others = (detector: number) => [null, ...names.keys()].filter((second) => second !== detector);
  const spans = lengths.flatMap((first) => lengths.filter((last) => last >= first).map((last) => ({ first, last })));
  const cascades = names.flatMap((name, detector) =>
    others(detector).flatMap((second) =>
      spans.flatMap(({ first, last }) =>
        // Without another post and without another detector it does not matter how sure the first is.
        (second === null && first === last ? [] : confidences).map((confidence): Cascade => {
          const where = first === last ? `at ${shown(last)}` : `from ${shown(first)} to ${shown(last)}`;
          const then = second === null ? '' : `, else ${names[second]}`;
          return { name: `${name} ${where} ≥ ${confidence}${then}`, detector, first, last, confidence, second };
        }),
      ),
    ),
  );
  return [...single, ...cascades];
}

const shown = (length: number): string => (length === Number.POSITIVE_INFINITY ? 'the end' : String(length));

/** Whether a rule asks one detector only. */
export const isSingle = ({ second }: Cascade): boolean => second === null;

/**
 * What a cascade does with a thread. A detector that cannot be asked at a step is passed over there; one that is to give the answer is
 * asked at the next step at which it can be, or at the last one before.
 */
export function followCascade({ judgements, lengths }: QueryThread, rule: Cascade): QueryEpisode {
  const asks: { step: number; detector: number }[] = [];
  const ask = (detector: number, step: number) => asks.push({ step, detector });
  const lastStep = Math.max(
    0,
    lengths.findLastIndex((length) => length <= rule.last),
  );
  for (let step = 0; step <= lastStep; step++) {
    const judgement = judgements[step][rule.detector];
    if (judgement === null || (lengths[step] < rule.first && step < lastStep)) continue;
    ask(rule.detector, step);
    const sure = judgement.probabilities === null ? 1 : Math.max(...judgement.probabilities);
    if (judgement.label >= 0 && sure >= rule.confidence) return { asks, step, detector: rule.detector, judgedAt: step };
  }
  const answering = rule.second ?? rule.detector;
  const known = asks.findLast(({ detector }) => detector === answering);
  if (known !== undefined) return { asks, step: lastStep, detector: answering, judgedAt: known.step };
  const askable = (from: number) => judgements.findIndex((own, step) => step >= from && own[answering] !== null);
  const later = askable(lastStep);
  const step = later >= 0 ? later : lastStep;
  const judgedAt = later >= 0 ? later : judgements.findLastIndex((own, at) => at <= step && own[answering] !== null);
  ask(answering, judgedAt);
  return { asks, step, detector: answering, judgedAt };
}
