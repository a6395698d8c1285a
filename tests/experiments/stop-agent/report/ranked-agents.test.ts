import { expect, it } from 'vitest';
import { rankedAgents, recommendedAgent } from '../../../../experiments/stop-agent/report/ranked-agents.ts';
import { decidedTrial } from './decided-trial.ts';

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

it('recommends none where every agent collapsed', () => {
  expect(recommendedAgent(rankedAgents([collapsed, early]))?.variant).toBe('early');
  expect(recommendedAgent(rankedAgents([collapsed]))).toBe(null);
});
