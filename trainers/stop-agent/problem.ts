import type { StateTable } from '../../envs/state-table.ts';
import { assertLabelsOf, type JudgementSequence } from '../../experts/judgement-sequence.ts';
import { demonstrationsOf, type ExpertName, selectDemonstrations } from '../../experts/trajectories.ts';
import { checkedGoldLabel, type Task } from '../../src/data/task.ts';
import type { Thread } from '../../src/data/thread.ts';
import { InputError } from '../../src/errors.ts';
import { Random } from '../../src/tensor/random.ts';
import type { StopAgentConfig } from './config.ts';

/** The learning problem of a stop agent. */
export interface StopProblem {
  /** Every state of the threads below. */
  readonly table: StateTable;
  /** Threads of the table that the agent roams, by their place in it. */
  readonly environment: Int32Array;
  readonly demonstrations: readonly TableDemonstration[];
  /** Labelled threads by their place in the table: what the task's own return is computed on. */
  readonly labelled: ReadonlyMap<number, LabelledThread>;
}

/** A demonstration on a thread of the table. */
export interface TableDemonstration {
  readonly expert: ExpertName;
  readonly thread: number;
  /** 0-based step of the stop; every later action is stop, too. */
  readonly stopStep: number;
}

export interface LabelledThread {
  /** At each step: 1 where the judgement is right, and its probability of the right label; [steps] each. */
  readonly right: Uint8Array;
  readonly probability: Float32Array;
  /** At each step: 1 where the judgement is the one after all posts; [steps]. */
  readonly isFinal: Uint8Array;
  /** Of a stop at each step: the share of the thread's posts seen, and queries; [steps] each. */
  readonly shareSeen: Float32Array;
  readonly queries: Float32Array;
  /** The weight of a decision on this thread: its label's share of all labels over that of the threads that have it. */
  readonly weight: number;
  /** Of a stop at each step, by the user's costs: expected over what the judgement says, and as it says; left out without costs. */
  readonly costs?: { readonly expected: Float32Array; readonly decided: Float32Array } | undefined;
}

/** The settings of a stop agent's training. */
export interface StopAgentSettings {
  readonly seed: number;
  readonly config: StopAgentConfig;
  readonly problem: StopProblem;
}

/**
 * Builds the learning problem of a stop agent from threads and a detector's judgements of them.
 * @param options.demonstrations labelled threads; their judgements become expert trajectories
 * @param options.environment threads that the agent roams; no label is read. Those under `config.minPosts` are left out
 * @param options.sequences judgements of the demonstration threads, by thread id; of those of the environment, too, where
 *   they are pseudo-labelled
 * @param options.tableOf the states of threads; decisions must be made on states built alike
 * @param options.queriesAt queries where an agent stops after so many posts; one unless given
 * @param options.costOf the user's cost of a prediction on a thread after so many posts; none unless given
 * @throws InputError when a demonstration thread has no label or no judgements, or judgements in other labels
 */
export async function buildStopProblem(options: {
  demonstrations: readonly Thread[];
  environment: readonly Thread[];
  sequences: ReadonlyMap<string, JudgementSequence>;
  task: Task;
  tableOf: (threads: readonly Thread[]) => Promise<StateTable>;
  queriesAt?: ((posts: number) => number) | undefined;
  costOf?: StopCost;
  config: StopAgentConfig;
  seed: number;
}): Promise<StopProblem> {
  const { task, tableOf, config, seed, queriesAt = () => 1, costOf = null } = options;
  const judged = options.demonstrations.map((thread) => judgedThread(thread, { ...options, task }));
  const longEnough = (thread: Thread) => thread.posts.length >= config.minPosts;
  const environment = options.environment.filter(longEnough);
  const threads = [...options.demonstrations, ...environment];
  const placeOf = new Map(threads.map(({ id }, place) => [id, place]));
  // Of a thread of the table, as all below are.
  const place = (id: string) => Number(placeOf.get(id));
  const random = Random.seeded({ seed, purpose: 'demonstrations' });
  const demonstrations = selectDemonstrations(demonstrationsOf(judged, config.trajectories), config.trajectories, {
    weights: config.imitation,
    shuffle: (length) => random.permutation(length),
  });
  const table = await tableOf(threads);
  const withGold = config.task.control === 'none' ? judged : shuffledLabels(judged, seed);
  const guessed = readsPseudoLabels(config) ? environment.flatMap((thread) => pseudoLabelled(thread, options)) : [];
  const labelled = [...withGold, ...guessed];
  return {
    table,
    environment: Int32Array.from(environment, ({ id }) => place(id)),
    demonstrations: demonstrations.map(({ expert, threadId, stopStep }) => {
      const thread = place(threadId);
      // An expert may stop at any post; the agent follows at its next step.
      return { expert, thread, stopStep: table.postsSeen[thread].findIndex((posts) => posts > stopStep) };
    }),
    labelled: new Map(
      labelled
        .filter(({ thread }) => longEnough(thread))
        .map((judgedThread) => {
          const row = place(judgedThread.thread.id);
          const postsSeen = table.postsSeen[row];
          return [row, labelledThread(judgedThread, { all: labelled, postsSeen, queriesAt, costOf })];
        }),
    ),
  };
}

