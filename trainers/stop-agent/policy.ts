import * as tf from '@tensorflow/tfjs-core';
import { CONTINUE, type StateTable, stateRow } from '../../envs/state-table.ts';
import type { Tensors } from '../../src/tensor/adam.ts';
import type { MlpName } from '../../src/tensor/mlp.ts';
import { type Moments, standardized } from '../../src/tensor/normalizer.ts';
import { RowTable } from '../../src/tensor/row-table.ts';
import { policyValueForward } from '../ppo.ts';

/** Rows scored in one pass: bounds the memory whatever the table's size. */
const rowsAtOnce = 4096;

/**
 * π(stop) of one member at every prefix of every thread, given that the agent has continued so far: one array a thread,
 * [posts]. This is all that inference needs, for before its first stop an agent has only continued.
 */
export function stopProbabilities(
  policy: { parameters: Tensors<MlpName>; moments: Moments; member?: number },
  table: StateTable,
): Float32Array[] {
  const { parameters, moments, member = 0 } = policy;
  const rows = Array.from(table.lengths, (length, thread) =>
    Array.from({ length }, (_, step) => stateRow(table, { thread, step, previous: CONTINUE })),
  ).flat();
  const all = new Float32Array(rows.length);
  for (let start = 0; start < rows.length; start += rowsAtOnce) {
    const chunk = rows.slice(start, start + rowsAtOnce);
    const raw = new Float32Array(chunk.length * table.columns);
    for (const [i, row] of chunk.entries())
      raw.set(table.data.subarray(row * table.columns, (row + 1) * table.columns), i * table.columns);
    const states = new RowTable(standardized({ data: raw, columns: table.columns }, moments));
    const probabilities = tf.tidy(() => {
      const own = Object.fromEntries(
        Object.entries(parameters).map(([name, tensor]) => [name, tf.slice(tensor, [member, 0, 0], [1, -1, -1])]),
      ) as Tensors<MlpName>;
      const observations = states.gather(
        Int32Array.from(chunk, (_, i) => i),
        1,
      );
      const { logProbabilities } = policyValueForward(own, observations);
      return tf.exp(tf.slice(logProbabilities, [0, 0, 1], [1, chunk.length, 1]));
    });
    all.set(probabilities.dataSync(), start);
    probabilities.dispose();
    states.dispose();
  }
  let start = 0;
  return Array.from(table.lengths, (length) => {
    start += length;
    return all.subarray(start - length, start);
  });
}

/** 0-based step at which a policy stops: the first whose π(stop) exceeds one half, else the last. */
export function greedyStop(stopProbability: Float32Array): number {
  const first = stopProbability.findIndex((probability) => probability > 0.5);
  return first < 0 ? stopProbability.length - 1 : first;
}
