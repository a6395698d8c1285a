import type { RunDirectory } from '../../checkpoints/run-directory.ts';
import { sha256 } from '../../src/content-hash.ts';
import type { Thread } from '../../src/data/thread.ts';
import { InputError } from '../../src/errors.ts';
import type { WorkContext } from '../../src/work-context.ts';
import { missingThreads, type PartItem, partItem, partsFileName, readParts } from '../run/parts-file.ts';
import { experimentSchema } from './experiment.ts';
import { loadData, type Parts, splitParts, threadsHash } from './parts.ts';

/**
 * Identities of the threads that a run learnt from: those of its detector, its demonstrations and its environment, and those
 * that its settings may have been chosen on.
 * @throws InputError for a run of an earlier version, which did not note them, whose data is no longer there
 */
export async function trainedThreads(run: RunDirectory): Promise<ReadonlySet<string>> {
  const parts = await partsOfRun(run);
  const learnt = [parts.detector, parts.demonstrations, parts.environment, parts.development].flat();
  return new Set(learnt.map(({ identity }) => identity));
}

/**
 * The test threads of a run, looked up by their hashes.
 * @param options.data where the data is now; null for the place that the run's configuration names
 * @throws InputError that names the threads which are missing or were changed
 */
export async function testThreadsOfRun(
  run: RunDirectory,
  { data, context }: { data: string | null; context: WorkContext },
): Promise<Thread[]> {
  const saved = run.readConfig(experimentSchema);
  const experiment = data === null ? saved : { ...saved, data: { ...saved.data, threads: data } };
  const { test } = await partsOfRun(run);
  const threads = await loadData(experiment, context.onNote);
  const missing = missingThreads(test, threads);
  if (missing !== null)
    throw new InputError(
      `${experiment.data.threads ?? 'the synthetic stream'} lacks ${missing.count} of the ${test.length} threads that ${run.path} was tested on, or they were changed: ${missing.ids}. Restore the file, or say where it is with --data`,
    );
  const byHash = new Map(threads.map((thread) => [sha256(thread), thread]));
  return test.flatMap((item) => byHash.get(item.sha256) ?? []);
}

type StopAgentParts = Readonly<Record<keyof Parts, readonly PartItem[]>>;

/** Where a run has no such file, an earlier version made it, and the split is made again from the same data. */
async function partsOfRun(run: RunDirectory): Promise<StopAgentParts> {
  const noted = readParts(run);
  if (noted !== null) {
    const { detector = [], demonstrations = [], environment = [], test = [], development = [] } = noted;
    return { detector, demonstrations, environment, test, development };
  }
  const experiment = run.readConfig(experimentSchema);
  const { seed, hashes } = run.readRecord();
  const advice = `${run.path} has no ${partsFileName} (an earlier version made it), so its threads are found by splitting its data again`;
  let threads: Thread[];
  try {
    threads = await loadData(experiment, () => {});
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    throw new InputError(`${advice}, and that cannot be read: ${error.message}. Restore the file`, { cause: error });
  }
  if (threadsHash(threads) !== hashes.data)
    throw new InputError(
      `${advice}, and ${experiment.data.threads ?? 'the synthetic stream'} is no longer what it was; restore the file`,
    );
  const { detector, demonstrations, environment, test, development } = splitParts(threads, experiment, seed);
  const items = (part: readonly Thread[]) => part.map(partItem);
  return {
    detector: items(detector),
    demonstrations: items(demonstrations),
    environment: items(environment),
    test: items(test),
    development: items(development),
  };
}
