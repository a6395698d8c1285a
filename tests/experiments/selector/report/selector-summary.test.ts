import { describe, expect, it } from 'vitest';
import { screenText } from '../../../../experiments/report/narrow-table.ts';
import {
  type SelectorDecision,
  type SelectorSystem,
  type SelectorTask,
  selectorDecision,
} from '../../../../experiments/selector/decisions.ts';
import { summarizeSelectorExperiment } from '../../../../experiments/selector/report/selector-summary.ts';
import type { SelectorResult } from '../../../../experiments/selector/result.ts';
import { scoreTest } from '../../../../experiments/selector/scores.ts';

/** A run whose systems are right about so many of forty claims on the test `news`, and about as many of forty replies. */
function runOf(right: Partial<Record<SelectorSystem, number>>): SelectorResult {
  const decided = (Object.keys(right) as SelectorSystem[]).map((system) => {
    const own = (task: SelectorTask) =>
      Array.from({ length: 40 }, (_, item) => decision({ system, task }, item, item % 40 < (right[system] ?? 0)));
    return { system, decisions: [...own('stance'), ...own('veracity')] };
  });
  const systems = decided.map(({ system, decisions }) => ({
    name: system,
    tests: { news: scoreTest(decisions) },
    heldOut: {},
  }));
  const claims = { labelled: 1, unlabelled: 1, posts: 2, leftOut: { sameThread: 0, sameEvent: 0, nearDuplicate: 0 } };
  const decisions = decided.flatMap((own) => own.decisions);
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

const verdictOf = (variants: Record<string, readonly SelectorResult[]>) =>
  screenText(
    summarizeSelectorExperiment(
      'x',
      Object.entries(variants).map(([variant, trials]) => ({ variant, trials })),
    ),
    { width: 100 },
  )
    .replaceAll('\n', ' ')
    .replace(/.*Verdict: /, '');

describe('the verdict on a selector', () => {
  it('is by the random selection that is alike in every class, where there is one', () => {
    const loses = runOf({ selector: 10, random: 5, 'random-by-class': 30 });
    expect(verdictOf({ agent: [loses, loses] })).toMatch(
      /^compared with a random selection alike in every class, the selector shows a loss against it in stance on news \(−0\.\d{3} \[−0\.\d{3}, −0\.\d{3}\]\); a loss/,
    );
    const wins = runOf({ selector: 30, random: 10 });
    expect(verdictOf({ agent: [wins, wins] })).toMatch(
      /^compared with a random selection of the same size, the selector shows a gain over it in stance on news \(\+0\.\d{3} \[\+/,
    );
  });

  it('says where no seed had anything to gain', () => {
    const about = (low: number) => ({ difference: 0.01, low, high: 0.02 });
    const gain = (low: number) => ({ macroF1: about(-0.1), logLikelihood: about(low) });
    const of = (stance: number) => ({
      ...runOf({ selector: 21, random: 20 }),
      room: { stance: gain(stance), veracity: gain(-0.01) },
    });
    expect(verdictOf({ agent: [of(0), of(0.001)] })).toMatch(
      /\]\); nothing to gain here in veracity: right machine labels train no better model than random ones\. $/,
    );
    expect(verdictOf({ agent: [of(0), of(-0.001)] })).toMatch(
      /; nothing to gain here in stance: right .*in veracity: /,
    );
  });

  it('says where labelled claims earned nothing at the end', () => {
    const of = (reward: number) => ({
      ...runOf({ selector: 21, random: 20 }),
      lastEpoch: { 'reward/labelledClaims': reward },
    });
    expect(verdictOf({ agent: [of(-0.04), of(0.1)] })).toMatch(
      /\]\); labelled claims earned no reward in the last epoch of 1 of 2 runs, so nothing vouches for .* untuned ones before use\. $/,
    );
    expect(verdictOf({ agent: [of(0.1)] })).not.toContain('earned no reward');
  });

  it('opens with the harm that held-out items show, and tables have what is kept', () => {
    const heldOut = (right: Partial<Record<SelectorSystem, number>>) =>
      runOf(right).decisions.map((own) => ({ ...own, part: 'development' as const }));
    const tuned = runOf({ selector: 4, random: 4, untuned: 20 });
    const harmed = { ...tuned, decisions: [...tuned.decisions, ...heldOut({ selector: 10, random: 30, untuned: 20 })] };
    const text = screenText(summarizeSelectorExperiment('x', [{ variant: 'agent', trials: [harmed, harmed] }]), {
      width: 100,
    });
    expect(text.replaceAll('\n', ' ')).toMatch(
      /Verdict: selection harms stance here: tuned 0\.2\d\d, untuned 0\.\d{3} on 40 held-out replies, so the untuned models are kept; selection harms veracity here: .* on 40 held-out claims, .*; compared with/,
    );
    // What held-out items speak for is used, whatever the test says.
    const line = (name: string) => text.split('\n').find((own) => own.startsWith(name)) ?? '';
    expect(line('news')).toMatch(/stance +veracity +stance kept +veracity kept/);
    const [untuned] = line('task models untuned').match(/0\.\d{3}/) ?? [];
    const [random] = line('random').match(/0\.\d{3}/) ?? [];
    const means = (name: string) => line(name).match(/0\.\d{3}(?= ±)/g);
    expect(means('selector')).toEqual([random, random, untuned, untuned]);
    expect(means('random')).toEqual([random, random, random, random]);
  });

  it('calls no gain what could be chance', () => {
    const little = runOf({ selector: 21, random: 20 });
    expect(verdictOf({ agent: [little] })).toMatch(
      /the selector shows no measurable gain over it in stance on news \(\+0\.\d{3} \[[−+]0\.\d{3}, \+0\.\d{3}\]\); no measurable/,
    );
  });

  it('says where there is none', () => {
    expect(verdictOf({ agent: [runOf({ selector: 2, untuned: 1 })] })).toBe(
      'the selector was not compared with a random selection. ',
    );
  });

  it('counts many comparisons instead of naming each', () => {
    const [worse, better] = [runOf({ selector: 10, random: 30 }), runOf({ selector: 30, random: 10 })];
    const mixed = [worse, better];
    expect(verdictOf({ a: [worse, worse], b: [better, better], c: mixed, d: mixed })).toBe(
      'of 8 comparisons with a random selection 2 show a gain, 2 a loss and the others no measurable gain over it; the report has each. ',
    );
  });
});
