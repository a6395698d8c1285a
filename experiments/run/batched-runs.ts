import { groupBy } from '../../src/data/group-by.ts';
import type { RunGroup, Trial, TrialOutcome } from './trial.ts';

/** A trial and what became of it. */
export interface EndedTrial<Of extends Trial> {
  readonly trial: Of;
  readonly outcome: TrialOutcome;
}

/**
 * Runs trials in batches. A trial that fails does not stop the others.
 * @param options.isDone whether a trial needs nothing more
 * @param options.onEnded told once for all trials of a batch, which end together
 */
export async function runInBatches<Of extends Trial>(
  trials: readonly Of[],
  options: {
    batchedRuns: number;
    run: RunGroup;
    isDone?: (trial: Of) => boolean;
    onEnded: (ended: readonly EndedTrial<Of>[]) => void;
  },
): Promise<void> {
  const { batchedRuns: size, run, isDone = () => false, onEnded } = options;
  await Promise.all(
    // Which trials are together depends on all of them, and not on what is finished: a command that was killed goes on with the
    // same batches.
    inBatches(trials, { size }).map(async (batch) => {
      const left = batch.filter((trial) => !isDone(trial));
      const done = batch.filter((trial) => !left.includes(trial));
      if (done.length > 0) onEnded(done.map((trial) => ({ trial, outcome: { how: 'finished' } })));
      if (left.length === 0) return;
      const outcomes = await outcomesOf(left, run);
      onEnded(left.map((trial, index) => ({ trial, outcome: outcomes[index] })));
    }),
  );
}

/**
 * One member that diverges or is refused ends the program that a whole batch shares. Its halves then go on apart, so that most of the
 * others stay together.
 */
async function outcomesOf(trials: readonly Trial[], run: RunGroup): Promise<readonly TrialOutcome[]> {
  const together = await run(trials);
  if (trials.length === 1 || together.every(({ how }) => how !== 'failed')) return together;
  const half = Math.ceil(trials.length / 2);
  const halves = await Promise.all([trials.slice(0, half), trials.slice(half)].map((own) => outcomesOf(own, run)));
  return halves.flat();
}

/**
 * Trials in groups of one shape, each as large as the size allows, in the order of their first trials. A trial whose shape is
 * null is alone. Trials with one detector are together as far as they can be: a program that waits for the detectors of
 * another one then waits for few.
 */
export function inBatches<Of extends Pick<Trial, 'shape' | 'detectorKey'>>(
  trials: readonly Of[],
  { size }: { size: number },
): Of[][] {
  const groups: Of[][] = [];
  const open = new Map<string, Of[]>();
  const byDetector = () => [...groupBy(trials, ({ detectorKey }) => detectorKey).values()].flat();
  for (const trial of size === 1 ? trials : byDetector()) {
    const { shape } = trial;
    const group = shape === null ? undefined : open.get(shape);
    if (group !== undefined && group.length < size) {
      group.push(trial);
      continue;
    }
    const started = [trial];
    groups.push(started);
    if (shape !== null) open.set(shape, started);
  }
  return groups;
}