/** The cost of predicting a label after so many posts of a thread. */
export type StopCost = (decision: { thread: Thread; postsUsed: number; gold: number; predicted: number }) => number;

/** Whether an agent learns from the judgements of the environment's threads as if they were labels. */
export function readsPseudoLabels({ algorithm, task, imitation }: StopAgentConfig): boolean {
  const reads =
    algorithm === 'exact-policy-gradient' ||
    algorithm === 'settled' ||
    (algorithm === 'imitation' && imitation.taskWeight > 0);
  return reads && task.environment === 'pseudo-labelled';
}

/** A labelled thread with its judgements. */
export interface JudgedDemonstration {
  readonly thread: Thread;
  readonly sequence: JudgementSequence;
  /** Index into the task's labels. */
  readonly label: number;
}

/** @throws InputError when the thread has no label or no judgements, or judgements in other labels */
export function judgedThread(
  thread: Thread,
  { sequences, task }: { sequences: ReadonlyMap<string, JudgementSequence>; task: Task },
): JudgedDemonstration {
  const sequence = sequences.get(thread.id);
  const label = checkedGoldLabel(task, thread);
  if (sequence === undefined || label === null)
    throw new InputError(
      `thread ${JSON.stringify(thread.id)} is to demonstrate and has no ${label === null ? `label of the task ${task.name}` : 'judgements'}; give labelled threads that the detector judged`,
    );
  assertLabelsOf(task, sequence);
  return { thread, sequence, label };
}

/** The null control: every label goes to a thread drawn by chance. */
function shuffledLabels(judged: readonly JudgedDemonstration[], seed: number): JudgedDemonstration[] {
  const order = Random.seeded({ seed, purpose: 'shuffled labels' }).permutation(judged.length);
  return judged.map((thread, index) => ({ ...thread, label: judged[order[index]].label }));
}

/** A thread with the label of its last judgement; none where that gives no label. @throws InputError without judgements */
function pseudoLabelled(
  thread: Thread,
  { sequences, task }: { sequences: ReadonlyMap<string, JudgementSequence>; task: Task },
): JudgedDemonstration[] {
  const sequence = sequences.get(thread.id);
  if (sequence === undefined)
    throw new InputError(
      `thread ${JSON.stringify(thread.id)} of the environment is to be pseudo-labelled and has no judgements; let the detector judge it`,
    );
  assertLabelsOf(task, sequence);
  const label = sequence.predicted[sequence.predicted.length - 1];
  return label < 0 ? [] : [{ thread, sequence, label }];
}

/** A thread longer than its judgements keeps the last one. */
function labelledThread(
  { thread, sequence, label }: JudgedDemonstration,
  options: {
    all: readonly JudgedDemonstration[];
    postsSeen: Int32Array;
    queriesAt: (posts: number) => number;
    costOf: StopCost | null;
  },
): LabelledThread {
  const { all, postsSeen, queriesAt, costOf } = options;
  const { predicted, probabilities, labels } = sequence;
  const judged = Array.from(postsSeen, (posts) => Math.min(posts, predicted.length) - 1);
  const right = Uint8Array.from(judged, (index) => Number(predicted[index] === label));
  const withLabel = all.filter((other) => other.label === label).length;
  return {
    right,
    // A detector without probabilities is as sure as it says.
    probability: Float32Array.from(judged, (index, step) => {
      const probability = probabilities[index * labels.length + label];
      return Number.isNaN(probability) ? right[step] : probability;
    }),
    isFinal: Uint8Array.from(judged, (index) => Number(predicted[index] === predicted[predicted.length - 1])),
    shareSeen: Float32Array.from(postsSeen, (posts) => posts / thread.posts.length),
    queries: Float32Array.from(postsSeen, queriesAt),
    weight: all.length / (labels.length * withLabel),
    costs:
      costOf === null
        ? undefined
        : { expected: Float32Array.from(judged, expectedCost), decided: Float32Array.from(judged, decidedCost) },
  };

  function decidedCost(index: number, step: number): number {
    return costOf?.({ thread, postsUsed: postsSeen[step], gold: label, predicted: predicted[index] }) ?? 0;
  }

  /** Over the labels, with the probabilities of the judgement. */
  function expectedCost(index: number, step: number): number {
    const row = probabilities.subarray(index * labels.length, (index + 1) * labels.length);
    if (row.some(Number.isNaN)) return decidedCost(index, step);
    const costOfLabel = (predicted: number) =>
      costOf?.({ thread, postsUsed: postsSeen[step], gold: label, predicted }) ?? 0;
    return row.reduce((sum, probability, index) => sum + probability * costOfLabel(index), 0);
  }
}
