import { CONTINUE, STOP, stateRow } from '../../envs/state-table.ts';
import type { WeightedPairs } from '../behavior-cloning.ts';
import { labelledOf } from './labelled-threads.ts';
import type { StopAgentSettings } from './problem.ts';

/*
 * The settled agent: learns to tell from a state whether the detector's judgement is the one after all posts. Its π(stop) is that
 * probability by maximum likelihood, a stopping score for a threshold that keeps a guarantee (`earshot calibrate`). It copies nobody
 * and needs no label of a thread, only judgements.
 */

/**
 * Every state of the judged threads, with "stop" where the judgement is the last one. Each thread weighs the same, so that long ones
 * do not decide.
 * @throws InputError without judged threads
 */
export function settledPairs(settings: StopAgentSettings): WeightedPairs {
  const labelled = labelledOf(settings, { needs: 'the settled agent needs judged threads' });
  const { table } = settings.problem;
  const pairs = Array.from(labelled, ([thread, { isFinal }]) =>
    Array.from(isFinal, (final, step) => ({
      row: stateRow(table, { thread, step, previous: CONTINUE }),
      action: final === 1 ? STOP : CONTINUE,
      share: 1 / isFinal.length,
    })),
  ).flat();
  const scale = pairs.length / labelled.size;
  return {
    rows: Int32Array.from(pairs, ({ row }) => row),
    actions: Uint8Array.from(pairs, ({ action }) => action),
    weights: Float32Array.from(pairs, ({ share }) => share * scale),
  };
}
