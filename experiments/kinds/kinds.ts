import { InputError } from '../../src/errors.ts';
import type { StartTrials } from '../run/trials-here.ts';
import type { ExperimentKind } from './experiment-kind.ts';

/** Every kind of experiment, loaded one by one: a process that trains a stop agent needs neither language models nor selectors. */
export const kinds: Record<string, () => Promise<ExperimentKind>> = {
  'stop-agent': async () => (await import('./stop-agent-kind.ts')).stopAgentKind,
  selector: async () => (await import('./selector-kind.ts')).selectorKind,
  detectors: async () => (await import('./detectors-kind.ts')).detectorsKind,
};

/**
 * @param name files that name none are about stop agents
 * @throws InputError for a kind that is not known
 */
export async function kindOf(name: unknown = 'stop-agent', source = 'the experiment'): Promise<ExperimentKind> {
  if (typeof name === 'string' && Object.hasOwn(kinds, name)) return kinds[name]();
  const [first, ...others] = Object.keys(kinds);
  throw new InputError(
    `${source}: kind is ${JSON.stringify(name)}; it must be ${first} (the default), ${new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(others)}`,
  );
}

/** Begins to train trials of whatever kind the first one has. */
export const startTrials: StartTrials = async (first, callbacks) =>
  (await kindOf(first.kind, first.directory)).start(first, callbacks);
