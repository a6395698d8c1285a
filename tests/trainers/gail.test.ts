import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { ExpertName } from '../../experts/trajectories.ts';
import { Random } from '../../src/tensor/random.ts';
import { type ExpertStream, expertWeights, gailOptions, nextPair, rewardsOf } from '../../trainers/gail.ts';

const pairs = { rows: Int32Array.from({ length: 6 }, (_, row) => row), actions: new Uint8Array(6) };
const stream = (): ExpertStream => ({ pairs, order: new Int32Array(0), position: 0 });

describe('the reward of a step', () => {
  it('is the logit, or −log D with D the probability of the agent', () => {
    const logits = Float32Array.of(-2, 0, 3);
    expect(rewardsOf(logits, 'logit')).toBe(logits);
    const rewards = rewardsOf(logits, 'minus-log-d');
    for (const [step, logit] of logits.entries())
      expect(rewards[step]).toBeCloseTo(-Math.log(1 - 1 / (1 + Math.exp(-logit))), 6);
  });

  it('is finite for a discriminator that is sure', () => {
    expect([...rewardsOf(Float32Array.of(-500, 500), 'minus-log-d')]).toEqual([0, 500]);
  });
});

describe('the weights of the experts', () => {
  const names: ExpertName[] = ['conservative', 'earlyAction', 'misleading'];
  const weightsOf = (present: readonly ExpertName[], misleading: 'as-agent' | 'subtract') =>
    expertWeights({
      config: z.object(gailOptions).parse({ misleading }),
      random: Random.seeded({ seed: 1, purpose: 'test draws' }),
      experts: names,
      streams: names.map((name) => (present.includes(name) ? stream() : null)),
    });

  it.each<[string, ExpertName[]]>([
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

describe('the pairs of an expert', () => {
  it('come in passes, each once in a pass', () => {
    const own = stream();
    const random = Random.seeded({ seed: 1, purpose: 'test draws' });
    const drawn = Array.from({ length: 12 }, () => nextPair(own, random));
    for (const pass of [drawn.slice(0, 6), drawn.slice(6)]) expect([...pass].sort()).toEqual([0, 1, 2, 3, 4, 5]);
  });
});
