import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  conservativeStop,
  demonstrationsOf,
  earlyActionStop,
  misleadingStop,
  selectDemonstrations,
  trajectoriesSchema,
} from '../../experts/trajectories.ts';
import { Random } from '../../src/tensor/random.ts';

const runs = { seed: 22, numRuns: 500 };
const label = fc.integer({ min: 0, max: 2 });
/** −1 is an answer that could not be parsed. */
const judgements = fc
  .array(fc.integer({ min: -1, max: 2 }), { minLength: 1, maxLength: 12 })
  .map((predicted) => Int8Array.from(predicted));

/** The first step of which `holds` is true of it and, for `toTheEnd`, of every later one. */
function firstStep(predicted: Int8Array, holds: (judgement: number) => boolean, toTheEnd: boolean): number | null {
  for (let step = 0; step < predicted.length; step++) {
    const tested = toTheEnd ? predicted.subarray(step) : predicted.subarray(step, step + 1);
    if (tested.every(holds)) return step;
  }
  return null;
}

describe('the experts, against their definitions', () => {
  it('conservative: the first step from which all judgements are right', () => {
    fc.assert(
      fc.property(judgements, label, (predicted, gold) => {
        expect(conservativeStop(predicted, gold)).toBe(firstStep(predicted, (judged) => judged === gold, true));
      }),
      runs,
    );
  });

  it('early action: the first step whose judgement is right, never after the conservative one', () => {
    fc.assert(
      fc.property(judgements, label, (predicted, gold) => {
        const early = earlyActionStop(predicted, gold);
        expect(early).toBe(firstStep(predicted, (judged) => judged === gold, false));
        const conservative = conservativeStop(predicted, gold);
        if (conservative !== null) expect(early).toBeLessThanOrEqual(conservative);
      }),
      runs,
    );
  });

  it('misleading: where the last judgement is wrong, the first step from which none differs from it', () => {
    fc.assert(
      fc.property(judgements, label, (predicted, gold) => {
        const last = predicted[predicted.length - 1];
        const misleads = last !== gold && last >= 0;
        const expected = misleads ? firstStep(predicted, (judged) => judged === last, true) : null;
        expect(misleadingStop(predicted, gold)).toBe(expected);
        // A thread ends right or wrong, so it has at most one of the two experts.
        expect(expected === null || conservativeStop(predicted, gold) === null).toBe(true);
      }),
      runs,
    );
  });
});

describe('demonstrations', () => {
  const labelled = fc.array(fc.record({ predicted: judgements, label }), { maxLength: 30 }).map((threads) =>
    threads.map(({ predicted, label }, index) => ({
      label,
      sequence: {
        threadId: `t${index}`,
        labels: ['a', 'b', 'c'],
        predicted,
        confidence: new Float32Array(predicted.length),
        probabilities: new Float32Array(3 * predicted.length),
      },
    })),
  );
  const options = fc.record({
    keepEarlyAction: fc.constantFrom('differing' as const, 'all' as const),
    minPosts: fc.integer({ min: 1, max: 5 }),
    maxConservative: fc.integer({ min: 1, max: 5 }),
    ratio: fc.constantFrom('all' as const, 'weights' as const),
  });

  it('are those of every thread that is long enough, in the order of the threads', () => {
    fc.assert(
      fc.property(labelled, options, (threads, chosen) => {
        const config = trajectoriesSchema.parse(chosen);
        const expected = threads
          .filter(({ sequence }) => sequence.predicted.length >= config.minPosts)
          .flatMap(({ sequence: { predicted, threadId }, label }) => {
            const conservative = conservativeStop(predicted, label);
            const early = earlyActionStop(predicted, label);
            const kept = config.keepEarlyAction === 'all' || early !== conservative ? early : null;
            const length = predicted.length;
            return [
              { expert: 'conservative', threadId, stopStep: conservative, length },
              { expert: 'earlyAction', threadId, stopStep: kept, length },
              { expert: 'misleading', threadId, stopStep: misleadingStop(predicted, label), length },
            ].filter(({ stopStep }) => stopStep !== null);
          });
        expect(demonstrationsOf(threads, config)).toEqual(expected);
      }),
      { ...runs, numRuns: 200 },
    );
  });

  it('are selected within their limits, none twice, and of each expert in the order they came', () => {
    const weights = { alpha: 0.7, beta: 0.15, gamma: 0.15 };
    fc.assert(
      fc.property(labelled, options, (threads, chosen) => {
        const config = trajectoriesSchema.parse(chosen);
        const random = Random.seeded({ seed: 1, purpose: 'test' });
        const all = demonstrationsOf(threads, config);
        const selected = selectDemonstrations(all, config, {
          weights,
          shuffle: (length) => random.permutation(length),
        });
        const of = (list: typeof all, expert: string) =>
          list.filter((demonstration) => demonstration.expert === expert);
        const conservative = Math.min(config.maxConservative, of(all, 'conservative').length);
        const others = Math.floor(conservative / weights.alpha) - conservative;
        const misleading = Math.floor(others / 2);
        const limits = {
          conservative,
          earlyAction: Math.max(1, others - misleading),
          misleading: Math.max(1, misleading),
        };
        for (const [expert, limit] of Object.entries(limits)) {
          const available = of(all, expert);
          const found = of(selected, expert);
          const isLimited = expert === 'conservative' || config.ratio === 'weights';
          expect(found.length).toBe(isLimited ? Math.min(limit, available.length) : available.length);
          expect(found).toEqual(available.filter((demonstration) => found.includes(demonstration)));
        }
      }),
      { ...runs, numRuns: 200 },
    );
  });
});
