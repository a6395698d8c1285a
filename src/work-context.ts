/** What a long piece of work is told and tells. Passed whole to everything that the work calls. */
export interface WorkContext {
  /** Aborted when the user wants the work to stop. */
  readonly signal: AbortSignal;
  /** `done` of `total` steps of a stage are finished; `note` says what else is worth knowing of them. */
  readonly onProgress: (stage: string, done: number, total: number, note?: string) => void;
  /** A line that the user should read, such as "resuming at iteration 200". */
  readonly onNote: (line: string) => void;
  /**
   * Somebody watches how well the training does: told now and then what was measured, by name, the most telling first. Null
   * where nobody does, so that nothing is computed for it. It never changes what is trained.
   */
  readonly onMeasured: ((measured: Readonly<Record<string, number>>) => void) | null;
  /** The longest wait that an endpoint may ask for, in ms; null: as configured. It decides when work stops, never what it does. */
  readonly maxWaitMs: number | null;
}

/** A context that nobody listens to and nothing stops; `parts` replace what somebody does care for. */
export function workContext(parts: Partial<WorkContext> = {}): WorkContext {
  return { signal: neverAborted, onProgress: () => {}, onNote: () => {}, onMeasured: null, maxWaitMs: null, ...parts };
}

/** The context of a part of the work, whose name stands before each of its stages. */
export function within(context: WorkContext, part: string): WorkContext {
  return {
    ...context,
    onProgress: (stage, done, total, note) => context.onProgress(`${part}: ${stage}`, done, total, note),
  };
}

const neverAborted = new AbortController().signal;
