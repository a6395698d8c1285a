import type { MetricsLine } from '../../../checkpoints/metrics-log.ts';
import { mean } from '../../../src/metrics/summary-statistics.ts';
import { type Chart, category, type DrawnChart, drawAll, figure, quantity, seriesColour, told } from './chart.ts';
import { html, type Markup } from './html.ts';

/** What one run logged while it learnt. */
export interface LoggedRun {
  readonly variant: string;
  readonly seed: number;
  readonly metrics: readonly MetricsLine[];
}

/** Points of a curve at most, each the mean of what it stands for: fewer where many runs share a chart, to keep pages small. */
function pointsAtMost(runs: number): number {
  return Math.max(30, Math.min(150, Math.floor(1500 / runs)));
}

interface Known {
  readonly title: string;
  /** How to read it. */
  readonly meaning: string;
  /** A share: drawn from 0 to 1. */
  readonly isShare?: true;
}

/** In the order of the page. Other metrics follow under their own names. */
const known: Readonly<Record<string, Known>> = {
  'rollout/mean_stop_post': {
    title: 'Mean post of the first stop',
    meaning: 'In training. At 1 the agent has collapsed to the claim.',
  },
  'occupancy/distance': {
    title: 'Distance from the objective',
    meaning:
      'Share of steps on the demonstration threads that would have to be others for the experts’ weighted occupancies to be met.',
  },
  'occupancy/distance_by_step': {
    title: 'Distance from the objective, threads pooled',
    meaning: 'Near 0 it stops as early as the objective asks for, in whatever threads.',
  },
  'task/expected_return': { title: 'Expected return of the task', meaning: 'On the labelled threads. It should rise.' },
  'discriminator/accuracy_agent': {
    title: 'Discriminator: agent’s steps told',
    meaning: 'At 0.5 the agent passes for an expert; at 1 it is always found out.',
    isShare: true,
  },
  'discriminator/says_expert_conservative': {
    title: 'Discriminator: conservative taken for expert',
    meaning: 'At 1, with the agent’s steps at 1 too, the discriminator is too strong.',
    isShare: true,
  },
  'discriminator/says_expert_earlyAction': {
    title: 'Discriminator: early action taken for expert',
    meaning: 'The share of early-action steps that it calls an expert’s.',
    isShare: true,
  },
  'discriminator/says_expert_misleading': {
    title: 'Discriminator: misleading taken for expert',
    meaning: 'It should fall: the misleading expert pushes away.',
    isShare: true,
  },
  'discriminator/penalty': {
    title: 'Discriminator: gradient penalty',
    meaning: 'Near 0 its gradient has the norm that was asked for. At first it is flatter; a later rise means steeper.',
  },
  'ppo/entropy': { title: 'Entropy of the policy', meaning: '0.69 is a coin, 0 always the same action.' },
  'ppo/approximate_kl': { title: 'KL of an update', meaning: 'Steps above 0.05 are large.' },
  'ppo/clip_fraction': {
    title: 'Clipped share',
    meaning: 'Ratios that PPO cut off; above 0.3 steps are too large.',
    isShare: true,
  },
  'ppo/explained_variance': {
    title: 'Explained variance of the returns',
    meaning: '1: the critic foresees the rewards; below 0 it is worse than their mean.',
  },
  'rollout/mean_return': {
    title: 'Mean return',
    meaning: 'Of an episode, in scaled rewards; they move with the discriminator.',
  },
  'rollout/mean_logit': {
    title: 'Mean logit of the discriminator',
    meaning: 'Above 0 it takes the agent for an expert.',
  },
  'ppo/policy_loss': { title: 'Policy loss', meaning: 'It has no level that is good.' },
  'ppo/value_loss': { title: 'Value loss', meaning: 'Squared error of the critic, halved.' },
  'reward/claims': { title: 'Reward of claims', meaning: 'Mean over the claims of an epoch.' },
  'reward/labelledClaims': { title: 'Reward of labelled claims', meaning: 'Against their labels.' },
  'reward/unlabelledClaims': { title: 'Reward of unlabelled claims', meaning: 'Against the stances of labelled ones.' },
  'reward/posts': { title: 'Reward of posts', meaning: 'Mean over the posts of an epoch.' },
  'retained/posts': { title: 'Posts retained', meaning: 'Share of those that were shown.', isShare: true },
  'retained/claims': { title: 'Claims retained', meaning: 'Share of those that were shown.', isShare: true },
  'retained/unlabelledClaims': {
    title: 'Unlabelled claims retained',
    meaning: 'Share of those that were shown.',
    isShare: true,
  },
  'f1/veracityOfLabelled': {
    title: 'Macro-F1 of machine veracities',
    meaning: 'On the labelled claims.',
    isShare: true,
  },
  'hidden/stancePrecision': {
    title: 'Right stances of all posts',
    meaning: 'By labels that the selector does not see.',
    isShare: true,
  },
  'hidden/stanceRetainedPrecision': {
    title: 'Right stances of retained posts',
    meaning: 'Above the previous chart the selection helps.',
    isShare: true,
  },
  'hidden/veracityPrecision': {
    title: 'Right veracities of unlabelled claims',
    meaning: 'By labels that the selector does not see.',
    isShare: true,
  },
  'hidden/veracityRetainedPrecision': {
    title: 'Right veracities of retained claims',
    meaning: 'Above the previous chart the selection helps.',
    isShare: true,
  },
};

