import { describe, expect, it } from 'vitest';
import { narrowTable, screenText, wrapped } from '../../../../experiments/report/narrow-table.ts';
import type { VariantResults } from '../../../../experiments/report/variant-results.ts';
import { answerOf } from '../../../../experiments/stop-agent/report/answer.ts';
import { summarizeExperiment } from '../../../../experiments/stop-agent/report/stop-agent-summary.ts';
import type { TrialResult } from '../../../../experiments/stop-agent/result.ts';
import { decidedTrial, decidedSystem as system } from './decided-trial.ts';

const summaryOf = (results: readonly VariantResults<TrialResult>[], width = 100) =>
  screenText(summarizeExperiment('x', answerOf(results)), { width });

const widest = (text: string) => Math.max(...text.split('\n').map((line) => [...line].length));

describe('a table for a terminal', () => {
  const rows = [
    ['system', 'macro-F1', 'ER'],
    ['confidence ≥ 0.7, asked at 1, 2, 3, 5, 8, …', '0.743 ± 0.028', '0.154'],
    ['all posts', '0.8', '1'],
  ];

  it('cuts the first column and no other', () => {
    const table = narrowTable(rows, { width: 40 });
    expect(widest(table)).toBe(40);
    expect(table.split('\n')[2]).toBe('confidence ≥ 0.7,…  0.743 ± 0.028  0.154');
    expect(table.split('\n')[3]).toBe(`${'all posts'.padEnd(18)}${'0.8'.padStart(15)}${'1'.padStart(7)}`);
  });

  it('is as narrow as what stands in it', () => {
    expect(widest(narrowTable(rows.slice(0, 1)))).toBe('system        macro-F1  ER'.length);
  });
});

it('breaks text at spaces', () => {
  expect(wrapped('one two three', { width: 7 })).toBe('one two\nthree');
});

