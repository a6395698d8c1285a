import { selectBackend } from '../../src/tensor/backend.ts';
import type { BackendName } from '../../src/tensor/backend-names.ts';
import { timeTrainingStep } from './time-training-step.ts';

export interface Timing {
  readonly device: string | null;
  /** Milliseconds of one run's iteration; null if the backend does not work. */
  readonly iterationMs: number | null;
  readonly problem: string | null;
}

/** Times an iteration on a backend, which stays current. */
export async function timeBackend(name: BackendName, options: { dimensions: number }): Promise<Timing> {
  try {
    const { device } = await selectBackend(name);
    return { device, iterationMs: await timeTrainingStep(options), problem: null };
  } catch (error) {
    return { device: null, iterationMs: null, problem: error instanceof Error ? error.message : String(error) };
  }
}
