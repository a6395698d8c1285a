import { describe, expect, it } from 'vitest';
import type { MetricsLine } from '../../../../checkpoints/metrics-log.ts';
import { curveCharts, thinned } from '../../../../experiments/report/charts/learning-curves.ts';
import { trainingWarnings, warningParagraphs } from '../../../../experiments/stop-agent/report/training.ts';
import { stopAgentSchema } from '../../../../trainers/stop-agent/config.ts';

function logged(steps: number, valueAt: (step: number) => Record<string, number>): MetricsLine[] {
  return Array.from({ length: steps }, (_, index) => ({ step: index + 1, ...valueAt(index + 1) }));
}

const agentOf = (given: object = {}) => stopAgentSchema.parse(given);
const calm = {
  metrics: [],
  mostCommonStop: { name: 'post 4', share: 0.3 },
  demonstrationsAtFirstPost: 0.2,
  agent: agentOf({ algorithm: 'exact-policy-gradient' }),
};
const whats = (run: Partial<Parameters<typeof trainingWarnings>[0]>) =>
  trainingWarnings({ ...calm, ...run }).map(({ what }) => what);

describe('warningParagraphs', () => {
  it('names a trouble once for an agent, with its other seeds', () => {
    const warned = [1, 2, 3].flatMap((seed) =>
      ['one', 'two'].flatMap((variant) =>
        trainingWarnings({ ...calm, mostCommonStop: { name: `post ${seed}`, share: 0.95 } }).map((warning) => ({
          variant,
          seed,
          ...warning,
        })),
      ),
    );
    expect(warningParagraphs(warned, { several: true })).toEqual([
      { warning: expect.stringMatching(/^\*\*one, seed 1\.\*\* It has collapsed/) },
      {
        warning: expect.stringMatching(
          /^\*\*two, seed 1\.\*\* It has collapsed: 95% of the threads are decided at post 1.* Also seeds 2, 3\.$/,
        ),
      },
    ]);
    const [alone] = warningParagraphs(warned.slice(0, 1), { several: false });
    expect(alone).toEqual({ warning: expect.stringMatching(/^It has collapsed.*\.$/) });
  });
});

describe('trainingWarnings', () => {
  it('says nothing of a calm training', () => {
    const metrics = logged(20, () => ({
      'discriminator/accuracy_agent': 0.8,
      'discriminator/says_expert_conservative': 0.9,
      'ppo/approximate_kl': 0.01,
      'ppo/clip_fraction': 0.1,
      'ppo/entropy': 0.3,
      'ppo/explained_variance': 0.5,
      'rollout/mean_logit': -3,
    }));
    expect(whats({ metrics })).toEqual([]);
  });

  it('names a collapse to a post, with what the demonstrations have to do with it, and waiting for the end', () => {
    const [first] = trainingWarnings({ ...calm, mostCommonStop: { name: 'post 1', share: 0.9 } });
    expect(first.what).toBe('It has collapsed: 90% of the threads are decided at post 1, as a fixed rule would.');
    expect(first.advice).not.toContain('demonstrations');
    expect(first.advice).toContain('lower agent.task.delayCost');
    const metrics = logged(20, () => ({ 'discriminator/accuracy_agent': 0.6 }));
    const [imitating] = trainingWarnings({
      ...calm,
      metrics,
      agent: agentOf(),
      mostCommonStop: { name: 'post 1', share: 0.9 },
    });
    expect(imitating.advice).toContain('20% of the conservative demonstrations stop at the first post, too.');
    expect(imitating.advice).toContain(
      'Try agent.algorithm: exact-policy-gradient, agent.balance: stop-step, or a lower',
    );
    expect(whats({ mostCommonStop: { name: 'post 1', share: 0.89 } })).toEqual([]);
    expect(whats({ mostCommonStop: { name: 'last post', share: 0.95 } })[0]).toMatch(/waits for the last post in 95%/);
  });

  it('advises only options that the algorithm reads', () => {
    const waiting = { ...calm, mostCommonStop: { name: 'last post', share: 0.95 } };
    const [{ advice }] = trainingWarnings({ ...waiting, agent: agentOf({ algorithm: 'dqn' }) });
    expect(advice).toBe('Make waiting cost more: raise agent.dqn.waitCost, or lower agent.dqn.wrongCost.');
  });

  it('says nothing of experts, steps or their options where a settled agent was trained', () => {
    const settled = agentOf({ algorithm: 'settled', task: { delayCost: 0.1 } });
    const found = ['post 1', 'post 3', 'last post'].flatMap((name) =>
      trainingWarnings({ ...calm, agent: settled, mostCommonStop: { name, share: 0.95 } }),
    );
    expect(found.map(({ trouble }) => trouble)).toEqual(['collapsed', 'collapsed', 'waits']);
    for (const { what, advice } of found)
      expect(`${what} ${advice}`).not.toMatch(
        /imitation|exact-policy|balance|initialStop|demonstrations|discriminator/,
      );
    expect(found[2].advice).toContain('raise guarantee.level or split.calibration');
  });

  it('is calm where few threads raise an alert, and the others are read to their end', () => {
    const waiting = { ...calm, mostCommonStop: { name: 'last post', share: 0.95 } };
    expect(trainingWarnings({ ...waiting, alerts: ['rumor'] })).toEqual([]);
    expect(
      trainingWarnings({ ...waiting, mostCommonStop: { name: 'post 1', share: 0.95 }, alerts: ['rumor'] }),
    ).toHaveLength(1);
  });

  it('looks at the last tenth: a discriminator that is too strong, large updates, a lost policy, a blind critic', () => {
    const bad = {
      'discriminator/accuracy_agent': 0.98,
      'discriminator/says_expert_conservative': 0.99,
      'ppo/approximate_kl': 0.2,
      'ppo/clip_fraction': 0.5,
      'ppo/entropy': 0.001,
      'ppo/explained_variance': -0.5,
      'rollout/mean_logit': -500,
    };
    const good = Object.fromEntries(Object.keys(bad).map((name) => [name, 0.02]));
    const atEnd = logged(20, (step) => (step > 18 ? bad : good));
    expect(whats({ metrics: atEnd }).map((what) => what.slice(0, 29))).toEqual([
      'The discriminator is too stro',
      'Updates are large to the end:',
      'The training diverges: the me',
      'The policy no longer tries an',
      'The critic is worse than a co',
    ]);
    const atStart = logged(20, (step) => (step <= 18 ? bad : good));
    expect(whats({ metrics: atStart })).toEqual([]);
  });
});

describe('curves', () => {
  it('are thinned to means of neighbours, each at its last step', () => {
    const points = thinned(
      logged(300, (step) => ({ a: step })),
      { name: 'a', points: 150 },
    );
    expect(points).toHaveLength(150);
    expect(points[0]).toEqual({ x: 2, y: 1.5 });
    expect(points[149]).toEqual({ x: 300, y: 299.5 });
    expect(
      thinned(
        logged(2, () => ({ a: 1 })),
        { name: 'b', points: 150 },
      ),
    ).toEqual([]);
  });

  it('come in the order of what they mean, unknown metrics last under their own names', () => {
    const run = {
      variant: 'v',
      seed: 1,
      metrics: logged(2, () => ({ 'x/new': 1, 'ppo/entropy': 1, 'rollout/mean_stop_post': 2 })),
    };
    const charts = curveCharts([run]);
    expect(charts.map(({ title }) => title)).toEqual(['Mean post of the first stop', 'Entropy of the policy', 'x/new']);
  });
});
