import type { SparseMatrix } from '../../src/regression/sparse-matrix.ts';
import type { Random } from '../../src/tensor/random.ts';

/** A text with a weak label. */
export interface WeakLabel {
  /** Row of its text in the features. */
  readonly row: number;
  /** Index of the class that the machine gave it. */
  readonly label: number;
  /** The machine's probability of that class, 0 to 1; null where it is not known. */
  readonly confidence: number | null;
}

/** A text that people labelled. */
export interface Seed {
  readonly row: number;
  readonly label: number;
}

/** What a selector scores. */
export interface SelectionTask {
  /** A row for every text. */
  readonly features: SparseMatrix;
  readonly classCount: number;
  readonly items: readonly WeakLabel[];
  /** None of them is among the items. */
  readonly seeds: readonly Seed[];
  readonly random: Random;
}

export interface ItemScore {
  /** Higher: better to train on. Only the order within a class counts. */
  readonly score: number;
  /** In a few words, for people. */
  readonly reason: string;
}

/** Says how good weak labels are to train on. */
export interface ItemSelector {
  readonly description: string;
  /** What it cannot do without. */
  readonly needs: 'seeds' | 'confidence' | 'nothing';
  /** @returns one entry an item, in order */
  readonly score: (task: SelectionTask) => Promise<ItemScore[]>;
}
