import { join } from 'node:path';
import type { StateTable } from '../../envs/state-table.ts';
import { LocalDetector } from '../../experts/detectors/local/local-detector.ts';
import { type Student, studentFeatureCount, studentFeatures } from '../../experts/detectors/local/student.ts';
import { canonicalJson } from '../../src/content-hash.ts';
import type { Thread } from '../../src/data/thread.ts';
import { stateTableOf } from '../../trainers/stop-agent/states.ts';
import type { Cache } from './cache.ts';
import { type Experiment, taskOf } from './experiment.ts';

/** Everything that states are made from. */
export interface StateMaterials {
  readonly experiment: Experiment;
  readonly cache: Cache;
  readonly student: Student | null;
}

/** The table of these threads' states. */
export function statesOf(
  threads: readonly Thread[],
  { experiment, cache, student }: StateMaterials,
): Promise<StateTable> {
  const { embeddings } = cache;
  return stateTableOf(threads, {
    posts:
      experiment.state.posts === 'sum'
        ? { dimensions: embeddings.dimensions, embed: (texts) => embeddings.embed(texts) }
        : null,
    features:
      student === null
        ? null
        : {
            count: studentFeatureCount(taskOf(experiment)),
            of: async (thread) =>
              student.heldOut.get(thread.id) ?? studentFeatures(student.reader, thread, thread.posts.length),
          },
  });
}

/** Identifies what states are made from. A policy makes no sense on states of another kind. */
export function stateIdentityOf({ experiment, cache, student }: StateMaterials): string {
  return canonicalJson({
    encoder: experiment.state.posts === 'sum' ? cache.embeddings.identityHash.slice(0, 16) : null,
    posts: experiment.state.posts,
    student: student?.reader.options.modelSha256 ?? null,
  });
}

/** The student that a run was trained with; null where it has none. */
export async function studentOfRun(directory: string, experiment: Experiment): Promise<Student | null> {
  if (!experiment.state.student) return null;
  return { reader: await LocalDetector.load({ path: join(directory, 'student.json') }), heldOut: new Map() };
}
