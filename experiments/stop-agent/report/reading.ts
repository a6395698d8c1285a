import { allPosts } from '../../../checkpoints/policy/rules.ts';
import { percent } from '../../report/shown-numbers.ts';
import { agentName } from '../decisions.ts';
import { rulesAsEarly, type SystemSummary } from './aggregate.ts';

/**
 * What an agent gets for what it reads, in a sentence: `Reading 39 % of the posts, detector-in-state keeps 97 % of the
 * macro-F1 of reading everything; …`. Null where a score is missing.
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
  const { once: fixed, asOften } = rulesAsEarly(systems);
  const beside =
    fixed === undefined ? 'no fixed rule is as early' : `the best fixed rule as early keeps ${kept(fixed.values)}`;
  // A rule that asks on the way, for an agent that does, too.
  const isBetter = (asOften?.values.macroF1?.mean ?? 0) > (fixed?.values.macroF1?.mean ?? 0);
  const also =
    isBetter && asOften !== undefined && asOften.calls !== 'one'
      ? `; ${asOften.name}, as early with as few calls, keeps ${kept(asOften.values)}`
      : '';
  return `Reading ${percent(agent.er.mean)} of the posts, ${name} keeps ${kept(agent)} of the macro-F1 of reading everything; ${beside}${also}.`;
}
