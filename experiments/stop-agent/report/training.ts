import type { MetricsLine } from '../../../checkpoints/metrics-log.ts';
import { groupBy } from '../../../src/data/group-by.ts';
import { mean } from '../../../src/metrics/summary-statistics.ts';
import { present } from '../../../src/present.ts';
import { imitatesExperts, type StopAgentConfig } from '../../../trainers/stop-agent/config.ts';
import { curveCharts, loggedMetrics } from '../../report/charts/learning-curves.ts';
import type { Paragraph, ReportSection } from '../../report/report.ts';
import { percent } from '../../report/shown-numbers.ts';
import { isCollapsed } from './agents.ts';
import type { ReadRun } from './read-runs.ts';

/** What the runs logged while they learnt, and what looks wrong in it. */
export function trainingSection(runs: readonly ReadRun[]): ReportSection {
  const logged = runs.map(({ variant, result, agent, experiment }) => {
    const metrics = loggedMetrics(result.directory);
    const { mostCommonStop } = result.systems.find(({ name }) => name === agent.name)!;
    const demonstrationsAtFirstPost = result.stopsAtFirstPost.conservative ?? 0;
    const found = trainingWarnings({
      ...{ metrics, mostCommonStop, demonstrationsAtFirstPost, agent: experiment.agent },
      alerts: result.ranking.alerts,
    });
    return { variant, seed: result.seed, metrics, found };
  });
  const warned = logged.flatMap(({ variant, seed, found }) => found.map((warning) => ({ variant, seed, ...warning })));
  const warnings = warningParagraphs(warned, { several: runs.length > 1 });
  const troubles = runs.some(({ experiment }) => experiment.agent.algorithm === 'imitation')
    ? 'no collapse, no overwhelming discriminator, no divergence'
    : 'it has not collapsed to a fixed rule';
  const calm = `None of the usual troubles was found: ${troubles}.`;
  const figures = curveCharts(logged, { over: 'iteration' });
  return { id: 'training', title: 'Training', blocks: [...(warnings.length === 0 ? [calm] : warnings), { figures }] };
}

interface WarnedRun extends TrainingWarning {
  readonly variant: string;
  readonly seed: number;
}

/**
 * A paragraph for each trouble of each agent: in full of the first seed that has it, with the other seeds named.
 * @param options.several whether there are further runs, so that a paragraph names its own
 */
export function warningParagraphs(warned: readonly WarnedRun[], { several }: { several: boolean }): Paragraph[] {
  const alike = groupBy(warned, ({ variant, trouble }) => `${variant}/${trouble}`);
  return Array.from(alike.values(), ([{ variant, seed, what, advice }, ...others]) => {
    const place = several ? `**${variant}, seed ${seed}.** ` : '';
    const also =
      others.length === 0
        ? ''
        : ` Also ${others.length === 1 ? 'seed' : 'seeds'} ${others.map((own) => own.seed).join(', ')}.`;
    return { warning: `${place}${what} ${advice}${also}` };
  });
}

/** Something that a training shows and that calls for a change. */
export interface TrainingWarning {
  /** What seeds with the same trouble share. */
  readonly trouble:
    | 'waits'
    | 'collapsed'
    | 'strong-discriminator'
    | 'large-updates'
    | 'diverges'
    | 'no-entropy'
    | 'bad-critic';
  readonly what: string;
  /** What to do about it. */
  readonly advice: string;
}

/** What is looked at: the end of the training, where the policy came to rest. */
const lastShare = 0.1;

const limits = {
  /** Of the discriminator, on the agent and on the conservative expert alike. */
  accuracy: 0.97,
  kl: 0.05,
  clipped: 0.3,
  entropy: 0.01,
  /** Logits of a discriminator that is not bounded any more; usual ones are below 10. */
  logit: 100,
} as const;

interface TrainedRun {
  readonly metrics: readonly MetricsLine[];
  /** Of the agent, on the threads that were decided. */
  readonly mostCommonStop: { readonly name: string; readonly share: number };
  /** Labels that raise an alert, if only these may be predicted early. */
  readonly alerts?: readonly string[] | undefined;
  /** Share of the conservative demonstrations that stop at the first post. */
  readonly demonstrationsAtFirstPost: number;
  /** What it was trained with: nothing is advised that is set already. */
  readonly agent: StopAgentConfig;
}

