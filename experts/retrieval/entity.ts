import type { TextSpan } from './sentences.ts';

/** A name in a text, with how sure the recogniser is of it, 0 to 1. */
export interface Entity extends TextSpan {
  /** PER, LOC, … as the model calls it. */
  readonly type: string;
  readonly confidence: number;
}
