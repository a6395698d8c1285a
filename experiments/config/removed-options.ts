const halving = 'successive halving was removed in 0.3.0';
const sobol = 'Sobol draws were removed in 0.3.0';

/**
 * Options of earlier versions: the end of a dotted path, the removed value (null for the whole option), and the sentence
 * that ends the error.
 */
const removedOptions: readonly (readonly [option: string, value: string | null, advice: string])[] = [
  ['method.name', 'halving', `${halving}; use grid or random, which train every setting to its end`],
  ['method.firstRung', null, `${halving}; leave this out`],
  ['method.factor', null, `${halving}; leave this out`],
  ['method.sampler', null, `${halving}; write name, trials and seed of random into method itself`],
  ['method.name', 'sobol', `${sobol}; use random with the same trials and seed`],
  [
    'agent.imitation.rollout',
    null,
    'removed in 0.3.0, because sampled rollouts end nearer to the experts than exact ones; leave the option out, and rollouts are sampled',
  ],
  [
    'agent.preset',
    'published',
    'removed in 0.3.0, because its agents end where those with the defaults do; leave the option out. docs/reference/papers.md says what the published code does differently',
  ],
  [
    'agent.preset',
    null,
    'removed in 0.3.0, because the preset paper is the only one left; leave the option out to get it',
  ],
  ['state.components', null, 'removed in 0.3.0, because no result recommends it; leave the option out'],
  [
    'state.querySchedule.name',
    'best',
    'removed in 0.3.0, because agents on a chosen schedule were not above rules; name one, such as geometric',
  ],
  [
    'backend',
    'webgpu',
    'webgpu was removed in 0.3.0, because one run was slower on a GPU than on a core; use xla on a GPU, or auto',
  ],
  ofPublished('agent.pairing', 'an action belongs to the state of its step'),
  ofPublished('agent.lastPost', 'the last post is a decision'),
  ofPublished('agent.normalizer', 'each number of a state is standardised by itself'),
  ofPublished('agent.imitation.misleadingPenalty', 'the penalty of misleading pairs is added'),
  ofPublished('agent.imitation.otherExpertSampling', 'the pairs of every expert come in shuffled passes'),
  ofPublished('agent.imitation.ppo.valueGain', 'the gain is 1'),
  [
    'agent.imitation.ppo.advantages',
    'per-iteration',
    'per-iteration was removed in 0.3.0 with the preset published, which alone set it; use per-minibatch or none',
  ],
  [
    'prompt',
    'published',
    "removed in 0.3.0 with the prompt of EARD's published code; leave the option out for the paper's, or change its words in a file of `prompts`",
  ],
  ['prompt', 'paper', "removed in 0.3.0; leave the option out, the paper's prompt is the only one"],
  [
    'promptTokens',
    null,
    "removed in 0.3.0 with the prompt of EARD's published code; leave the option out, the paper's shows all posts",
  ],
  [
    'reading',
    'published',
    'removed in 0.3.0, because a search for substrings takes "Maybe" for a yes; leave the option out, and an answer is one word',
  ],
  ['reading', 'strict', 'removed in 0.3.0; leave the option out, an answer is always read so'],
];

/** @param remaining the behaviour without the option */
function ofPublished(option: string, remaining: string): [string, null, string] {
  const advice = `removed in 0.3.0 with the preset published, which alone changed it; leave the option out, and ${remaining}`;
  return [option, null, advice];
}

/** The advice for a removed option; undefined for an option that never existed. @param place its dotted path */
export function adviceOnRemovedOption(place: string, value: unknown): string | undefined {
  const isMeant = (option: string, removed: string | null) =>
    `.${place}`.endsWith(`.${option}`) && (removed === null || removed === value);
  return removedOptions.find(([option, removed]) => isMeant(option, removed))?.[2];
}