describe('the summary of an experiment', () => {
  const rules = [
    system('first 4 posts', { macroF1: 0.6, er: 0.3 }),
    system('first 8 posts', { macroF1: 0.7, er: 0.6 }),
    system('confidence ≥ 0.7, asked at 1, 2, 3, 5, 8, …', {
      macroF1: 0.8,
      er: 0.4,
      callsPerThread: 3,
      calls: 'schedule',
    }),
    system('all posts', { macroF1: 0.8, er: 1 }),
  ];
  const trial = (agent: Parameters<typeof decidedTrial>[1]) => decidedTrial(1, agent, rules);

  it('says where threads look unlike those that were learnt from', () => {
    const summaryAt = (unlikeTraining: number) =>
      summaryOf([{ variant: 'once', trials: [{ ...trial({ macroF1: 0.6, er: 0.5 }), unlikeTraining }] }]);
    expect(summaryAt(0.62)).toContain('62 % of the test threads look unlike those that verdicts were learnt from');
    expect(summaryAt(0.08)).not.toContain('look unlike');
  });

  it('puts under each agent the best rule that reads and queries no more', () => {
    const aware = trial({ macroF1: 0.9, er: 0.5, callsPerThread: 4 });
    const once = trial({ macroF1: 0.6, er: 0.5 });
    const summary = summaryOf([
      { variant: 'detector-in-state', trials: [aware] },
      { variant: 'once', trials: [once] },
    ]);
    const names = summary.split('\n').map((line) => line.replace(/ {2,}[\d.]+ {2}.*/, ''));
    const first = names.indexOf('detector-in-state');
    expect(names.slice(first, first + 5)).toEqual([
      'detector-in-state',
      '  confidence ≥ 0.7, asked at 1, 2, 3, 5, 8, …',
      'once',
      '  first 4 posts',
      'all posts',
    ]);
    expect(widest(summary)).toBeLessThanOrEqual(100);
    const variants = [aware, once].map((own, index) => ({ variant: `${index}`, trials: [own] }));
    expect(widest(summaryOf(variants, 79))).toBeLessThanOrEqual(79);
  });

  it('says which agents are above the rules, which bring no measurable gain, and which are below', () => {
    const summary = summaryOf([
      { variant: 'good', trials: [trial({ macroF1: 1, er: 0.3 })] },
      { variant: 'fair', trials: [trial({ macroF1: 0.6, er: 0.3 })] },
      { variant: 'poor', trials: [trial({ macroF1: 0.1, er: 0.9 })] },
      { variant: 'hasty', trials: [trial({ macroF1: 0.5, er: 0.1 })] },
    ]).replaceAll('\n', ' ');
    expect(summary).toMatch(
      /Verdict: good \(\+0\.\d+ \[.*?\]\) is above the best mixtures of rules that are as early and call the detector as often; fair \(.*?\) brings no measurable gain over them; poor \(−0\.\d+ \[.*?\]\) is below them; hasty stops earlier than any rule that calls as seldom\./,
    );
  });

  it('opens with what the best agent keeps for what it reads, chosen on the development part', () => {
    const best = trial({ macroF1: 0.72, er: 0.4 });
    const lucky = trial({ macroF1: 0.8, er: 0.3 });
    const onDevelopment = { ...lucky.ranking, agent: system('stop agent', { macroF1: 0.5, er: 0.3 }) };
    const summary = summaryOf([
      { variant: 'lucky', trials: [{ ...lucky, ranking: onDevelopment }] },
      { variant: 'best', trials: [best] },
    ]);
    expect(summary.replaceAll('\n', ' ')).toContain(
      'Reading 40 % of the posts with 1.0 queries per thread, best keeps 90 % of the macro-F1 of reading everything. The best rule that reads and queries no more, first 4 posts, keeps 75 %.',
    );
    expect(summary.replaceAll('\n', ' ')).toContain('Best first, by macro-F1 − 0.2 × ER');
    expect(summary.indexOf('\nbest ')).toBeLessThan(summary.indexOf('\nlucky '));
  });

  it('goes on with what is worth most on the development part, a rule as well as an agent', () => {
    const seeds = [0.6, 0.9, 0.7].map((macroF1, index) => decidedTrial(index + 1, { macroF1, er: 0.4 }, rules));
    const stuck = decidedTrial(1, { macroF1: 1, er: 0.1, mostCommonStop: { name: 'post 1', share: 0.97 } }, rules);
    const results = [
      { variant: 'stuck', trials: [stuck] },
      { variant: 'good', trials: seeds },
    ];
    const { recommended, next } = answerOf(results);
    expect(recommended).toMatchObject({ variant: 'good', run: 'runs/x/seed-2' });
    const system = `'${recommended.system}'`;
    expect(next).toEqual([
      `npx earshot export runs/x/seed-2 --system ${system} --out policy`,
      `npx earshot decide 'my threads.jsonl' --policy runs/x/seed-2 --system ${system}`,
    ]);
    const madeUp = results.map((own) => ({
      ...own,
      trials: own.trials.map((trial) => ({ ...trial, threadFile: null })),
    }));
    expect(answerOf(madeUp).next.slice(1)).toEqual([
      'npx earshot data synth --threads 20 --seed 2 --out made-up.jsonl',
      `npx earshot decide made-up.jsonl --policy runs/x/seed-2 --system ${system}`,
    ]);
    expect(recommended.sentence).toContain(`Recommended: ${recommended.system} (`);
    expect(answerOf(results.slice(0, 1)).reading).toBeNull();
  });

  it('names an agent that collapsed', () => {
    const stuck = trial({ macroF1: 0.6, er: 0.3, mostCommonStop: { name: 'post 1', share: 0.97 } });
    const summary = summaryOf([{ variant: 'agent', trials: [stuck] }]);
    expect(summary.replaceAll('\n', ' ')).toContain('; it collapsed to a fixed rule (97 % stop at post 1).');
  });
});