export interface CurveChart extends Chart {
  readonly title: string;
  readonly meaning: string;
}

/**
 * One small chart a metric: a line a run, in the colour of its variant.
 * @param options.over what is counted: iterations or epochs
 * @param options.skip metrics that are left out
 */
export function curveCharts(
  runs: readonly LoggedRun[],
  { over, skip = () => false }: { over: string; skip?: (metric: string) => boolean },
): CurveChart[] {
  const logged = new Set(runs.flatMap(({ metrics }) => Object.keys(metrics.at(-1) ?? {})));
  logged.delete('step');
  const order = Object.keys(known);
  const place = (name: string) => (order.includes(name) ? order.indexOf(name) : order.length);
  const names = [...logged].filter((name) => !skip(name)).sort((a, b) => place(a) - place(b) || a.localeCompare(b));
  const variants = [...new Set(runs.map(({ variant }) => variant))];
  const x = quantity('x', { title: over, axis: { tickCount: 4, grid: false }, scale: { nice: false } });
  const colours = { domain: variants, range: variants.map(seriesColour) };
  const color = category('variant', { legend: null, scale: colours });
  return names.map((metric) => {
    const { title, meaning, isShare } = known[metric] ?? { title: metric, meaning: '' };
    const own = runs
      .map((run) => ({ ...run, points: thinned(run.metrics, { name: metric, points: pointsAtMost(runs.length) }) }))
      .filter(({ points }) => points.length > 0);
    const values = own.flatMap(({ variant, seed, points }) =>
      points.map((point) => ({
        ...point,
        variant,
        run: `${variant}, seed ${seed}`,
        details: endsOf(`${variant}, seed ${seed}`, points),
      })),
    );
    const scale = isShare ? { domain: [0, 1] } : { zero: false };
    const y = quantity('y', { title: null, axis: { tickCount: 4 }, scale });
    const stroke = { strokeWidth: 1.5, opacity: own.length > variants.length ? 0.75 : 1 };
    return {
      name: `curve-${metric.replace(/[^a-zA-Z0-9]+/g, '-')}`,
      title,
      meaning,
      label: `${title} over ${over}. ${own.map(({ variant, seed, points }) => endsOf(`${variant}, seed ${seed}`, points)).join('; ')}`,
      spec: {
        width: 270,
        height: 120,
        data: { values },
        ...told('line', { x, y, color, detail: category('run') }, stroke),
      },
    };
  });
}

/** The curves as figures side by side, with a legend where there are several variants. */
export async function curveFigures(
  runs: readonly LoggedRun[],
  options: Parameters<typeof curveCharts>[1],
): Promise<{ body: Markup; charts: readonly DrawnChart[] }> {
  const curves = curveCharts(runs, options);
  const charts = await drawAll(curves);
  const variants = [...new Set(runs.map(({ variant }) => variant))];
  return {
    charts,
    body: html`${
      variants.length > 1
        ? html`<p class="legend">${variants.map((variant, index) => html`<span class="series-${index % 6}">${variant}</span>`)}</p>`
        : null
    }
<div class="grid">${charts.map((chart, index) => html`<div><h3>${curves[index].title}</h3>${figure(chart, curves[index].meaning)}</div>`)}</div>`,
  };
}

interface CurvePoint {
  readonly x: number;
  readonly y: number;
}

/** A metric over the steps as at most so many means of neighbours; steps that lack it are left out. */
export function thinned(
  metrics: readonly MetricsLine[],
  { name, points: most }: { name: string; points: number },
): CurvePoint[] {
  const points = metrics.flatMap((line) => (Number.isFinite(line[name]) ? [{ x: line.step, y: line[name] }] : []));
  const size = Math.ceil(points.length / most);
  return Array.from({ length: Math.ceil(points.length / Math.max(1, size)) }, (_, index) => {
    const group = points.slice(index * size, (index + 1) * size);
    const y = mean(group.map((point) => point.y));
    return { x: group[group.length - 1].x, y: Number(y.toPrecision(5)) };
  });
}

function endsOf(run: string, points: readonly CurvePoint[]): string {
  return `${run}: from ${short(points[0].y)} to ${short(points[points.length - 1].y)}`;
}

function short(value: number): string {
  return Number(value.toPrecision(3)).toString();
}
