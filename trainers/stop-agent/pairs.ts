import { CONTINUE, STOP, type StateTable, stateRow } from '../../envs/state-table.ts';
import type { Pairs } from '../discriminator.ts';
import type { StopAgentConfig } from './config.ts';
import type { TableDemonstration } from './problem.ts';

/**
 * The state-action pairs of demonstrations of one expert.
 * @param options.balance `stop-step` repeats trajectories until every stratum of stop steps (0, 1–2, 3–6, 7–14, …) has as many pairs
 *   as the largest: otherwise an expert that mostly stops at the first post teaches just that
 */
export function demonstrationPairs(
  table: StateTable,
  demonstrations: readonly TableDemonstration[],
  { balance }: Pick<StopAgentConfig, 'balance'>,
): Pairs {
  const trajectories = demonstrations.map((demonstration) => ({
    stratum: Math.floor(Math.log2(demonstration.stopStep + 1)),
    pairs: trajectoryPairs(table, demonstration),
  }));
  const chosen = balance === 'none' ? trajectories.map(({ pairs }) => pairs) : balanced(trajectories);
  const flat = chosen.flat();
  return {
    rows: Int32Array.from(flat, ({ row }) => row),
    actions: Uint8Array.from(flat, ({ action }) => action),
  };
}

interface Pair {
  readonly row: number;
  readonly action: number;
}

function trajectoryPairs(table: StateTable, { thread, stopStep }: TableDemonstration): Pair[] {
  const actionAt = (step: number) => (step >= stopStep ? STOP : CONTINUE);
  return Array.from({ length: table.lengths[thread] }, (_, step) => ({
    row: stateRow(table, { thread, step, previous: step === 0 ? CONTINUE : actionAt(step - 1) }),
    action: actionAt(step),
  }));
}

function balanced(trajectories: readonly { stratum: number; pairs: Pair[] }[]): Pair[][] {
  const strata = new Map<number, Pair[][]>();
  for (const { stratum, pairs } of trajectories) strata.set(stratum, [...(strata.get(stratum) ?? []), pairs]);
  const largest = Math.max(...Array.from(strata.values(), (stratum) => stratum.flat().length));
  return Array.from(strata.values()).flatMap((stratum) => {
    const repeated: Pair[][] = [];
    let count = 0;
    for (let i = 0; count < largest; i++) {
      const pairs = stratum[i % stratum.length];
      repeated.push(pairs);
      count += pairs.length;
    }
    return repeated;
  });
}
