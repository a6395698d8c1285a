import { InputError } from '../../src/errors.ts';
import type { StartTrials } from '../run/trials-here.ts';
import type { ExperimentKind } from './experiment-kind.ts';

/** Every kind of experiment, imported on demand: a training of a stop agent needs neither language models nor selectors. */
export const kinds: Record<string, () => Promise<ExperimentKind>> = {
  'stop-agent': async () => (await import('./stop-agent-kind.ts')).stopAgentKind,
  selector: async () => (await import('./selector-kind.ts')).selectorKind,
  detectors: async () => (await import('./detectors-kind.ts')).detectorsKind,
};

/**
 * @param name `stop-agent` by default
 * @throws InputError for an unknown kind
 */
export async function kindOf(name: unknown = 'stop-agent', source = 'the experiment'): Promise<ExperimentKind> {
  if (typeof name === 'string' && Object.hasOwn(kinds, name)) return kinds[name]();
  const [first, ...others] = Object.keys(kinds);
  throw new InputError(
    `${source}: kind is ${JSON.stringify(name)}; it must be ${first} (the default), ${new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(others)}`,
  );
}

export const startTrials: StartTrials = async (first, callbacks) =>
  (await kindOf(first.kind, first.directory)).start(first, callbacks);
