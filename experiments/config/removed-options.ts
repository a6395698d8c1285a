interface RemovedOption {
  /** The end of its dotted path in a configuration file. */
  readonly option: string;
  /** The removed value; the whole option if undefined. */
  readonly value?: string;
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
  {
    option: 'agent.preset',
    value: 'published',
    advice:
      'removed in 0.3.0, because its agents end where those with the defaults do; leave the option out. docs/reference/papers.md says what the published code does differently',
  },
  {
    option: 'agent.preset',
    advice: 'removed in 0.3.0, because the preset paper is the only one left; leave the option out to get it',
  },
  {
    option: 'backend',
    value: 'webgpu',
    advice:
      'webgpu was removed in 0.3.0, because one run was slower on a GPU than on a core; use xla on a GPU, or auto',
  },
  ofPublished('agent.pairing', 'an action belongs to the state of its step'),
  ofPublished('agent.lastPost', 'the last post is a decision'),
  ofPublished('agent.normalizer', 'each number of a state is standardised by itself'),
  ofPublished('agent.imitation.misleadingPenalty', 'the penalty of misleading pairs is added'),
  ofPublished('agent.imitation.otherExpertSampling', 'the pairs of every expert come in shuffled passes'),
  ofPublished('agent.imitation.ppo.valueGain', 'the gain is 1'),
  {
    option: 'agent.imitation.ppo.advantages',
    value: 'per-iteration',
    advice:
      'per-iteration was removed in 0.3.0 with the preset published, which alone set it; use per-minibatch or none',
  },
  {
    option: 'prompt',
    value: 'published',
    advice:
      "removed in 0.3.0 with the prompt of EARD's published code; leave the option out for the paper's, or change its words in a file of `prompts`",
  },
  {
    option: 'prompt',
    value: 'paper',
    advice: "removed in 0.3.0; leave the option out, the paper's prompt is the only one",
  },
  {
    option: 'promptTokens',
    advice:
      "removed in 0.3.0 with the prompt of EARD's published code; leave the option out, the paper's shows all posts",
  },
  {
    option: 'reading',
    value: 'published',
    advice:
      'removed in 0.3.0, because a search for substrings takes "Maybe" for a yes; leave the option out, and an answer is one word',
  },
  { option: 'reading', value: 'strict', advice: 'removed in 0.3.0; leave the option out, an answer is always read so' },
];

/** @param remaining the behaviour without the option */
function ofPublished(option: string, remaining: string): RemovedOption {
  return {
    option,
    advice: `removed in 0.3.0 with the preset published, which alone changed it; leave the option out, and ${remaining}`,
  };
}

/** The advice for a removed option; undefined for an option that never existed. @param place its dotted path */
export function adviceOnRemovedOption(place: string, value: unknown): string | undefined {
  return removedOptions.find(
    (removed) => `.${place}`.endsWith(`.${removed.option}`) && (removed.value === undefined || removed.value === value),
  )?.advice;
}
