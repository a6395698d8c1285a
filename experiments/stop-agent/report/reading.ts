import { allPosts } from '../../../experts/stop-rules.ts';
import { percent } from '../../report/shown-numbers.ts';
import { agentName, isLearnt, type SystemDecisions } from '../decisions.ts';
import type { SystemSummary } from './aggregate.ts';

/** Where a system stands. */
interface Placed {
  readonly name: string;
  readonly calls: SystemDecisions['calls'];
  readonly macroF1: number;
  readonly er: number;
}

/** Whether a rule stops after so many posts or hours, whatever the posts say. */
export function isFixed({ name, calls }: Pick<Placed, 'name' | 'calls'>): boolean {
  return calls === 'one' && !isLearnt(name);
}

/** The fixed rule with the best macro-F1 of those that are not later; undefined where all are. */
export function bestFixedRule<System extends Placed>(systems: readonly System[], er: number): System | undefined {
  return systems
    .filter((system) => isFixed(system) && system.er <= er + 1e-9)
    .sort((a, b) => b.macroF1 - a.macroF1 || a.er - b.er)[0];
}

/**
 * What an agent gets for what it reads, in a sentence: `Reading 39 % of the posts, detector-in-state keeps 97 % of the
 * macro-F1 of reading everything; …`. Null where a score is missing.
 */
export function readingSentence(
  systems: readonly Pick<SystemSummary, 'name' | 'calls' | 'values'>[],
  name: string,
): string | null {
  const placed = systems.flatMap((system) => {
    const { macroF1, er, callsPerThread } = system.values;
    if (macroF1 === null || er === null) return [];
    return [{ ...system, macroF1: macroF1.mean, er: er.mean, callsPerThread: callsPerThread?.mean ?? 0 }];
  });
  const agent = placed.find((system) => system.name === agentName);
  const all = placed.find((system) => system.name === allPosts.name);
  if (agent === undefined || all === undefined || all.macroF1 === 0) return null;
  const kept = ({ macroF1 }: Placed) => percent(macroF1 / all.macroF1);
  const fixed = bestFixedRule(placed, agent.er);
  const beside =
    fixed === undefined ? 'no fixed rule is as early' : `the best fixed rule as early keeps ${kept(fixed)}`;
  // A rule that asks on the way, for an agent that does, too.
  const asking = placed
    .filter((system) => !isLearnt(system.name) && (system.calls === 'every' || system.calls === 'schedule'))
    .filter(({ er, callsPerThread }) => er <= agent.er + 1e-9 && callsPerThread <= agent.callsPerThread + 1e-9)
    .sort((a, b) => b.macroF1 - a.macroF1)[0];
  const isBetter = asking !== undefined && asking.macroF1 > (fixed?.macroF1 ?? 0);
  const also = isBetter ? `; ${asking.name}, as early with as few calls, keeps ${kept(asking)}` : '';
  return `Reading ${percent(agent.er)} of the posts, ${name} keeps ${kept(agent)} of the macro-F1 of reading everything; ${beside}${also}.`;
}
