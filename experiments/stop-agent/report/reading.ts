import { allPosts } from '../../../checkpoints/policy/rules.ts';
import { percent } from '../../report/shown-numbers.ts';
import { agentName } from '../decisions.ts';
import { ruleInPlace, type SystemSummary } from './aggregate.ts';

/**
 * What an agent gets for what it reads: `Reading 39 % of the posts with 4.2 queries per thread, detector-in-state keeps 97 % of the
 * macro-F1 of reading everything. …`. Null where a score is missing.
 */
export function readingSentence(
  systems: readonly Pick<SystemSummary, 'name' | 'calls' | 'values'>[],
  name: string,
): string | null {
  const scoreOf = (name: string) => systems.find((system) => system.name === name)?.values;
  const [agent, all] = [scoreOf(agentName), scoreOf(allPosts.name)];
  const whole = all?.macroF1?.mean ?? 0;
  if (!agent?.macroF1 || !agent.er || whole === 0) return null;
  const kept = ({ macroF1 }: SystemSummary['values']) => percent((macroF1?.mean ?? 0) / whole);
  const rule = ruleInPlace(systems);
  const beside =
    rule === undefined
      ? 'No rule reads and queries as little.'
      : `The best rule that reads and queries no more, ${rule.name}, keeps ${kept(rule.values)}.`;
  const queries = (agent.callsPerThread?.mean ?? 1).toFixed(1);
  return `Reading ${percent(agent.er.mean)} of the posts with ${queries} queries per thread, ${name} keeps ${kept(agent)} of the macro-F1 of reading everything. ${beside}`;
}
