import { join } from 'node:path';
import { buildStateTable, type StateTable } from '../../envs/state-table.ts';
import { LocalDetector } from '../../experts/detectors/local/local-detector.ts';
import { type Student, studentFeatureCount, studentFeatures } from '../../experts/detectors/local/student.ts';
import { canonicalJson } from '../../src/content-hash.ts';
import type { Thread } from '../../src/data/thread.ts';
import type { Cache } from './cache.ts';
import { type Experiment, taskOf } from './experiment.ts';

/** Everything that states are made from. */
export interface StateSource {
  readonly experiment: Experiment;
  readonly cache: Cache;
  readonly student: Student | null;
}

/** The table of these threads' states. */
export async function statesOf(
  threads: readonly Thread[],
  { experiment, cache, student }: StateSource,
): Promise<StateTable> {
  const { embeddings } = cache;
  const withPosts = experiment.state.posts === 'sum';
  const dimensions = withPosts ? embeddings.dimensions : 0;
  const vectors = withPosts
    ? await embeddings.embed(threads.flatMap((thread) => thread.posts.map(({ text }) => text)))
    : new Float32Array(0);
  const actions = withPosts ? await embeddings.embed(['Continue.', 'Stop.']) : new Float32Array(0);
  let start = 0;
  const rows = [];
  for (const thread of threads) {
    const posts = thread.posts.length;
    const features =
      student === null
        ? null
        : (student.heldOut.get(thread.id) ?? (await studentFeatures(student.reader, thread, posts)));
    rows.push({
      posts,
      embeddings: vectors.subarray(start * dimensions, (start + posts) * dimensions),
      ...(features && { features }),
    });
    start += posts;
  }
  return buildStateTable({
    threads: rows,
    dimensions,
    featureCount: student === null ? 0 : studentFeatureCount(taskOf(experiment)),
    actionEmbeddings: [actions.subarray(0, dimensions), actions.subarray(dimensions)],
  });
}

/** Identifies what states are made from. A policy makes no sense on states of another kind. */
export function stateIdentityOf({ experiment, cache, student }: StateSource): string {
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
