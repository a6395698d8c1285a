import { type Algorithm, imitatesExperts } from '../../../trainers/stop-agent/config.ts';
import { percent } from '../../report/shown-numbers.ts';
import type { SystemScores } from '../metrics.ts';
import type { TrialResult } from '../result.ts';

/* An agent that stops nearly everywhere at the same place has learned little more than a fixed rule. */

const collapsedShare = 0.9;
const lastPost = 'last post';

/** @param of.alerts with labels that raise one, most threads raise none, and are rightly read to their end */
export function isCollapsed({
  mostCommonStop: { name, share },
  alerts,
}: Pick<SystemScores, 'mostCommonStop'> & { alerts?: readonly string[] | undefined }): boolean {
  return share >= collapsedShare && !(alerts !== undefined && name.startsWith(lastPost));
}

/** Says at which post a collapsed agent stops, and which option of its algorithm to change. */
export function collapseInWords(
  { name, share }: SystemScores['mostCommonStop'],
  { experiment: { agent }, stopsAtFirstPost: { conservative = 0 } }: TrialResult,
): string {
  const { collapsed = '', waits = waitingIsRight } = advices[agent.algorithm] ?? {};
  const demonstrated =
    name === 'post 1' && imitatesExperts(agent)
      ? `${percent(conservative)} of the conservative demonstrations stop at the first post, too. `
      : '';
  const advice = name.startsWith(lastPost) ? waits : `${demonstrated}${collapsed}`;
  return `collapsed to a fixed rule (${percent(share)} stop at ${name}). ${advice}`.trimEnd();
}

const waitingIsRight = 'Where all posts are far better than any prefix, waiting is right.';
const imitating = {
  collapsed:
    'Try agent.algorithm: exact-policy-gradient, agent.balance: stop-step, or a lower agent.initialStopProbability.',
  waits:
    'Raise agent.imitation.beta, the weight of the early-action expert, or set agent.algorithm: exact-policy-gradient.',
};

/** Only options that an algorithm reads; a new algorithm has none yet. */
const advices: { readonly [Name in Algorithm]?: { readonly collapsed: string; readonly waits: string } } = {
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
