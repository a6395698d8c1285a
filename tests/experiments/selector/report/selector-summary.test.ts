import { describe, expect, it } from 'vitest';
import {
  type SelectorDecision,
  type SelectorSystem,
  type SelectorTask,
  scoreTest,
} from '../../../../experiments/selector/decisions.ts';
import { summarizeSelectorExperiment } from '../../../../experiments/selector/report/selector-summary.ts';
import type { SelectorResult } from '../../../../experiments/selector/result.ts';

/** A run whose systems are right about so many of four claims on the test `news`, and about as many of four replies. */
function runOf(right: Partial<Record<SelectorSystem, number>>): SelectorResult {
  const systems = Object.entries(right).map(([name, count]) => {
    const own = (task: SelectorTask) => [0, 1, 2, 3].map((item) => decision(task, item, item < count));
    return {
      name: name as SelectorSystem,
      tests: { news: scoreTest([...own('stance'), ...own('veracity')]) },
      heldOut: {},
    };
  });
  const claims = { labelled: 1, unlabelled: 1, posts: 2, leftOut: { sameThread: 0, sameEvent: 0, nearDuplicate: 0 } };
  return { seed: 1, claims, epochs: 1, isTerminated: false, lastEpoch: {}, folds: [], systems, decisions: [] };
}

/** The items have the four classes in turn. */
function decision(task: SelectorTask, item: number, isRight: boolean): SelectorDecision {
  const predicted = isRight ? item : (item + 1) % 4;
  const probabilities = [0, 1, 2, 3].map((label) => Number(label === predicted));
  const where = { system: 'selector', test: 'news', part: 'test', event: null } as const;
  return { ...where, task, id: `${item}`, gold: item, predicted, probabilities, retained: true };
}

const verdictOf = (variants: Record<string, readonly SelectorResult[]>) =>
  summarizeSelectorExperiment({
    name: 'x',
    results: Object.entries(variants).map(([variant, trials]) => ({ variant, trials })),
  })
    .replaceAll('\n', ' ')
    .replace(/.*Verdict: /, '');

describe('the verdict on a selector', () => {
  it('is by the random selection that is alike in every class, where there is one', () => {
    const loses = runOf({ selector: 2, random: 1, 'random-by-class': 3 });
    expect(verdictOf({ agent: [loses, loses] })).toMatch(
      /^against a random selection alike in every class the selector makes −0\.\d{3}.* in stance on news \(above it with 0 of 2 seeds\), −0/,
    );
    const wins = runOf({ selector: 2, random: 1 });
    expect(verdictOf({ agent: [wins, loses] })).toMatch(
      /^against a random selection of the same size the selector makes \+0\.\d{3}.* in stance on news/,
    );
  });

  it('says where there is none', () => {
    expect(verdictOf({ agent: [runOf({ selector: 2, untuned: 1 })] })).toBe(
      'the selector was not compared with a random selection. ',
    );
  });

  it('counts many comparisons instead of naming each', () => {
    const [worse, better] = [runOf({ selector: 1, random: 3 }), runOf({ selector: 3, random: 1 })];
    const mixed = [worse, better];
    expect(verdictOf({ a: [worse, worse], b: [better, better], c: mixed, d: mixed })).toBe(
      'of 8 comparisons with a random selection the selector is above it with every seed in 2 and below it with every seed in 2; the report has each. ',
    );
  });
});
