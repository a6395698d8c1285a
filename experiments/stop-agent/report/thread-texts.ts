import { RunDirectory } from '../../../checkpoints/run-directory.ts';
import { sha256 } from '../../../src/content-hash.ts';
import type { Thread } from '../../../src/data/thread.ts';
import { InputError } from '../../../src/errors.ts';
import { readParts } from '../../run/parts-file.ts';
import type { Experiment } from '../experiment.ts';
import { loadData } from '../parts.ts';

/** The decided threads of a run, as far as they can be read. */
export interface ReadThreads {
  /** By id; only threads that are what they were when the run read them. */
  readonly threads: ReadonlyMap<string, Thread>;
  /** Why some or all are missing; null if none is. */
  readonly problem: string | null;
}

/** Reads data sets, each once for all runs that share it. */
export function threadReader(): (run: string, experiment: Experiment) => Promise<ReadThreads> {
  const loaded = new Map<string, Promise<Map<string, Thread> | string>>();
  return async (path, experiment) => {
    const source = experiment.data.threads ?? 'the synthetic stream';
    const key = JSON.stringify([experiment.data, experiment.agent.maxPosts]);
    const known = loaded.get(key) ?? byHash(experiment);
    loaded.set(key, known);
    const items = readParts(RunDirectory.open(path))?.[experiment.evaluation.part];
    if (items === undefined)
      return nothing(
        `${path} does not say which threads it decided, because an earlier version made it; train it again`,
      );
    const all = await known;
    if (typeof all === 'string') return nothing(`${source} cannot be read: ${all}`);
    const found = items.flatMap((item) => all.get(item.sha256) ?? []);
    const missing = items.length - found.length;
    return {
      threads: new Map(found.map((thread) => [thread.id, thread])),
      problem:
        missing === 0
          ? null
          : `${missing} of ${items.length} threads of ${source} are missing or were changed since the run read them`,
    };
  };
}

function nothing(problem: string): ReadThreads {
  return { threads: new Map(), problem };
}

/** Threads by their hashes, or why there are none. */
async function byHash(experiment: Experiment): Promise<Map<string, Thread> | string> {
  try {
    const threads = await loadData(experiment, () => {});
    return new Map(threads.map((thread) => [sha256(thread), thread]));
  } catch (error) {
    if (error instanceof InputError) return error.message;
    throw error;
  }
}
