import { describe, expect, it } from 'vitest';
import type { MetricsLine } from '../../../../checkpoints/metrics-log.ts';
import { curveCharts, thinned } from '../../../../experiments/report/charts/learning-curves.ts';
import { collapseInWords, isCollapsed } from '../../../../experiments/stop-agent/report/collapse.ts';
import { stopAgentSchema } from '../../../../trainers/stop-agent/config.ts';
import { decidedTrial } from './decided-trial.ts';

function logged(steps: number, valueAt: (step: number) => Record<string, number>): MetricsLine[] {
  return Array.from({ length: steps }, (_, index) => ({ step: index + 1, ...valueAt(index + 1) }));
}

const trial = (agent: object, stop: { name: string; share: number }) => {
  const decided = decidedTrial(1, { mostCommonStop: stop });
  const experiment = { ...decided.experiment, agent: stopAgentSchema.parse(agent) };
  return collapseInWords(stop, { ...decided, experiment });
};

describe('a collapse', () => {
  it('is one to a post, or to the last one where no label raises an alert', () => {
    const at = (name: string, share: number) => ({ mostCommonStop: { name, share } });
    expect(isCollapsed(at('post 1', 0.89))).toBe(false);
    expect(isCollapsed(at('post 1', 0.9))).toBe(true);
    expect(isCollapsed(at('last post', 0.95))).toBe(true);
    expect(isCollapsed({ ...at('last post', 0.95), alerts: ['rumor'] })).toBe(false);
    expect(isCollapsed({ ...at('post 1', 0.95), alerts: ['rumor'] })).toBe(true);
  });

  it('is named with what the demonstrations have to do with it', () => {
    const first = { name: 'post 1', share: 0.9 };
    const exact = trial({ algorithm: 'exact-policy-gradient' }, first);
    expect(exact).toMatch(/^collapsed to a fixed rule \(90% stop at post 1\)\. .*lower agent\.task\.delayCost/);
    expect(exact).not.toContain('demonstrations');
    const imitating = trial({}, first);
    expect(imitating).toContain('33% of the conservative demonstrations stop at the first post, too.');
    expect(imitating).toContain('Try agent.algorithm: exact-policy-gradient, agent.balance: stop-step, or a lower');
  });

  it('advises only options that the algorithm reads', () => {
    const waiting = { name: 'last post', share: 0.95 };
    expect(trial({ algorithm: 'dqn' }, waiting)).toBe(
      'collapsed to a fixed rule (95% stop at last post). Make waiting cost more: raise agent.dqn.waitCost, or lower agent.dqn.wrongCost.',
    );
    for (const name of ['post 1', 'post 3', 'last post'])
      expect(trial({ algorithm: 'settled' }, { name, share: 0.95 })).not.toMatch(
        /imitation|exact-policy|balance|initialStop|demonstrations|discriminator/,
      );
    expect(trial({ algorithm: 'settled' }, waiting)).toContain('raise guarantee.level or split.calibration');
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
