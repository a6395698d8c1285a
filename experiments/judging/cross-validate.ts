import type { z } from 'zod';
import type { HeldOutScores } from '../../experts/detectors/local/held-out.ts';
import type { localDetectorOptionsSchema } from '../../experts/detectors/local/train-local-detector.ts';
import type { Task } from '../../src/data/task.ts';
import type { Thread } from '../../src/data/thread.ts';
import { type WorkContext, workContext } from '../../src/work-context.ts';
import { trainedDetector } from './cached-detector.ts';
import { drawnThreads } from './drawn-threads.ts';

/**
 * What the local detector is worth on threads that it has not seen: it is trained on labelled threads, fold by fold, and judges
 * those left out.
 * @throws InputError where a label has fewer than two threads, or the options are wrong
 */
export async function crossValidate(options: {
  threads: readonly Thread[];
  task: Task;
  /** So many of the labelled threads, each label in proportion. */
  limit?: number | undefined;
  /** Draws them and the folds. */
  seed: number;
  /** Of the local detector. */
  detector: z.input<typeof localDetectorOptionsSchema>;
  context?: WorkContext | undefined;
}): Promise<HeldOutScores> {
  const { task, limit, seed, detector } = options;
  const labelOf = (thread: Thread) => task.goldLabel(thread);
  const labelled = options.threads.filter((thread) => labelOf(thread) !== null);
  const threads = drawnThreads(labelled, { limit, seed, labelOf });
  const context = workContext(options.context);
  const { model } = await trainedDetector({ threads, task, options: detector, seed, context });
  return model.training.heldOut;
}
