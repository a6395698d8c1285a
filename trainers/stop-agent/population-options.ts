import { InputError } from '../../src/errors.ts';
import type { GailConfig } from '../gail.ts';

/** What the check must know of a member's configuration; it compares the rest as it finds it. */
export interface MemberConfig {
  readonly initialization: string;
  readonly gail: Readonly<Pick<GailConfig, 'alpha' | 'beta'>>;
}

/** Options that each member of a population may have its own of; all others shape the program that they share. */
const ownOptions: ReadonlySet<string> = new Set([
  'ppo.clip',
  'ppo.entropyCoefficient',
  'ppo.valueCoefficient',
  'ppo.maxGradientNorm',
  'ppo.learningRate',
  'ppo.learningRateDecay',
  'ppo.discount',
  'ppo.gaeLambda',
  'gail.alpha',
  'gail.beta',
  'gail.gamma',
  'gail.misleading',
  'gail.learningRate',
  'gail.penalty',
  'gail.penaltyTarget',
  'gail.misleadingPenalty',
  'imitationReward',
  'taskReward',
  'taskTarget',
  'delayCost',
  'initialStopProbability',
]);

/** @throws InputError naming the first option that the members share and that they disagree on. */
export function checkPopulation(configs: readonly MemberConfig[]): void {
  const [first, ...others] = configs.map(sharedOptions);
  for (const [index, other] of others.entries())
    for (const [option, value] of first)
      if (other.get(option) !== value)
        throw new InputError(
          `the members of a population must agree on ${option}, and member 1 has ${value} where member ${index + 2} has ${other.get(option)}; train them in separate runs`,
        );
}

function sharedOptions(config: MemberConfig): Map<string, unknown> {
  const shared = new Map(flat(config).filter(([option]) => !ownOptions.has(option)));
  // The population copies the demonstrations together.
  if (config.initialization === 'behavior-cloning')
    for (const expert of ['alpha', 'beta'] as const) shared.set(`gail.${expert}`, config.gail[expert]);
  return shared;
}

function flat(options: object, path = ''): [string, unknown][] {
  return Object.entries(options).flatMap(([name, value]: [string, unknown]) =>
    typeof value === 'object' && value !== null ? flat(value, `${path}${name}.`) : [[`${path}${name}`, value]],
  );
}
