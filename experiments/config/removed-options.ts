/** An option, or one value of an option, that an earlier version had. */
interface RemovedOption {
  /** The end of its dotted path in a configuration file. */
  readonly option: string;
  /** The value that was removed; the whole option where it is left out. */
  readonly value?: string;
  /** The sentence that ends the error: the version that removed the option, and what to use. */
  readonly advice: string;
}

const halving = 'successive halving was removed in 0.3.0';
const sobol = 'Sobol draws were removed in 0.3.0';

const removedOptions: readonly RemovedOption[] = [
  {
    option: 'method.name',
    value: 'halving',
    advice: `${halving}; use grid or random, which train every setting to its end`,
  },
  { option: 'method.firstRung', advice: `${halving}; leave this out` },
  { option: 'method.factor', advice: `${halving}; leave this out` },
  { option: 'method.sampler', advice: `${halving}; write name, trials and seed of random into method itself` },
  { option: 'method.name', value: 'sobol', advice: `${sobol}; use random with the same trials and seed` },
  {
    option: 'agent.imitation.rollout',
    advice:
      'removed in 0.3.0, because sampled rollouts end nearer to the experts than exact ones; leave the option out, and rollouts are sampled',
  },
];

/**
 * The advice for a removed option, or undefined for an option that never existed.
 * @param place its dotted path
 */
export function adviceOnRemovedOption(place: string, value: unknown): string | undefined {
  return removedOptions.find(
    (removed) => `.${place}`.endsWith(`.${removed.option}`) && (removed.value === undefined || removed.value === value),
  )?.advice;
}
