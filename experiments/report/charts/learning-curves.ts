import { existsSync } from 'node:fs';
import { type MetricsLine, readMetrics } from '../../../checkpoints/metrics-log.ts';
import { RunDirectory } from '../../../checkpoints/run-directory.ts';
import { mean } from '../../../src/metrics/summary-statistics.ts';
import { type Chart, category, quantity, series, told } from '../page/chart.ts';

/** Points of a curve at most, each the mean of what it stands for: fewer where many runs share a chart, to keep pages small. */
function pointsAtMost(runs: number): number {
  return Math.max(30, Math.min(150, Math.floor(1500 / runs)));
}

interface Known {
  readonly title: string;
  /** How to read it. */
  readonly meaning: string;
  /** A share: drawn from 0 to 1. */
  readonly isShare?: boolean;
}

/** Metrics in the order of the page, each with its title, how to read it, and whether it is a share. Others follow under their own names. */
const curves = new Map(
  `
rollout/mean_stop_post | Mean post of the first stop | In training. At 1 the agent has collapsed to the first post.
task/expected_return | Expected return of the task | On the labelled threads. It should rise.
cloning/loss | Loss | Cross-entropy of what it learns to predict. It should fall and level off.
dqn/loss | Loss | Of the values of its actions. They move with it, so it has no level that is good.
dqn/mean_reward | Mean reward | Of a step in training. It should rise.
discriminator/accuracy_agent | Discriminator: agent’s steps told | At 0.5 the agent passes for an expert; at 1 it is always found out. | share
discriminator/says_expert_conservative | Discriminator: conservative taken for expert | At 1, with the agent’s steps at 1 too, the discriminator is too strong: its rewards hardly say which step is better. Lower agent.imitation.discriminator.learningRate or .epochs, raise .penalty, or start with agent.initialization: behavior-cloning. | share
discriminator/says_expert_earlyAction | Discriminator: early action taken for expert | The share of early-action steps that it calls an expert’s. | share
discriminator/says_expert_misleading | Discriminator: misleading taken for expert | It should fall: the misleading expert pushes away. | share
discriminator/penalty | Discriminator: gradient penalty | Near 0 its gradient has the norm that was asked for. At first it is flatter; a later rise means steeper. Raise agent.imitation.discriminator.penalty then.
ppo/entropy | Entropy of the policy | 0.69 is a coin, 0 always the same action. Below 0.01 nothing is tried any more: raise agent.imitation.ppo.entropyCoefficient, such as to 0.03, or lower the learning rate.
ppo/approximate_kl | KL of an update | Steps above 0.05 are large: lower agent.imitation.ppo.learningRate or .epochs, or keep learningRateDecay: linear.
ppo/clip_fraction | Clipped share | Ratios that PPO cut off; above 0.3 steps are too large, as a large KL says. | share
ppo/explained_variance | Explained variance of the returns | 1: the critic foresees the rewards; below 0 it is worse than their mean: give it more iterations, or raise agent.imitation.ppo.valueCoefficient.
rollout/mean_return | Mean return | Of an episode, in scaled rewards; they move with the discriminator.
rollout/mean_logit | Mean logit of the discriminator | Above 0 it takes the agent for an expert. Beyond 100 the training diverges: lower agent.imitation.discriminator.learningRate, or use agent.imitation.misleading: as-agent, whose loss is bounded.
ppo/policy_loss | Policy loss | It has no level that is good.
ppo/value_loss | Value loss | Squared error of the critic, halved.
`
    .trim()
    .split('\n')
    .map((line): [string, Known] => {
      const [name, title, meaning, scale] = line.split(' | ');
      return [name, { title, meaning, isShare: scale === 'share' }];
    }),
);

/** The metrics that a run logged; none where it kept none. */
export function loggedMetrics(directory: string): readonly MetricsLine[] {
  const { metricsPath } = RunDirectory.open(directory);
  return existsSync(metricsPath) ? readMetrics(metricsPath) : [];
}

/**
 * One small chart a metric: a line per run, in the colour of its variant.
 */
export function curveCharts(
  runs: readonly { readonly variant: string; readonly seed: number; readonly metrics: readonly MetricsLine[] }[],
): Chart[] {
  const logged = new Set(runs.flatMap(({ metrics }) => Object.keys(metrics.at(-1) ?? {})));
  logged.delete('step');
  const order = [...curves.keys()];
  const place = (name: string) => (order.includes(name) ? order.indexOf(name) : order.length);
  const names = [...logged].sort((a, b) => place(a) - place(b) || a.localeCompare(b));
  const variants = [...new Set(runs.map(({ variant }) => variant))];
  const x = quantity('x', { title: 'iteration', axis: { tickCount: 4, grid: false }, scale: { nice: false } });
  return names.map((metric) => {
    const logging = new Set(runs.flatMap((run) => (run.metrics.some((line) => metric in line) ? [run.variant] : [])));
    const legend = variants.length === 1 ? null : { values: variants.filter((variant) => logging.has(variant)) };
    const color = series('variant', variants, { legend });
    const { title, meaning, isShare = false } = curves.get(metric) ?? { title: metric, meaning: '' };
    const lines = runs.flatMap(({ variant, seed, metrics }) => {
      const points = thinned(metrics, { name: metric, points: pointsAtMost(runs.length) });
      if (points.length === 0) return [];
      const run = `${variant}, seed ${seed}`;
      const details = `${run}: from ${short(points[0].y)} to ${short(points[points.length - 1].y)}`;
      return [points.map((point) => ({ ...point, variant, run, details }))];
    });
    const scale = isShare ? { domain: [0, 1] } : { zero: false };
    const y = quantity('y', { title: null, axis: { tickCount: 4 }, scale });
    return {
      name: `curve-${metric.replace(/[^a-zA-Z0-9]+/g, '-')}`,
      title,
      caption: meaning,
      label: `${title} by iteration. ${lines.map(([{ details }]) => details).join('; ')}`,
      spec: {
        height: 110,
        data: { values: lines.flat() },
        ...told('line', { x, y, color, detail: category('run') }, { strokeWidth: 1.5 }),
      },
    };
  });
}

/** A metric over the steps as at most so many means of neighbours; steps that lack it are left out. */
export function thinned(
  metrics: readonly MetricsLine[],
  { name, points: most }: { name: string; points: number },
): { readonly x: number; readonly y: number }[] {
  const points = metrics.flatMap((line) => (Number.isFinite(line[name]) ? [{ x: line.step, y: line[name] }] : []));
  const size = Math.ceil(points.length / most);
  return Array.from({ length: Math.ceil(points.length / Math.max(1, size)) }, (_, index) => {
    const group = points.slice(index * size, (index + 1) * size);
    const y = mean(group.map((point) => point.y));
    return { x: group[group.length - 1].x, y: Number(y.toPrecision(5)) };
  });
}

function short(value: number): string {
  return Number(value.toPrecision(3)).toString();
}
