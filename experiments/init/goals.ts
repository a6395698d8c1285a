/** What the agent is for. */
export const goals = {
  'fewer-calls': 'one call of the detector a thread, at the stop: a small student of its judgements says when',
  earliest: 'as early as the detector can be trusted: it is asked on a growing schedule, and waiting is dear',
  'best-f1': 'as right as reading everything, and earlier: it is asked on a growing schedule, and waiting is cheap',
  'ratio-sweep': 'the paper’s agent with nine ratios of its three experts, and the best of them on a development part',
} as const;
export type Goal = keyof typeof goals;
