/** The controls and reports of a long piece of work, passed whole to everything that the work calls. */
export interface WorkContext {
  /** Aborted when the user wants the work to stop. */
  readonly signal: AbortSignal;
  /** `done` of `total` steps of a stage are finished; `note` adds a remark. */
  readonly onProgress: (stage: string, done: number, total: number, note?: string) => void;
  /** A line that the user should read, such as "resuming at iteration 200". */
  readonly onNote: (line: string) => void;
  /** The longest wait that an endpoint may ask for, in ms; null for the configured one. It never changes a result. */
  readonly maxWaitMs: number | null;
}

/** A context without listeners or limits; `parts` replace some of them. */
export function workContext(parts: Partial<WorkContext> = {}): WorkContext {
  return { signal: neverAborted, onProgress: () => {}, onNote: () => {}, maxWaitMs: null, ...parts };
}

/** The context of a part of the work, whose name precedes each of its stages. */
export function within(context: WorkContext, part: string): WorkContext {
  return {
    ...context,
    onProgress: (stage, done, total, note) => context.onProgress(`${part}: ${stage}`, done, total, note),
  };
}

const neverAborted = new AbortController().signal;
