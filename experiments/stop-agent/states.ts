import { type PolicyNetwork, stopProbabilitiesOf } from '../../checkpoints/policy/network.ts';
import type { PolicyDefinition } from '../../checkpoints/policy/policy.ts';
import { policyStates, type Replay, replay } from '../../checkpoints/policy/replay.ts';
import {
  columnsOf,
  type FieldName,
  readsField,
  type SeenPost,
  type StateField,
  stateFields,
} from '../../checkpoints/policy/state-fields.ts';
import type { StateTable } from '../../envs/state-table.ts';
import { type Student, studentProbabilities } from '../../experts/detectors/local/student.ts';
import type { JudgementSequence } from '../../experts/judgement-sequence.ts';
import { queriedLengths } from '../../experts/prefix-schedule.ts';
import { canonicalJson } from '../../src/content-hash.ts';
import { tellsPostCount } from '../../src/data/post-pooling.ts';
import type { Thread } from '../../src/data/thread.ts';
import { actionTexts, stateTableOf } from '../../trainers/stop-agent/states.ts';
import type { Cache } from './cache.ts';
import { decide, type SystemDecisions, type TestThread, testThreads } from './decisions.ts';
import { type Experiment, taskOf } from './experiment.ts';
import { agentQueries, decidedBy, limitsOf, scheduleOf } from './policy-settings.ts';
import { type ReadThread, seenPostsOf } from './scored-thread.ts';

/*
 * The state fields of an experiment's agent and their numbers for whole threads. Training tables, tests and policies are made from them.
 */

/** Everything that states are made from. */
export interface StateMaterials {
  readonly experiment: Experiment;
  readonly cache: Cache;
  readonly student: Student | null;
}

type Sequences = ReadonlyMap<string, JudgementSequence>;

/** The fields of the agent's state. */
function agentFields({ state }: Experiment): FieldName[] {
  const { posts, student, observesDetector } = state;
  return [
    ...(posts === 'none' ? [] : (['posts'] as const)),
    ...(posts !== 'none' && tellsPostCount(posts) ? (['posts seen'] as const) : []),
    ...(student ? (['student'] as const) : []),
    ...(observesDetector ? (['judgement'] as const) : []),
  ];
}

/** Fields by name, made from the materials of a run. */
export async function fieldsOf(names: readonly FieldName[], materials: StateMaterials): Promise<StateField[]> {
  const { experiment, cache } = materials;
  const { labels } = taskOf(experiment);
  const { posts: pooling } = experiment.state;
  if (pooling === 'none' || !names.includes('posts')) return stateFields(names, { labels, posts: null });
  const continued = await cache.embeddings.embed([actionTexts[0]]);
  return stateFields(names, { labels, posts: { dimensions: cache.embeddings.dimensions, pooling, continued } });
}

/**
 * The posts of a thread with what is known at each: everything that fields may read.
 * @param known.sequence its judgements, where the agent observes its detector or rules are tried
 * @param known.fields those that are read: posts are embedded for the field `posts` alone
 */
export async function seenPosts(
  thread: Thread,
  {
    student,
    cache,
    sequence,
    fields,
  }: Pick<StateMaterials, 'student' | 'cache'> & {
    sequence: JudgementSequence | undefined;
    fields: readonly Pick<StateField, 'name'>[];
  },
): Promise<SeenPost[]> {
  const embeddings = readsField(fields, 'posts')
    ? await cache.embeddings.embed(thread.posts.map(({ text }) => text))
    : null;
  if (student === null) return seenPostsOf(thread, { sequence, embeddings, student: [] });
  const { heldOut, reader } = student;
  const rows = heldOut.get(thread.id) ?? (await studentProbabilities(reader, thread));
  const width = reader.labels.length;
  const probabilities = thread.posts.map((_, index) => [...rows.subarray(index * width, (index + 1) * width)]);
  return seenPostsOf(thread, { sequence, embeddings, student: probabilities });
}

/** A trained agent as a policy. */
export async function learntPolicy(
  network: PolicyNetwork,
  materials: StateMaterials & { threshold: number },
): Promise<PolicyDefinition> {
  const { experiment, threshold } = materials;
  return {
    task: decidedBy(taskOf(experiment)),
    fields: await fieldsOf(agentFields(experiment), materials),
    queries: agentQueries(experiment),
    score: (states) => stopProbabilitiesOf(network, states),
    threshold,
    limits: limitsOf(experiment),
  };
}

