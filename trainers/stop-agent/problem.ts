import type { StateTable } from '../../envs/state-table.ts';
import type { ExpertName } from '../../experts/trajectories.ts';
import type { StopAgentConfig } from './config.ts';

/** What one stop agent learns from. */
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
  /** At each step: 1 where the judgement is right, and its probability of the right label; [posts] each. */
  readonly right: Uint8Array;
  readonly probability: Float32Array;
  /** What a decision on this thread counts: its label's share of all labels over that of the threads that have it. */
  readonly weight: number;
}

/** One member of a population: its own seed, options and problem. */
export interface StopMember {
  readonly seed: number;
  readonly config: StopAgentConfig;
  readonly problem: StopProblem;
}
