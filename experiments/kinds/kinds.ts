import { type KindName, kindName } from '../run/kind-name.ts';
import { detectorsKind } from './detectors-kind.ts';
import type { ExperimentKind } from './experiment-kind.ts';
import type { KindReport } from './kind-report.ts';
import { selectorKind } from './selector-kind.ts';
import { stopAgentKind } from './stop-agent-kind.ts';

const kinds: Readonly<Record<KindName, ExperimentKind>> = {
  'stop-agent': stopAgentKind,
  selector: selectorKind,
  detectors: detectorsKind,
};

/** @throws InputError for a kind that is not known */
export function kindOf(name: unknown, source: string): ExperimentKind {
  return kinds[kindName(name, source)];
}

/** What shows runs of a kind. Pages and charts are loaded for those alone who ask for it. */
export async function reportOf(kind: KindName): Promise<KindReport> {
  if (kind === 'selector') return (await import('./selector-report.ts')).selectorReport;
  if (kind === 'detectors') return (await import('./detectors-report.ts')).detectorsReport;
  return (await import('./stop-agent-report.ts')).stopAgentReport;
}
