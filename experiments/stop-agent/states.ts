import type { StateTable } from '../../envs/state-table.ts';
import { type Student, studentFeatures } from '../../experts/detectors/local/student.ts';
import type { JudgementSequence } from '../../experts/judgement-sequence.ts';
import { type PrefixSchedule, queriedLengths } from '../../experts/prefix-schedule.ts';
import { canonicalJson, sha256 } from '../../src/content-hash.ts';
import { lastJudgementFeatureCount, lastJudgementFeatures } from '../../src/data/last-judgement.ts';
import { tellsPostCount } from '../../src/data/post-pooling.ts';
import { studentFeatureCount } from '../../src/data/student-features.ts';
import type { Thread } from '../../src/data/thread.ts';
import { type Projection, projected } from '../../src/tensor/principal-components.ts';
import { stateTableOf } from '../../trainers/stop-agent/states.ts';
import type { Cache } from './cache.ts';
import { type Experiment, taskOf } from './experiment.ts';

/** Everything that states are made from. */
export interface StateMaterials {
  readonly experiment: Experiment;
  readonly cache: Cache;
  readonly student: Student | null;
  /** To the principal components of pooled posts; null where the agent sees posts whole, or none. */
  readonly projection: Projection | null;
  /** When the detector is queried while the agent reads; null where the agent does not observe it. */
  readonly schedule: PrefixSchedule | null;
}

/** What is known of some threads beyond their posts. */
export interface ThreadKnowledge {
  /** The judgements of each thread, as far as they are queried; only read where the agent observes its detector. */
  readonly sequences: ReadonlyMap<string, JudgementSequence>;
  /** Makes a step of every post, also where the agent decides at some only. */
  readonly everyPost?: boolean;
  /** Leaves the projection out: the states that an exported policy is given, which projects them itself. */
  readonly beforeProjection?: boolean;
}

/** The table of these threads' states. @throws Error where a thread's judgements are needed and missing */
export function statesOf(threads: readonly Thread[], settings: StateMaterials & ThreadKnowledge): Promise<StateTable> {
  const { experiment, student, schedule, sequences, everyPost = false } = settings;
  const { posts } = experiment.state;
  const { labels } = taskOf(experiment);
  const parts: { count: number; of: (thread: Thread) => Promise<Float32Array> }[] = [];
  if (posts !== 'none' && tellsPostCount(posts)) parts.push({ count: 1, of: async (thread) => logPostCounts(thread) });
  if (student !== null)
    parts.push({
      count: studentFeatureCount(labels.length),
      of: async (thread) =>
        student.heldOut.get(thread.id) ?? studentFeatures(student.reader, thread, thread.posts.length),
    });
  if (schedule !== null)
    parts.push({
      count: lastJudgementFeatureCount(labels.length),
      of: async ({ id, posts }) => {
        const sequence = sequences.get(id);
        if (sequence === undefined)
          throw new Error(`the agent observes the judgements of thread ${id}, and there are none`);
        const lengths = queriedLengths({ schedule, posts: Math.min(posts.length, sequence.predicted.length) });
        return lastJudgementFeatures(sequence, { labels: labels.length, queriedLengths: lengths, posts: posts.length });
      },
    });
  return stateTableOf(threads, {
    posts: posts === 'none' ? null : { ...embeddingOf(settings), pooling: posts },
    features: parts.length === 0 ? null : sideBySide(parts),
    postsSeen: schedule === null || everyPost ? undefined : stepsOf({ experiment, schedule }),
  });
}

/** What each post is embedded by: projecting posts and actions is projecting their pooled vectors, because both are linear. */
function embeddingOf({ cache, projection, beforeProjection = false }: StateMaterials & ThreadKnowledge) {
  const { embeddings } = cache;
  if (projection === null || beforeProjection)
    return { dimensions: embeddings.dimensions, embed: (texts: readonly string[]) => embeddings.embed(texts) };
  return {
    dimensions: projection.components,
    embed: async (texts: readonly string[]) => projected(await embeddings.embed(texts), projection),
  };
}

function logPostCounts({ posts }: Thread): Float32Array {
  return Float32Array.from(posts, (_, index) => Math.log(index + 1));
}

/** Posts seen at each step of a thread of so many posts; undefined where there is a step at every post. */
function stepsOf({ experiment, schedule }: { experiment: Experiment; schedule: PrefixSchedule }) {
  if (experiment.state.actsAt === 'every-post') return undefined;
  return (posts: number) => {
    const lengths = queriedLengths({ schedule, posts: Math.min(posts, experiment.maxJudgedPosts) });
    return lengths.at(-1) === posts ? lengths : [...lengths, posts];
  };
}

function sideBySide(parts: readonly { count: number; of: (thread: Thread) => Promise<Float32Array> }[]) {
  const count = parts.reduce((sum, part) => sum + part.count, 0);
  return {
    count,
    async of(thread: Thread) {
      const rows = new Float32Array(thread.posts.length * count);
      let from = 0;
      for (const part of parts) {
        const own = await part.of(thread);
        for (let post = 0; post < thread.posts.length; post++)
          rows.set(own.subarray(post * part.count, (post + 1) * part.count), post * count + from);
        from += part.count;
      }
      return rows;
    },
  };
}

/** Identifies what states are made from. A policy makes no sense on states of another kind. */
export function stateIdentityOf({ experiment, cache, student, projection, schedule }: StateMaterials): string {
  return canonicalJson({
    encoder: experiment.state.posts === 'none' ? null : cache.embeddings.identityHash.slice(0, 16),
    posts: experiment.state.posts,
    student: student?.reader.options.modelSha256 ?? null,
    ...(projection !== null && { projection: sha256([...projection.weights]) }),
    ...(schedule !== null && { judgement: { schedule, actsAt: experiment.state.actsAt } }),
  });
}