/**
 * Decides labelled threads by policies, and prepares the threads for rules.
 * @returns with the scores at every post by the first policy, in the order of the threads
 * @throws InputError where they were judged with other labels than the task's
 */
export async function decideByPolicies(
  policies: Readonly<Record<string, PolicyDefinition>>,
  threads: readonly Thread[],
  materials: StateMaterials & { sequences: Sequences },
): ReturnType<typeof decideRead> {
  const { experiment, sequences } = materials;
  const fields = Object.values(policies).flatMap((policy) => policy.fields);
  async function* read() {
    for (const thread of threads) {
      const sequence = sequences.get(thread.id)!;
      yield { thread, sequence, inputs: await seenPosts(thread, { ...materials, sequence, fields }) };
    }
  }
  return decideRead(policies, read(), experiment);
}

/** Decides labelled threads that are read already, as `decideByPolicies` does. */
export async function decideRead(
  policies: Readonly<Record<string, PolicyDefinition>>,
  threads: AsyncIterable<ReadThread & { readonly sequence: JudgementSequence }>,
  experiment: Experiment,
): Promise<{ tested: TestThread[]; systems: SystemDecisions[]; scores: Float32Array[] }> {
  const task = taskOf(experiment);
  const all = Object.entries(policies);
  const replays: Replay[][] = all.map(() => []);
  const tested: TestThread[] = [];
  for await (const { thread, sequence, inputs } of threads) {
    const [plain] = testThreads([thread], { sequences: new Map([[thread.id, sequence]]), task });
    const confidence = () => inputs.map(({ student }) => Math.max(...(student ?? [])));
    tested.push({ ...plain, studentConfidence: experiment.state.student ? confidence() : null });
    for (const [place, [, policy]] of all.entries()) replays[place].push(replay(policy, inputs));
  }
  const systems = all.map(([name, { queries: plan }], place) => {
    // Whether a prediction is an alert may have taken queries that were not planned.
    const stops = replays[place].map(({ stop, queries }) => (task.alerts === undefined ? stop : { ...stop, queries }));
    return decide(name, tested, stops, plan);
  });
  return { tested, systems, scores: replays[0].map(({ scores }) => scores) };
}

/** The table of these threads' states. */
export async function statesOf(
  threads: readonly Thread[],
  materials: StateMaterials & { sequences: Sequences },
): Promise<StateTable> {
  const { experiment, sequences, cache } = materials;
  const { posts } = experiment.state;
  const { embeddings } = cache;
  const names = agentFields(experiment).filter((name) => name !== 'posts');
  const fields = await fieldsOf(names, materials);
  const queries = agentQueries(experiment);
  return stateTableOf(threads, {
    posts:
      posts === 'none'
        ? null
        : { dimensions: embeddings.dimensions, embed: (texts) => embeddings.embed(texts), pooling: posts },
    features: fields.length === 0 ? null : { count: columnsOf(fields), of: featuresOf },
    postsSeen: stepsOf(experiment),
  });

  async function featuresOf(thread: Thread): Promise<Float32Array> {
    const posts = await seenPosts(thread, { ...materials, sequence: sequences.get(thread.id), fields });
    return policyStates({ fields, queries }, posts);
  }
}

/** Posts seen at each step of a thread of so many posts; undefined where there is a step at every post. */
function stepsOf(experiment: Experiment) {
  const schedule = scheduleOf(experiment);
  if (schedule === null || experiment.state.actsAt === 'every-post') return undefined;
  return (posts: number) => {
    const lengths = queriedLengths({ schedule, posts: Math.min(posts, experiment.maxJudgedPosts) });
    return lengths.at(-1) === posts ? lengths : [...lengths, posts];
  };
}

/** Identifies what states are made from. A policy makes no sense on states of another kind. */
export function stateIdentityOf({ experiment, cache, student }: StateMaterials): string {
  const schedule = scheduleOf(experiment);
  return canonicalJson({
    encoder: experiment.state.posts === 'none' ? null : cache.embeddings.identityHash.slice(0, 16),
    posts: experiment.state.posts,
    student: student?.reader.options.modelSha256 ?? null,
    ...(schedule !== null && { judgement: { schedule, actsAt: experiment.state.actsAt } }),
  });
}
