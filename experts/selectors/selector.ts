import type { SparseMatrix } from '../../src/regression/sparse-matrix.ts';
import type { Random } from '../../src/tensor/random.ts';

/** A text with a weak label. */
export interface WeakLabel {
  /** The row of the text in the features. */
  readonly row: number;
  /** Index of the class that the machine predicts. */
  readonly label: number;
  /** The machine's probability of that class, 0 to 1; null if unknown. */
  readonly confidence: number | null;
}

/** A text with a gold label. */
export interface Seed {
  readonly row: number;
  readonly label: number;
}

/** The input of a selector. */
export interface SelectionTask {
  /** A row per text. */
  readonly features: SparseMatrix;
  readonly classCount: number;
  readonly items: readonly WeakLabel[];
  /** Seeds are never among the items. */
  readonly seeds: readonly Seed[];
  readonly random: Random;
}

export interface ItemScore {
  /** A higher score is better to train on. Only the order within a class counts. */
  readonly score: number;
  /** A few words for people. */
  readonly reason: string;
}

/** Scores weak labels by their value for training. */
export interface ItemSelector {
  readonly description: string;
  /** The input that the selector requires. */
  readonly needs: 'seeds' | 'confidence' | 'nothing';
  /** @returns one entry per item, in order */
  readonly score: (task: SelectionTask) => Promise<ItemScore[]>;
}
