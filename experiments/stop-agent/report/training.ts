import type { MetricsLine } from '../../../checkpoints/metrics-log.ts';
import { groupBy } from '../../../src/data/group-by.ts';
import { mean } from '../../../src/metrics/summary-statistics.ts';
import { type Algorithm, imitatesExperts, type StopAgentConfig } from '../../../trainers/stop-agent/config.ts';
import { curveCharts, loggedMetrics } from '../../report/charts/learning-curves.ts';
import type { Paragraph, ReportSection } from '../../report/report.ts';
import { percent } from '../../report/shown-numbers.ts';
import { isCollapsed } from './agents.ts';
import type { ReadRun } from './read-runs.ts';

/** Training curves of the runs, and troubles in them. */
export function trainingSection(runs: readonly ReadRun[]): ReportSection {
  const logged = runs.map(({ variant, result, agent }) => {
    const metrics = loggedMetrics(result.directory);
    const { mostCommonStop } = result.systems.find(({ name }) => name === agent.name)!;
    const { alerts } = result.ranking;
    const demonstrationsAtFirstPost = result.stopsAtFirstPost.conservative ?? 0;
    const of = { metrics, mostCommonStop, demonstrationsAtFirstPost, agent: result.experiment.agent, alerts };
    return { variant, seed: result.seed, metrics, warnings: trainingWarnings(of) };
  });
  const warned = logged.flatMap(({ warnings, ...run }) => warnings.map((warning) => ({ ...run, ...warning })));
  const warnings = warningParagraphs(warned, { several: runs.length > 1 });
  const figures = curveCharts(logged);
  const calm = 'None of the usual troubles was found.';
  return { id: 'training', title: 'Training', blocks: [...(warnings.length === 0 ? [calm] : warnings), { figures }] };
}

/** Something that a training shows and that calls for a change. */
export interface TrainingWarning {
  /** The trouble, by which seeds are grouped. */
  readonly trouble: string;
  readonly what: string;
  /** A remedy. */
  readonly advice: string;
}

/**
 * A paragraph for each trouble of each agent: in full of the first seed that has it, with the other seeds named.
 * @param options.several whether there are further runs, so that a paragraph names its own
 */
export function warningParagraphs(
  warned: readonly (TrainingWarning & { readonly variant: string; readonly seed: number })[],
  { several }: { several: boolean },
): Paragraph[] {
  const alike = groupBy(warned, ({ variant, trouble }) => `${variant}/${trouble}`);
  return Array.from(alike.values(), ([{ variant, seed, what, advice }, ...others]) => {
    const place = several ? `**${variant}, seed ${seed}.** ` : '';
    const seeds = others.map((run) => run.seed).join(', ');
    const also = seeds === '' ? '' : ` Also ${others.length === 1 ? 'seed' : 'seeds'} ${seeds}.`;
    return { warning: `${place}${what} ${advice}${also}` };
  });
}

interface TrainedRun {
  readonly metrics: readonly MetricsLine[];
  /** Of the agent, on the threads that were decided. */
  readonly mostCommonStop: { readonly name: string; readonly share: number };
  /** Labels that raise an alert, if only these may be predicted early. */
  readonly alerts?: readonly string[] | undefined;
  /** Share of the conservative demonstrations that stop at the first post. */
  readonly demonstrationsAtFirstPost: number;
  readonly agent: StopAgentConfig;
}

/** Troubles of a training, by its metrics and the stops of its agent. */
export function trainingWarnings(run: TrainedRun): TrainingWarning[] {
  const logged = troubles.flatMap(({ trouble, isSo, what, advice }) => {
    const [first, second = first] = trouble.split(', ').map((name) => meanOfEnd(run.metrics, name));
    const isLogged = first !== null && second !== null;
    return isLogged && isSo(first, second) ? [{ trouble, what: what(first, second), advice }] : [];
  });
  return [...(isCollapsed(run) ? [fixedRule(run)] : []), ...logged];
}

