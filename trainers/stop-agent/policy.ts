import * as tf from '@tensorflow/tfjs-core';
import { CONTINUE, type StateTable, stateRow } from '../../envs/state-table.ts';
import type { Thread } from '../../src/data/thread.ts';
import { type Moments, standardized } from '../../src/tensor/normalizer.ts';
import { paddedCount } from '../../src/tensor/onnx/compiled.ts';
import type { MlpName, Tensors } from '../../src/tensor/population-ops.ts';
import { scoredStops } from '../policy-value.ts';

/** A trained stop agent: plain arrays, nothing to dispose. */
export interface StopPolicy {
  /** Of the network of trainers/policy-value.ts without its critic, each row-major [rows, columns]. */
  readonly parameters: Readonly<Record<MlpName, PolicyMatrix>>;
  /** What raw states are standardised with. */
  readonly moments: Moments;
}

export interface PolicyMatrix {
  readonly rows: number;
  readonly columns: number;
  readonly data: Float32Array;
}

/** Rows scored in one pass: bounds the memory whatever the table's size. */
const rowsAtOnce = 4096;

/**
 * π(stop) at every step of every thread of a table, given that the agent has continued so far: one array a thread,
 * [steps]. This is all that a decision needs, for before its first stop an agent has only continued.
 * @throws Error when the table's states are not as wide as those the policy was trained on
 */
export async function stopProbabilities(policy: StopPolicy, table: StateTable): Promise<Float32Array[]> {
  const { data, columns, lengths } = table;
  const rows = Array.from(lengths, (length, thread) =>
    Array.from({ length }, (_, step) => stateRow(table, { thread, step, previous: CONTINUE })),
  ).flat();
  const states = new Float32Array(rows.length * columns);
  for (const [i, row] of rows.entries()) states.set(data.subarray(row * columns, (row + 1) * columns), i * columns);
  const all = await stopProbabilitiesOfStates(policy, { data: states, columns });
  let start = 0;
  return Array.from(lengths, (length) => {
    start += length;
    return all.subarray(start - length, start);
  });
}

/**
 * π(stop) in each of some raw states, [rows].
 * @throws Error when the states are not as wide as those the policy was trained on
 */
export async function stopProbabilitiesOfStates(
  policy: StopPolicy,
  states: { readonly data: Float32Array | Float64Array; readonly columns: number },
): Promise<Float32Array> {
  const { columns } = states;
  const inputs = policy.parameters.w1.rows;
  if (columns !== inputs) throw new Error(`the policy reads states of ${inputs} numbers, and these have ${columns}`);
  const all = new Float32Array(states.data.length / columns);
  const parameters = parameterTensors(policy);
  for (let start = 0; start < all.length; start += rowsAtOnce) {
    const raw = states.data.subarray(start * columns, (start + rowsAtOnce) * columns);
    const rows = raw.length / columns;
    const { data } = standardized({ data: raw, columns }, policy.moments);
    const padded = new Float32Array(paddedCount(rows) * columns);
    padded.set(data);
    const observations = tf.tensor3d(padded, [1, paddedCount(rows), columns]);
    const scores = scoredStops({ parameters, observations });
    const logs = await scores.data<'float32'>();
    all.set(logs.subarray(0, rows).map(Math.exp), start);
    tf.dispose([observations, scores]);
  }
  tf.dispose(parameters);
  return all;
}

/** 0-based post at which a policy stops: the first whose π(stop) exceeds one half, else the last. */
export function greedyStop(stopProbability: Float32Array): number {
  const first = stopProbability.findIndex((probability) => probability > 0.5);
  return first < 0 ? stopProbability.length - 1 : first;
}

/** A thread as a policy decides it. */
export interface StopDecision {
  readonly threadId: string;
  /** 0-based post of the stop; the last one that it acts at where the policy never stops. */
  readonly stopStep: number;
  /** π(stop) at every post, given that the agent has continued so far; 0 where it does not act; [posts]. */
  readonly stopProbability: Float32Array;
}

/** Threads whose states are built at a time: bounds the memory of large sets. */
const threadsAtOnce = 100;

/**
 * Where a policy stops in each thread.
 * @param options.tableOf the states of threads, built as those the policy was trained on
 * @param options.lastPost `dropped` decides a thread of n > 1 posts at post n − 1 at the latest, as the published code does in
 *   tests; `decision` unless given
 */
export async function decideStops(
  policy: StopPolicy,
  options: {
    threads: readonly Thread[];
    tableOf: (threads: readonly Thread[]) => Promise<StateTable>;
    lastPost?: 'decision' | 'dropped';
  },
): Promise<StopDecision[]> {
  const { threads, tableOf, lastPost = 'decision' } = options;
  const decisions: StopDecision[] = [];
  for (let start = 0; start < threads.length; start += threadsAtOnce) {
    const chunk = threads.slice(start, start + threadsAtOnce);
    const table = await tableOf(chunk);
    const probabilities = await stopProbabilities(policy, table);
    for (const [index, { id, posts }] of chunk.entries()) {
      const stopProbability = new Float32Array(posts.length);
      for (const [step, seen] of table.postsSeen[index].entries())
        stopProbability[seen - 1] = probabilities[index][step];
      const acted = lastPost === 'decision' ? posts.length : Math.max(1, posts.length - 1);
      stopProbability.fill(0, acted);
      decisions.push({ threadId: id, stopStep: greedyStop(stopProbability.subarray(0, acted)), stopProbability });
    }
  }
  return decisions;
}

/** [1, rows, columns] each. */
export function parameterTensors({ parameters }: StopPolicy): Tensors<MlpName> {
  const tensor = ({ rows, columns, data }: PolicyMatrix) => tf.tensor3d(data, [1, rows, columns]);
  const { w1, b1, w2, b2, w3, b3 } = parameters;
  return { w1: tensor(w1), b1: tensor(b1), w2: tensor(w2), b2: tensor(b2), w3: tensor(w3), b3: tensor(b3) };
}
