import { selectBackend } from '../../src/tensor/backend.ts';
import type { BackendName } from '../../src/tensor/backend-names.ts';
import { timeTrainingStep } from './time-training-step.ts';

/** A batch that would take longer than this for an iteration, going by the smaller one, is not timed. */
const longestMs = 5000;

export interface Timing {
  readonly device: string | null;
  /** Of all members together, by their number; a number that would take too long is missing. */
  readonly iterationMs: Readonly<Record<number, number>>;
  readonly problem: string | null;
}

/** Times an iteration of batches of these sizes on a backend, which is current afterwards where it works. */
export async function timeBackend(
  name: BackendName,
  { dimensions, sizes }: { dimensions: number; sizes: readonly number[] },
): Promise<Timing> {
  const iterationMs: Record<number, number> = {};
  try {
    const { device } = await selectBackend(name);
    let memberMs = 0;
    for (const members of sizes) {
      if (memberMs * members > longestMs) break;
      const tookMs = await timeTrainingStep({ dimensions, members });
      iterationMs[members] = tookMs;
      memberMs = tookMs / members;
    }
    return { device, iterationMs, problem: null };
  } catch (error) {
    return { device: null, iterationMs, problem: error instanceof Error ? error.message : String(error) };
  }
}
