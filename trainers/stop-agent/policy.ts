import { columnsOfNetwork, policyNetwork, stopProbabilitiesOf } from '../../checkpoints/policy/network.ts';
import { readsAll, type Stop, stopIn } from '../../checkpoints/policy/stops.ts';
import { CONTINUE, type StateTable, stateRow } from '../../envs/state-table.ts';
import { hoursSinceClaim, type Thread } from '../../src/data/thread.ts';
import type { Moments } from '../../src/tensor/normalizer.ts';
import type { MlpName } from '../../src/tensor/operations.ts';

/** A trained stop agent: plain arrays, nothing to dispose. */
export interface StopPolicy {
  /** Of the network of trainers/policy-value.ts without its critic, each row-major [rows, columns]. */
  readonly parameters: Readonly<Record<MlpName, PolicyMatrix>>;
  /** Moments that standardise raw states. */
  readonly moments: Moments;
}

export interface PolicyMatrix {
  readonly rows: number;
  readonly columns: number;
  readonly data: Float32Array;
}

/**
 * π(stop) at every step of every thread of a table, given that the agent has continued so far: one array a thread,
 * [steps]. This is all that a decision needs, because an agent has only continued before its first stop.
 * @throws Error when the table's states are not as wide as those the policy was trained on
 */
export function stopProbabilities(policy: StopPolicy, table: StateTable): Float32Array[] {
  const { data, columns, lengths } = table;
  const network = policyNetwork(policy);
  const inputs = columnsOfNetwork(network);
  if (columns !== inputs) throw new Error(`the policy reads states of ${inputs} numbers, and these have ${columns}`);
  return Array.from(lengths, (length, thread) => {
    const states = new Float32Array(length * columns);
    for (let step = 0; step < length; step++) {
      const row = stateRow(table, { thread, step, previous: CONTINUE });
      states.set(data.subarray(row * columns, (row + 1) * columns), step * columns);
    }
    return stopProbabilitiesOf(network, states);
  });
}

/** A thread as a policy decides it. */
export interface StopDecision {
  readonly threadId: string;
  /** Where it is decided, and why. */
  readonly stop: Stop;
  /** π(stop) at every post, given that the agent has continued so far; 0 where it does not act; [posts]. */
  readonly stopProbability: Float32Array;
}

/** Threads whose states are built at a time: bounds the memory of large sets. */
const threadsAtOnce = 100;
/** It stops where stopping is likelier than not. */
const halfway = 0.5;

/**
 * Where a policy stops in each thread.
 * @param options.tableOf the states of threads, built as those the policy was trained on
 */
export async function decideStops(
  policy: StopPolicy,
  { threads, tableOf }: { threads: readonly Thread[]; tableOf: (threads: readonly Thread[]) => Promise<StateTable> },
): Promise<StopDecision[]> {
  const { limits } = readsAll;
  const decisions: StopDecision[] = [];
  for (let start = 0; start < threads.length; start += threadsAtOnce) {
    const chunk = threads.slice(start, start + threadsAtOnce);
    const table = await tableOf(chunk);
    const probabilities = stopProbabilities(policy, table);
    for (const [index, thread] of chunk.entries()) {
      const stopProbability = new Float32Array(thread.posts.length);
      for (const [step, posts] of table.postsSeen[index].entries())
        stopProbability[posts - 1] = probabilities[index][step];
      const posts = thread.posts.map((_, step) => ({
        score: stopProbability[step],
        hours: hoursSinceClaim(thread, step),
      }));
      decisions.push({ threadId: thread.id, stop: stopIn({ threshold: halfway, limits }, posts), stopProbability });
    }
  }
  return decisions;
}
