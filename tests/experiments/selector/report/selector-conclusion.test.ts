import { describe, expect, it } from 'vitest';
import {
  type SelectorDecision,
  type SelectorSystem,
  type SelectorTask,
  selectorDecision,
} from '../../../../experiments/selector/decisions.ts';
import { selectorConclusion, selectorWarnings } from '../../../../experiments/selector/report/selector-conclusion.ts';
import { macroF1Table } from '../../../../experiments/selector/report/selector-report.ts';
import type { SelectorResult } from '../../../../experiments/selector/result.ts';

/** A run whose systems are right about so many of forty claims on the test `news`, and about as many of forty replies. */
function runOf(right: Partial<Record<SelectorSystem, number>>): SelectorResult {
  const systems = Object.keys(right) as SelectorSystem[];
  const decisions = systems.flatMap((system) =>
    (['stance', 'veracity'] as const).flatMap((task) =>
      Array.from({ length: 40 }, (_, item) => decision({ system, task }, item, item % 40 < (right[system] ?? 0))),
    ),
  );
  const claims = { labelled: 1, unlabelled: 1, posts: 2, leftOut: { sameThread: 0, sameEvent: 0, nearDuplicate: 0 } };
  const directory = 'runs/x';
  return {
    seed: 1,
    directory,
    claims,
    room: null,
    epochs: 1,
    isTerminated: false,
    lastEpoch: {},
    folds: [],
    tests: ['news'],
    systems,
    decisions,
  };
}

/** The items have the four classes in turn. */
function decision(
  of: { system: SelectorSystem; task: SelectorTask },
  item: number,
  isRight: boolean,
): SelectorDecision {
  const gold = item % 4;
  const distribution = new Float64Array(4);
  distribution[isRight ? gold : (gold + 1) % 4] = 1;
  const { task, system } = of;
  return selectorDecision(
    { task, item: task === 'veracity' ? `${item}` : `${item}/r`, event: null, gold, reply: null },
    { system, part: 'test', test: 'news', distribution, isRetained: true },
  );
}

const resultsOf = (variants: Record<string, readonly SelectorResult[]>) =>
  Object.entries(variants).map(([variant, trials]) => ({ variant, trials }));
const conclusionOf = (variants: Record<string, readonly SelectorResult[]>) => selectorConclusion(resultsOf(variants));
const warningsOf = (...trials: SelectorResult[]) => selectorWarnings(resultsOf({ agent: trials }));

describe('the conclusion on a selector', () => {
  it('is by the random selection that is alike in every class, where there is one', () => {
    const loses = runOf({ selector: 10, random: 5, 'random-by-class': 30 });
    expect(conclusionOf({ agent: [loses, loses] })).toMatch(
      /^Compared with a random selection alike in every class, the selector shows a loss in stance on news \(−0\.\d{3} \[−0\.\d{3}, −0\.\d{3}\]\), a loss/,
    );
    const wins = runOf({ selector: 30, random: 10 });
    expect(conclusionOf({ agent: [wins, wins] })).toMatch(
      /^Compared with a random selection of the same size, the selector shows a gain in stance on news \(\+0\.\d{3} \[\+/,
    );
  });

  it('names no gain that could be chance', () => {
    expect(conclusionOf({ agent: [runOf({ selector: 21, random: 20 })] })).toMatch(
      /the selector shows no measurable gain in stance on news \(\+0\.\d{3} \[[−+]0\.\d{3}, \+0\.\d{3}\]\), no measurable/,
    );
  });

  it('compares all variants with the same selection', () => {
    const [a, b] = [runOf({ selector: 30, random: 10 }), runOf({ selector: 10, 'random-by-class': 30 })];
    expect(conclusionOf({ a: [a], b: [b] })).toMatch(
      /^Compared with a random selection alike in every class, b’s selector shows a loss in stance on news .*, a loss/,
    );
  });

  it('reports where there is nothing to compare with', () => {
    expect(conclusionOf({ agent: [runOf({ selector: 2, untuned: 1 })] })).toBe(
      'The selector was not compared with a random selection.',
    );
  });

  it('counts many comparisons instead of naming each', () => {
    const [worse, better] = [runOf({ selector: 10, random: 30 }), runOf({ selector: 30, random: 10 })];
    const mixed = [worse, better];
    expect(conclusionOf({ a: [worse, worse], b: [better, better], c: mixed, d: mixed })).toBe(
      'Of 8 comparisons with a random selection of the same size, 2 show a gain, 2 a loss and the others no measurable gain.',
    );
  });
});

describe('warnings about a selector', () => {
  it('name tasks in which no seed had anything to gain', () => {
    const about = (low: number) => ({ difference: 0.01, low, high: 0.02 });
    const gain = (low: number) => ({ macroF1: about(-0.1), logLikelihood: about(low) });
    const of = (stance: number) => ({
      ...runOf({ selector: 21, random: 20 }),
      room: { stance: gain(stance), veracity: gain(-0.01) },
    });
    const nothing = (task: string) => ({
      warning: `Nothing to gain here in ${task}: right weak labels train no better model than random ones.`,
    });
    expect(warningsOf(of(0), of(0.001))).toEqual([nothing('veracity')]);
    expect(warningsOf(of(0), of(-0.001))).toEqual([nothing('stance'), nothing('veracity')]);
  });

  it('name labelled claims that earned nothing at the end', () => {
    const of = (reward: number) => ({
      ...runOf({ selector: 21, random: 20 }),
      lastEpoch: { 'reward/labelledClaims': reward },
    });
    expect(warningsOf(of(-0.04), of(0.1))).toEqual([
      {
        warning: expect.stringMatching(
          /^Labelled claims earned no reward in the last epoch of 1 of 2 runs, so nothing/,
        ),
      },
    ]);
    expect(warningsOf(of(0.1))).toEqual([]);
  });

  it('name the harm that held-out items show, and tables have what is kept', () => {
    const heldOut = (right: Partial<Record<SelectorSystem, number>>) =>
      runOf(right).decisions.map((own) => ({ ...own, part: 'development' as const }));
    const tuned = runOf({ selector: 4, random: 4, untuned: 20 });
    const harmed = { ...tuned, decisions: [...tuned.decisions, ...heldOut({ selector: 10, random: 30, untuned: 20 })] };
    expect(warningsOf(harmed, harmed)).toEqual(
      ['stance here: .* on 40 held-out replies', 'veracity here: .* on 40 held-out claims'].map((where) => ({
        warning: expect.stringMatching(new RegExp(`^The selection harms ${where}, so the untuned models are kept\\.$`)),
      })),
    );
    // What held-out items speak for is used, whatever the test shows.
    const { heading, rows } = macroF1Table('news', resultsOf({ agent: [harmed, harmed] }));
    expect(heading.slice(1)).toEqual(['stance', 'veracity', 'stance kept', 'veracity kept']);
    const cells = (name: string) => rows.find(([own]) => own.startsWith(name))?.slice(1);
    const [untuned] = cells('task models untuned') ?? [];
    const [random] = cells('random') ?? [];
    expect(cells('selector')).toEqual([random, random, untuned, untuned]);
    expect(cells('random')).toEqual([random, random, random, random]);
  });
});
