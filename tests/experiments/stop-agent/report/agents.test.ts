import { expect, it } from 'vitest';
import { rankedAgents, ruleInPlace, summarize } from '../../../../experiments/stop-agent/report/agents.ts';
import { decidedSystem, decidedTrial } from './decided-trial.ts';

const stuck = { name: 'post 1', share: 0.95 };
const early = { variant: 'early', trials: [decidedTrial(1, { macroF1: 0.8, er: 0.2 })] };
const late = { variant: 'late', trials: [decidedTrial(1, { macroF1: 0.9, er: 0.9 })] };
const collapsed = {
  variant: 'collapsed',
  trials: [decidedTrial(1, { macroF1: 0.95, er: 0.1, mostCommonStop: stuck })],
};

it('orders agents by macro-F1 less the price of delay, those that collapsed last', () => {
  const ranked = rankedAgents([late, collapsed, early]);
  expect(ranked.map(({ variant }) => variant)).toEqual(['early', 'late', 'collapsed']);
  expect(ranked.map(({ worth }) => Number(worth.toFixed(3)))).toEqual([0.76, 0.72, 0.93]);
});

it('finds the rule in place of an agent: the best that reads and queries no more', () => {
  const ruleOf = (rules: ReturnType<typeof decidedSystem>[]) => {
    const trial = decidedTrial(1, { macroF1: 0.78, er: 0.4, queriesPerThread: 3 }, rules);
    return ruleInPlace(summarize([trial]))?.name;
  };
  const first = decidedSystem('first post', { macroF1: 0.6, er: 0.1 });
  const rule = (name: string, macroF1: number, er: number, queriesPerThread: number) =>
    decidedSystem(name, { macroF1, er, queriesPerThread, queries: 'every' });
  expect(ruleOf([decidedSystem('all posts', { er: 1 })])).toBeUndefined();
  // Later, or with more queries, or no better: none takes its place.
  expect(ruleOf([first, rule('later', 0.79, 0.45, 3)])).toBe('first post');
  expect(ruleOf([first, rule('dearer', 0.79, 0.3, 5)])).toBe('first post');
  expect(ruleOf([first, rule('worse', 0.5, 0.2, 2)])).toBe('first post');
  expect(ruleOf([first, rule('better', 0.79, 0.3, 2.5)])).toBe('better');
});
