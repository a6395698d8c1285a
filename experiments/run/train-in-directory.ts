import { setImmediate } from 'node:timers/promises';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { z } from 'zod';
import { openMetricsLog } from '../../checkpoints/metrics-log.ts';
import type { RunDirectory } from '../../checkpoints/run-directory.ts';
import { type HyperParameter, openTensorBoard } from '../../checkpoints/tensorboard.ts';
import { InputError } from '../../src/errors.ts';
import type { WorkContext } from '../../src/work-context.ts';
import type { Metrics, Trainer } from '../../trainers/trainer.ts';
import { loadTrainer, saveTrainer } from '../../trainers/trainer-checkpoint.ts';
import { isPlainObject } from '../config/overrides.ts';

/** Keeps this many checkpoints of a run. */
const checkpointsKept = 2;
/** A heap that may grow to three times as much. */
const smallHeapBytes = 2 ** 28;

/**
 * The loop that runs any trainer in a run directory: goes on from the last checkpoint, logs every iteration, saves checkpoints, tells
 * progress, and stops where the signal says so.
 * @param options.identity what the states are made of; a checkpoint of other states is refused
 * @param options.afterIteration looks at what the iteration did and returns the metrics to be logged in place of the
 *   trainer's; it runs before the checkpoint is written
 * @returns false when the signal stopped the training before its last iteration
 * @throws InputError when a checkpoint does not fit, or the training diverged
 */
export async function trainInDirectory(
  trainer: Trainer<unknown>,
  options: {
    run: RunDirectory;
    identity: string;
    checkpointEvery: number;
    context: WorkContext;
    afterIteration?: (metrics: Metrics) => Promise<Metrics>;
  },
): Promise<boolean> {
  const { run, identity, checkpointEvery, context, afterIteration = async (metrics) => metrics } = options;
  const { signal, onProgress, onNote } = context;
  const resumeStep = restoreLatest(trainer, { run, identity });
  if (resumeStep !== null) onNote(`resuming ${run.path} at iteration ${trainer.iteration} of ${trainer.iterations}`);
  const log = openMetricsLog(run.metricsPath, { resumeStep });
  const board = openTensorBoard(run.path, { resumeStep });
  if (resumeStep === null) board.hyperParameters(hyperParametersOf(run));
  let savedAt = trainer.iteration;
  collectRarely();
  try {
    // Asked anew each time: a selector may end before its last epoch.
    while (trainer.iteration < trainer.iterations && !signal.aborted) {
      const metrics = await afterIteration(await trainer.iterate(context));
      checkFinite(metrics, trainer.iteration);
      log.append({ step: trainer.iteration, ...metrics });
      board.scalars(trainer.iteration, metrics);
      const isLast = trainer.iteration >= trainer.iterations;
      if (isLast || trainer.iteration % checkpointEvery === 0) await checkpoint();
      onProgress('training', trainer.iteration, trainer.iterations);
      // Lets signals and the progress bar through.
      await setImmediate();
    }
    if (trainer.iteration !== savedAt) await checkpoint();
  } finally {
    log.close();
    board.close();
  }
  return trainer.iteration >= trainer.iterations;

  async function checkpoint(): Promise<void> {
    log.sync();
    const { algorithm, iteration } = trainer;
    saveTrainer(run.checkpointPath(iteration), { algorithm, identity }, await trainer.state());
    run.pruneCheckpoints({ keepLast: checkpointsKept });
    savedAt = iteration;
  }
}

/** Restores the newest checkpoint; returns its step, null where there is none. */
function restoreLatest(
  trainer: Trainer<unknown>,
  { run, identity }: { run: RunDirectory; identity: string },
): number | null {
  const latest = run.latestCheckpoint();
  if (latest === null) return null;
  const { path, step } = latest;
  const state = loadTrainer(path, { algorithm: trainer.algorithm, identity });
  try {
    trainer.restore(state);
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    throw new InputError(`${path}: ${error.message}`, { cause: error });
  }
  return step;
}

/** A policy of NaN never stops and would read as "all posts". */
function checkFinite(metrics: Metrics, iteration: number): void {
  for (const [name, value] of Object.entries(metrics))
    if (!Number.isFinite(value))
      throw new InputError(
        `the training diverged: ${name} is ${value} at iteration ${iteration}. Lower the learning rate, or use misleading: as-agent, whose loss is bounded`,
      );
}

/** The seed and every setting of the experiment that is one value, by its path. */
function hyperParametersOf(run: RunDirectory): Record<string, HyperParameter> {
  const parameters: Record<string, HyperParameter> = { seed: run.readRecord().seed };
  const collect = (value: unknown, path: string) => {
    if (typeof value === 'number' || typeof value === 'string' || typeof value === 'boolean') parameters[path] = value;
    else if (isPlainObject(value))
      for (const [key, entry] of Object.entries(value)) collect(entry, path === '' ? key : `${path}.${key}`);
  };
  collect(run.readConfig(z.unknown()), '');
  return parameters;
}

/** Trainings hold little and make much, so V8 would look for garbage several times a second. A small heap may grow first. */
function collectRarely(): void {
  if (getHeapStatistics().used_heap_size < smallHeapBytes) setFlagsFromString('--heap-growing-percent=200');
}
