import type { KindName } from '../run/kind-name.ts';
import type { StartTrials } from '../run/trials-here.ts';
import type { ExperimentKind } from './experiment-kind.ts';

/** Loaded one by one: a process that trains a stop agent needs neither language models nor selectors. */
const kinds: Readonly<Record<KindName, () => Promise<ExperimentKind>>> = {
  'stop-agent': async () => (await import('./stop-agent-kind.ts')).stopAgentKind,
  selector: async () => (await import('./selector-kind.ts')).selectorKind,
  detectors: async () => (await import('./detectors-kind.ts')).detectorsKind,
};

/** Begins to train trials of whatever kind the first one has. */
export const startTrials: StartTrials = async (first, told) => (await kinds[first.kind]()).start(first, told);
