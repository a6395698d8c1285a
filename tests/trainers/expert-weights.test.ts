import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type ExpertName, expertNames as names } from '../../experts/trajectories.ts';
import { gailOptions } from '../../trainers/config.ts';
import { discriminatorTasks } from '../../trainers/expert-weights.ts';
import { rewardsOf, weightedSum } from '../../trainers/gail.ts';

/** Discriminators where these experts have demonstrations. */
function tasksOf(present: readonly ExpertName[], config: z.input<z.ZodObject<typeof gailOptions>> = {}) {
  const pairs = (name: ExpertName) => {
    const count = present.includes(name) ? 6 : 0;
    return { rows: new Int32Array(count), actions: new Uint8Array(count) };
  };
  return discriminatorTasks(z.object(gailOptions).parse(config), {
    conservative: pairs('conservative'),
    earlyAction: pairs('earlyAction'),
    misleading: pairs('misleading'),
  });
}

describe('the weights of the experts', () => {
  /** By the names of all, 0 for those without demonstrations. */
  const weightsOf = (
    present: readonly ExpertName[],
    misleading: 'as-agent' | 'subtract',
  ): { weight: number; labelExpertIsOne: number }[] => {
    const [{ experts }] = tasksOf(present, { misleading });
    return names.map((name) => experts.find((own) => own.name === name) ?? { weight: 0, labelExpertIsOne: 1 });
  };

  it.each<[string, readonly ExpertName[]]>([
    ['all', names],
    ['no misleading', ['conservative', 'earlyAction']],
    ['no early-action', ['conservative', 'misleading']],
    ['conservative alone', ['conservative']],
  ])('balance the agent, whose weight is 1, so that a perfect match has the logit 0: %s', (_, present) => {
    // Where the agent is like what is left of the experts, D's optimum is ln(what bears the expert's label / the rest).
    const [c, e, m] = weightsOf(present, 'subtract').map(({ weight }) => weight);
    expect(c + e + m).toBeCloseTo(1, 12);
    const asAgent = weightsOf(present, 'as-agent');
    const withLabel = (label: number) =>
      asAgent.reduce((sum, own) => sum + (own.labelExpertIsOne === label ? own.weight : 0), 0);
    expect(Math.log(withLabel(1) / (1 + withLabel(0)))).toBeCloseTo(0, 12);
  });

  it('give the conservative expert the weight of an early-action one that is the same', () => {
    const [c, e, m] = weightsOf(['conservative', 'misleading'], 'as-agent').map(({ weight }) => weight);
    expect([c, e, m]).toEqual([0.85, 0, 0.15].map((weight) => expect.closeTo(weight / 0.7, 12)));
  });

  it('are in the ratio of α, β and γ', () => {
    const [c, e, m] = weightsOf(names, 'as-agent').map(({ weight }) => weight);
    expect([c, e, m]).toEqual([0.7, 0.15, 0.15].map((weight) => expect.closeTo(weight / 0.7, 12)));
  });
});

describe('discriminators', () => {
  const ratio = { alpha: 0.6, beta: 0.3, gamma: 0.1 };

  it('are one of all experts, whose logit is the reward', () => {
    const tasks = tasksOf(['conservative', 'misleading'], ratio);
    expect(tasks.map(({ experts }) => experts.map(({ name }) => name))).toEqual([['conservative', 'misleading']]);
    const logits = Float32Array.of(1, -2);
    expect(weightedSum([{ ...tasks[0], logits }], (own) => own.logits)).toEqual(logits);
  });

  it('are one of each expert, whose rewards are added with α, β and −γ', () => {
    const tasks = tasksOf(names, { ...ratio, objective: 'separate' });
    const logits = [Float32Array.of(1, -2), Float32Array.of(0, 3), Float32Array.of(2, 2)];
    const minusLogD = (logit: number) => -Math.log(1 - 1 / (1 + Math.exp(-logit)));
    const rewards = weightedSum(
      tasks.map((task, set) => ({ ...task, logits: logits[set] })),
      (own) => rewardsOf(own.logits, 'minus-log-d'),
    );
    for (const step of [0, 1]) {
      const [c, e, m] = logits.map((values) => minusLogD(values[step]));
      expect(rewards[step]).toBeCloseTo((0.6 * c + 0.3 * e - 0.1 * m) / 0.8, 5);
    }
  });

  it('of an expert without demonstrations tell nothing apart and do not count', () => {
    const tasks = tasksOf(['conservative', 'earlyAction'], { ...ratio, objective: 'separate' });
    const weights = tasks.map(({ experts }) =>
      experts.map(({ labelExpertIsOne, weight }) => [labelExpertIsOne, weight]),
    );
    expect(weights).toEqual([[[1, 1]], [[1, 1]], []]);
    expect(tasks.map(({ rewardWeight }) => rewardWeight)).toEqual(
      [0.6, 0.3, 0].map((own) => expect.closeTo(own / 0.9, 12)),
    );
  });
});