/** What went wrong in a training, from its metrics and from where its agent stops. */
export function trainingWarnings(run: TrainedRun): TrainingWarning[] {
  const { metrics } = run;
  const end = (name: string) => meanOfEnd(metrics, name);
  const [told, expert] = [end('discriminator/accuracy_agent'), end('discriminator/says_expert_conservative')];
  const [kl, clipped] = [end('ppo/approximate_kl') ?? 0, end('ppo/clip_fraction') ?? 0];
  // A number that is none ends a training with a message, so a finished one can only be on its way there.
  const logit = end('rollout/mean_logit') ?? 0;
  const entropy = end('ppo/entropy');
  const explained = end('ppo/explained_variance');
  return present<TrainingWarning>([
    isCollapsed(run) && fixedRule(run, { imitates: told !== null }),
    told !== null &&
      expert !== null &&
      Math.min(told, expert) >= limits.accuracy && {
        trouble: 'strong-discriminator',
        what: `The discriminator is too strong: at the end it tells ${percent(told)} of the agent’s steps and ${percent(expert)} of the conservative expert’s, so that its rewards hardly say which step is better.`,
        advice:
          'Lower agent.imitation.discriminator.learningRate or .epochs, or raise .penalty; or start from the experts with agent.initialization: behavior-cloning.',
      },
    (kl > limits.kl || clipped > limits.clipped) && {
      trouble: 'large-updates',
      what: `Updates are large to the end: KL ${kl.toFixed(3)}, ${percent(clipped)} of the ratios clipped.`,
      advice: 'Lower agent.imitation.ppo.learningRate or .epochs, or keep learningRateDecay: linear.',
    },
    Math.abs(logit) > limits.logit && {
      trouble: 'diverges',
      what: `The training diverges: the mean logit of the discriminator is ${logit.toFixed(0)}.`,
      advice:
        'Lower agent.imitation.discriminator.learningRate, or use agent.imitation.misleading: as-agent, whose loss is bounded. Then train with --restart.',
    },
    entropy !== null &&
      entropy < limits.entropy && {
        trouble: 'no-entropy',
        what: `The policy no longer tries anything: its entropy is ${entropy.toFixed(4)}.`,
        advice: 'Raise agent.imitation.ppo.entropyCoefficient, such as to 0.03, or lower the learning rate.',
      },
    explained !== null &&
      explained < 0 && {
        trouble: 'bad-critic',
        what: `The critic is worse than a constant: it explains ${explained.toFixed(2)} of the variance of the returns.`,
        advice: 'Give it more iterations, or raise agent.imitation.ppo.valueCoefficient.',
      },
  ]);
}

/** An agent that stops nearly everywhere at the same place, as a rule would. */
function fixedRule(
  { mostCommonStop: { name, share }, demonstrationsAtFirstPost, agent }: TrainedRun,
  { imitates }: { imitates: boolean },
): TrainingWarning {
  const { imitation, task, dqn, algorithm } = agent;
  if (algorithm === 'settled') return settledRule({ name, share, delayCost: task.delayCost });
  if (name === 'last post')
    return {
      trouble: 'waits',
      what: `It waits for the last post in ${percent(share)} of the threads, as the rule “all posts” would.`,
      advice: imitates
        ? `Raise agent.imitation.beta, the weight of the early-action expert (now ${imitation.beta}), or set agent.algorithm: exact-policy-gradient, with agent.task.delayCost above ${task.delayCost}.`
        : algorithm === 'dqn'
          ? `Make waiting cost more: raise agent.dqn.waitCost above ${dqn.waitCost}, or lower agent.dqn.wrongCost (now ${dqn.wrongCost}).`
          : `Make waiting cost more: raise agent.task.delayCost above ${task.delayCost}. Where all posts are far better than any prefix, waiting is right.`,
    };
  const demonstrated = `${percent(demonstrationsAtFirstPost)} of the conservative demonstrations stop at the first post, too. `;
  const advice = algorithm === 'exact-policy-gradient' ? returnAdvice(agent) : otherAdvice(agent);
  return {
    trouble: 'collapsed',
    what: `It has collapsed: ${percent(share)} of the threads are decided at ${name}, as a fixed rule would.`,
    advice: `${name === 'post 1' && imitatesExperts(agent) ? demonstrated : ''}${advice}`,
  };
}

/** A settled agent stops by its threshold, which a guarantee gives, or the development part. */
function settledRule(of: { name: string; share: number; delayCost: number }): TrainingWarning {
  const { name, share, delayCost } = of;
  if (name === 'last post')
    return {
      trouble: 'waits',
      what: `It waits for the last post in ${percent(share)} of the threads, as the rule “all posts” would.`,
      advice: `With a guarantee, raise guarantee.level or split.calibration; without one, raise agent.task.delayCost above ${delayCost}. Where all posts are far better than any prefix, waiting is right.`,
    };
  return {
    trouble: 'collapsed',
    what: `It has collapsed: ${percent(share)} of the threads are decided at ${name}, as a fixed rule would.`,
    advice: `Its score hardly differs between threads: give it more threads to learn from (split.environment), which need no labels. Without a guarantee, a lower agent.task.delayCost than ${delayCost} lets it read on.`,
  };
}

function otherAdvice({ balance, initialStopProbability }: StopAgentConfig): string {
  const options = present([
    'agent.algorithm: exact-policy-gradient',
    balance !== 'stop-step' && 'agent.balance: stop-step',
    `agent.initialStopProbability below ${initialStopProbability}`,
  ]);
  return `Try ${new Intl.ListFormat('en', { type: 'disjunction' }).format(options)}.`;
}

function returnAdvice({ task: { delayCost, environment } }: StopAgentConfig): string {
  const cheaper =
    delayCost > 0
      ? `Make waiting cheaper: lower agent.task.delayCost below ${delayCost}.`
      : 'Waiting is free already, so later posts do not make the detector’s answers better.';
  return environment === 'pseudo-labelled'
    ? `${cheaper} More labelled threads, or a detector whose answers get better with further posts, may give it something to wait for.`
    : `${cheaper} With few labelled threads, agent.task.environment: pseudo-labelled brings more.`;
}

/** The mean over the last tenth of the steps; null where the metric is not logged. */
function meanOfEnd(metrics: readonly MetricsLine[], name: string): number | null {
  const last = metrics.slice(-Math.max(1, Math.ceil(lastShare * metrics.length)));
  const values = last.flatMap((line) => (line[name] === undefined ? [] : [line[name]]));
  return values.length === 0 ? null : mean(values);
}
