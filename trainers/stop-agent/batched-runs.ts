import { InputError } from '../../src/errors.ts';
import type { StopAgentConfig } from './config.ts';

/** Options that each batched run may set for itself; all others shape the program that they share. */
const ownOptions: ReadonlySet<string> = new Set([
  'initialStopProbability',
  'imitation.alpha',
  'imitation.beta',
  'imitation.gamma',
  'imitation.misleading',
  'imitation.reward',
  'imitation.rewardScale',
  'imitation.afterStop',
  'imitation.taskWeight',
  'imitation.discriminator.learningRate',
  'imitation.discriminator.penalty',
  'imitation.ppo.clip',
  'imitation.ppo.entropyCoefficient',
  'imitation.ppo.valueCoefficient',
  'imitation.ppo.maxGradientNorm',
  'imitation.ppo.learningRate',
  'imitation.ppo.learningRateDecay',
  'imitation.ppo.discount',
  'imitation.ppo.gaeLambda',
  'imitation.ppo.advantages',
  'imitation.ppo.valueLoss',
  'dqn.exploration',
  'dqn.discount',
  'dqn.rightGrowth',
  'dqn.wrongCost',
  'dqn.waitCost',
  'dqn.learningRate',
  'task.target',
  'task.delayCost',
  'task.queryCost',
  'task.control',
  'task.environment',
  'task.learningRate',
  // These shape the data that a member brings, which is its own in any case.
  'trajectories.keepEarlyAction',
  'trajectories.minPosts',
  'trajectories.maxConservative',
  'trajectories.ratio',
  'trajectories.control',
  'balance',
  'minPosts',
  'maxPosts',
]);

/** Groups that an algorithm does not read: members may differ there as they like. */
const unread: Readonly<Partial<Record<StopAgentConfig['algorithm'], readonly string[]>>> = {
  imitation: ['dqn.'],
  'behavior-cloning': ['imitation.', 'task.', 'dqn.', 'iterations'],
  'exact-policy-gradient': ['imitation.', 'dqn.'],
  settled: ['imitation.', 'task.', 'dqn.', 'iterations'],
  dqn: ['imitation.', 'task.'],
};

/**
 * The options that batched runs must agree on, as canonical text: configurations with the same text can
 * be trained in one program.
 */
export function sharedOptions(config: StopAgentConfig): ReadonlyMap<string, unknown> {
  const skipped = unread[config.algorithm] ?? [];
  return new Map(
    flat(config).filter(([option]) => !ownOptions.has(option) && !skipped.some((group) => option.startsWith(group))),
  );
}

/** @throws InputError naming the first option that the members share and that they disagree on. */
export function checkBatch(configs: readonly StopAgentConfig[]): void {
  const [first, ...others] = configs.map(sharedOptions);
  for (const [index, other] of others.entries())
    for (const [option, value] of first)
      if (other.get(option) !== value)
        throw new InputError(
          `batched runs must agree on ${option}, and run 1 has ${value} where run ${index + 2} has ${other.get(option)}; train them in separate runs`,
        );
}

function flat(options: object, path = ''): [string, unknown][] {
  return Object.entries(options).flatMap(([name, value]: [string, unknown]) =>
    typeof value === 'object' && value !== null ? flat(value, `${path}${name}.`) : [[`${path}${name}`, value]],
  );
}