/** Signs of trouble in metrics at the end of a training. A trouble is called by its metrics. */
const troubles: readonly {
  readonly trouble: string;
  isSo(first: number, second: number): boolean;
  what(first: number, second: number): string;
  readonly advice: string;
}[] = [
  {
    trouble: 'discriminator/accuracy_agent, discriminator/says_expert_conservative',
    isSo: (agent, expert) => Math.min(agent, expert) >= 0.97,
    what: (agent, expert) =>
      `The discriminator is too strong: at the end it tells ${percent(agent)} of the agent’s steps and ${percent(expert)} of the conservative expert’s, so that its rewards hardly say which step is better.`,
    advice:
      'Lower agent.imitation.discriminator.learningRate or .epochs, or raise .penalty; or start from the experts with agent.initialization: behavior-cloning.',
  },
  {
    trouble: 'ppo/approximate_kl, ppo/clip_fraction',
    isSo: (kl, clipped) => kl > 0.05 || clipped > 0.3,
    what: (kl, clipped) =>
      `Updates are large to the end: KL ${kl.toFixed(3)}, ${percent(clipped)} of the ratios clipped.`,
    advice: 'Lower agent.imitation.ppo.learningRate or .epochs, or keep learningRateDecay: linear.',
  },
  {
    // Logits of a discriminator that is bounded are below 10.
    trouble: 'rollout/mean_logit',
    isSo: (logit) => Math.abs(logit) > 100,
    what: (logit) => `The training diverges: the mean logit of the discriminator is ${logit.toFixed(0)}.`,
    advice:
      'Lower agent.imitation.discriminator.learningRate, or use agent.imitation.misleading: as-agent, whose loss is bounded. Then train with --restart.',
  },
  {
    trouble: 'ppo/entropy',
    isSo: (entropy) => entropy < 0.01,
    what: (entropy) => `The policy no longer tries anything: its entropy is ${entropy.toFixed(4)}.`,
    advice: 'Raise agent.imitation.ppo.entropyCoefficient, such as to 0.03, or lower the learning rate.',
  },
  {
    trouble: 'ppo/explained_variance',
    isSo: (explained) => explained < 0,
    what: (explained) =>
      `The critic is worse than a constant: it explains ${explained.toFixed(2)} of the variance of the returns.`,
    advice: 'Give it more iterations, or raise agent.imitation.ppo.valueCoefficient.',
  },
];

/** An agent that stops nearly everywhere at the same place, as a rule would. */
function fixedRule({ mostCommonStop: { name, share }, demonstrationsAtFirstPost, agent }: TrainedRun): TrainingWarning {
  const { collapsed, waits } = advices[agent.algorithm];
  if (name === 'last post') {
    const what = `It waits for the last post in ${percent(share)} of the threads, as the rule “all posts” would.`;
    return { trouble: 'waits', what, advice: waits };
  }
  const what = `It has collapsed: ${percent(share)} of the threads are decided at ${name}, as a fixed rule would.`;
  const demonstrated =
    name === 'post 1' && imitatesExperts(agent)
      ? `${percent(demonstrationsAtFirstPost)} of the conservative demonstrations stop at the first post, too. `
      : '';
  return { trouble: 'collapsed', what, advice: `${demonstrated}${collapsed}` };
}

const waitingIsRight = 'Where all posts are far better than any prefix, waiting is right.';
const imitating = {
  collapsed:
    'Try agent.algorithm: exact-policy-gradient, agent.balance: stop-step, or a lower agent.initialStopProbability.',
  waits:
    'Raise agent.imitation.beta, the weight of the early-action expert, or set agent.algorithm: exact-policy-gradient.',
};

/** Only options that an algorithm reads. */
const advices: Readonly<Record<Algorithm, { readonly collapsed: string; readonly waits: string }>> = {
  imitation: imitating,
  'behavior-cloning': imitating,
  'exact-policy-gradient': {
    collapsed:
      'Make waiting cheaper: lower agent.task.delayCost. With few labelled threads, agent.task.environment: pseudo-labelled brings more. Where later posts do not make the detector’s answers better, stopping is right.',
    waits: `Make waiting cost more: raise agent.task.delayCost. ${waitingIsRight}`,
  },
  // It stops by its threshold, which a guarantee gives, or the development part.
  settled: {
    collapsed:
      'Its score hardly differs between threads: give it more threads to learn from (split.environment), which need no labels. Without a guarantee, a lower agent.task.delayCost lets it read on.',
    waits: `With a guarantee, raise guarantee.level or split.calibration; without one, raise agent.task.delayCost. ${waitingIsRight}`,
  },
  dqn: {
    collapsed: 'Try agent.algorithm: exact-policy-gradient, or a lower agent.dqn.waitCost.',
    waits: 'Make waiting cost more: raise agent.dqn.waitCost, or lower agent.dqn.wrongCost.',
  },
};

/** The mean over the last tenth of the steps, where the policy came to rest; null where the metric is not logged. */
function meanOfEnd(metrics: readonly MetricsLine[], name: string): number | null {
  const last = metrics.slice(-Math.max(1, Math.ceil(metrics.length / 10)));
  const values = last.flatMap((line) => (line[name] === undefined ? [] : [line[name]]));
  return values.length === 0 ? null : mean(values);
}
