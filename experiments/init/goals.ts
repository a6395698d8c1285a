export const goals = {
  guarantee: 'few posts, while no more predictions change than you allow; calibration needs no labels',
  'fewer-queries': 'one query of the detector per thread, at the stop: a small student of its judgements decides when',
  earliest: 'soon after the detector can be trusted: it is queried while the agent reads, and waiting is expensive',
  'best-f1': 'as right as reading everything, and earlier: it is queried while the agent reads, and waiting is cheap',
  'ratio-sweep': 'the paper’s agent with nine ratios of its three experts, and the best of them on a development part',
} as const;
export type Goal = keyof typeof goals;
