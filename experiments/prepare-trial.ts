import { createHash } from 'node:crypto';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import stringify from 'safe-stable-stringify';
import { buildStateTable, type StateTable } from '../envs/state-table.ts';
import { annotate } from '../experts/annotate.ts';
import { AnnotationStore } from '../experts/annotation-store.ts';
import { LocalDetector } from '../experts/detectors/local.ts';
import type { JudgementSequence } from '../experts/judgement-sequence.ts';
import { trainLocalDetector } from '../experts/local/train-local-detector.ts';
import { demonstrationsOf, selectDemonstrations } from '../experts/trajectories.ts';
import { formatBadItem } from '../src/data/bad-item.ts';
import { splitThreads } from '../src/data/split.ts';
import { synthesizeThreads } from '../src/data/synthetic-stream.ts';
import { rumorTask } from '../src/data/task.ts';
import type { Thread } from '../src/data/thread.ts';
import { loadThreads } from '../src/data/thread-file.ts';
import { diskError } from '../src/disk-error.ts';
import { InputError } from '../src/errors.ts';
import { Random } from '../src/tensor/random.ts';
import { createEncoder } from '../src/text/create-encoder.ts';
import { EmbeddingStore } from '../src/text/embedding-store.ts';
import type { LabelledThread, StopAgentData } from '../trainers/stop-agent-training.ts';
import {
  loadStudent,
  type Student,
  saveStudent,
  studentFeatureCount,
  studentFeatures,
  trainStudent,
} from '../trainers/student.ts';
import type { Experiment } from './experiment.ts';

export const task = rumorTask;

/** Where work that runs share is kept: embeddings, judgements and trained detectors, each under a key of its inputs. */
export interface Cache {
  readonly embeddings: EmbeddingStore;
  readonly annotations: AnnotationStore;
  readonly detectors: string;
  readonly students: string;
}

export async function openCache(directory: string, experiment: Experiment): Promise<Cache> {
  const encoder = await createEncoder(experiment.encoder);
  try {
    for (const kind of ['detectors', 'students']) mkdirSync(join(directory, kind), { recursive: true });
  } catch (error) {
    throw diskError(error, { what: `make the cache ${directory}` });
  }
  return {
    embeddings: await EmbeddingStore.open({ encoder, directory: join(directory, 'embeddings') }),
    annotations: AnnotationStore.open(join(directory, 'annotations.sqlite')),
    detectors: join(directory, 'detectors'),
    students: join(directory, 'students'),
  };
}

/** Reads the data set, or makes the synthetic one; threads are cut to what the environment shows. */
export async function loadData(experiment: Experiment, onSkip?: (line: string) => void): Promise<Thread[]> {
  const { threads: path, synthetic, skipInvalid } = experiment.data;
  const threads =
    path === null
      ? synthesizeThreads(synthetic)
      : await loadThreads(path, { skipInvalid, onSkipped: (item) => onSkip?.(`skipped ${formatBadItem(item)}`) });
  const { maxPosts } = experiment.agent;
  return threads.map((thread) =>
    thread.posts.length > maxPosts ? { ...thread, posts: thread.posts.slice(0, maxPosts) } : thread,
  );
}

export interface Parts {
  readonly detector: Thread[];
  readonly demonstrations: Thread[];
  readonly environment: Thread[];
  readonly test: Thread[];
}

/**
 * Disjoint parts, stratified by label. Threads without a label can be neither taught nor tested on: the environment takes
 * them first, and fills up with labelled ones.
 */
export function splitParts(threads: readonly Thread[], experiment: Experiment, seed: number): Parts {
  const { detector, events, demonstrations, environment, test } = experiment.split;
  const detectorEvents = typeof detector === 'number' ? [] : detector.events;
  checkEvents(threads, [...detectorEvents, ...(events ?? [])]);
  const isLabelled = (thread: Thread) => task.goldLabel(thread) !== null;
  const ofDetector = (thread: Thread) => thread.event !== null && detectorEvents.includes(thread.event);
  const ofOthers = (thread: Thread) =>
    !ofDetector(thread) && (events === null || (thread.event !== null && events.includes(thread.event)));
  const free = threads.filter((thread) => ofOthers(thread) && isLabelled(thread));
  if (free.length === 0)
    throw new InputError(
      `none of the ${threads.length} threads has a label (rumor: true or false) that demonstrations and tests could use`,
    );
  const splitSeed = experiment.split.seed ?? seed;
  const unlabelled = Random.seeded({ seed: splitSeed, purpose: 'unlabelled environment' })
    .shuffled(threads.filter((thread) => ofOthers(thread) && !isLabelled(thread)))
    .slice(0, environment);
  const parts = { demonstrations, environment: environment - unlabelled.length, test };
  const options = { seed: splitSeed, stratifyBy: (thread: Thread) => task.goldLabel(thread) };
  const split =
    typeof detector === 'number'
      ? splitThreads(free, { ...options, parts: { detector, ...parts } })
      : {
          ...splitThreads(free, { ...options, parts }),
          detector: threads.filter((thread) => ofDetector(thread) && isLabelled(thread)),
        };
  return { ...split, environment: [...split.environment, ...unlabelled] };
}

function checkEvents(threads: readonly Thread[], wanted: readonly string[]): void {
  const known = new Set(threads.flatMap(({ event }) => event ?? []));
  for (const event of wanted)
    if (!known.has(event))
      throw new InputError(
        `no thread is of the event ${JSON.stringify(event)}; ${known.size === 0 ? 'these threads have no events' : `the data has ${[...known].join(', ')}`}`,
      );
}

export interface PreparedTrial {
  readonly parts: Parts;
  readonly detector: LocalDetector;
  readonly student: Student | null;
  /** Judgements of the demonstration and test threads, by thread id. */
  readonly sequences: ReadonlyMap<string, JudgementSequence>;
  readonly data: StopAgentData;
  /** The table of other threads' states, built as the training's. */
  readonly tableOf: (threads: readonly Thread[]) => Promise<StateTable>;
  /** Names what the states are made of. */
  readonly stateIdentity: string;
  readonly counts: { readonly asked: number; readonly cached: number };
  readonly hashes: Readonly<Record<string, string>>;
}

export type PrepareProgress = (stage: string, done: number, total: number) => void;

/** Everything up to the training: split, detector, judgements, demonstrations, states. */
export async function prepareTrial(settings: {
  experiment: Experiment;
  seed: number;
  threads: readonly Thread[];
  cache: Cache;
  onProgress?: PrepareProgress;
  signal?: AbortSignal;
}): Promise<PreparedTrial> {
  const { experiment, seed, threads, cache, onProgress, signal } = settings;
  const { agent } = experiment;
  const parts = splitParts(threads, experiment, seed);
  const detector = await localDetector(settings, parts.detector);
  const { student: withStudent, studentReads } = experiment.state;
  const readsEnvironment = withStudent && studentReads === 'demonstrations-and-environment';
  const annotated = await annotate({
    threads: [...parts.demonstrations, ...(readsEnvironment ? parts.environment : []), ...parts.test],
    detector,
    store: cache.annotations,
    maxPosts: experiment.maxJudgedPosts,
    ...(onProgress && { onProgress: ({ done, total }) => onProgress('judging prefixes', done, total) }),
    ...(signal && { signal }),
  });
  const sequences = annotated.sequences;
  const demonstrating = parts.demonstrations.map((thread) => ({
    thread,
    sequence: sequences.get(thread.id)!,
    label: task.goldLabel(thread)!,
  }));

  const student = withStudent
    ? await cachedStudent(cache, {
        demonstrations: demonstrating,
        further: readsEnvironment
          ? parts.environment.map((thread) => ({ thread, sequence: sequences.get(thread.id)! }))
          : [],
        task,
        options: experiment.state.studentOptions,
        seed,
        ...(onProgress && {
          onProgress: (done: number, total: number) => onProgress('training the student', done, total),
        }),
      })
    : null;
  const tableOf = (own: readonly Thread[]) => statesOf(own, { experiment, cache, student });

  const longEnough = (thread: Thread) => thread.posts.length >= agent.minPosts;
  const environment = parts.environment.filter(longEnough);
  const tableThreads = [...parts.demonstrations, ...environment];
  const table = await tableOf(tableThreads);
  const place = new Map(tableThreads.map((thread, index) => [thread.id, index]));
  const random = Random.seeded({ seed, purpose: 'demonstrations' });
  const demonstrations = selectDemonstrations(demonstrationsOf(demonstrating, agent.trajectories), agent.trajectories, {
    weights: agent.gail,
    shuffle: (length) => random.permutation(length),
  });
  return {
    parts,
    detector,
    student,
    sequences,
    data: {
      table,
      environment: Int32Array.from(environment, ({ id }) => place.get(id)!),
      demonstrations: demonstrations.map(({ expert, threadId, stopStep }) => ({
        expert,
        thread: place.get(threadId)!,
        stopStep,
      })),
      labelled: new Map(
        demonstrating
          .filter(({ thread }) => longEnough(thread))
          .map((own) => [place.get(own.thread.id)!, labelledThread(own, demonstrating)]),
      ),
    },
    tableOf,
    stateIdentity: stateIdentityOf({ experiment, cache, student }),
    counts: annotated,
    hashes: {
      data: threadsHash(threads),
      embeddings: cache.embeddings.identityHash,
      detector: String(detector.options.modelSha256),
      annotations: sha256([...sequences.values()].map(({ threadId, predicted }) => [threadId, [...predicted]])),
    },
  };
}

interface Demonstrating {
  readonly thread: Thread;
  readonly sequence: JudgementSequence;
  readonly label: number;
}

/** A thread longer than its judgements keeps the last one. */
function labelledThread({ thread, sequence, label }: Demonstrating, all: readonly Demonstrating[]): LabelledThread {
  const { predicted, probabilities, labels } = sequence;
  const steps = Array.from(thread.posts, (_, step) => Math.min(step, predicted.length - 1));
  const right = Uint8Array.from(steps, (step) => Number(predicted[step] === label));
  const withLabel = all.filter((other) => other.label === label).length;
  return {
    right,
    // A detector without probabilities is as sure as it says.
    probability: Float32Array.from(steps, (step, index) => {
      const probability = probabilities[step * labels.length + label];
      return Number.isNaN(probability) ? right[index] : probability;
    }),
    weight: all.length / (labels.length * withLabel),
  };
}

/** Trained once for each set of options, threads and seed; kept in the cache. */
async function localDetector(
  settings: { experiment: Experiment; seed: number; cache: Cache; onProgress?: PrepareProgress; signal?: AbortSignal },
  threads: readonly Thread[],
): Promise<LocalDetector> {
  const { experiment, seed, cache, onProgress, signal } = settings;
  const options = experiment.detector;
  const path = join(cache.detectors, `${sha256({ options, seed, threads, task: task.name }).slice(0, 32)}.json`);
  if (existsSync(path)) return LocalDetector.load({ path });
  const detector = await trainLocalDetector({
    threads,
    task,
    options,
    seed,
    ...(onProgress && { onProgress: ({ done, total }) => onProgress('training the detector', done, total) }),
    ...(signal && { signal }),
  });
  detector.save(path);
  return detector;
}

/** Trained once for each set of options, judgements and seed; kept in the cache. */
async function cachedStudent(cache: Cache, settings: Parameters<typeof trainStudent>[0]): Promise<Student> {
  const { demonstrations, further, options, seed } = settings;
  const judged = [demonstrations, further].map((threads) =>
    threads.map(({ thread, sequence }) => [thread.posts.map(({ text }) => text), [...sequence.predicted]]),
  );
  const path = join(cache.students, `${sha256({ options, seed, judged, task: task.name }).slice(0, 32)}.json`);
  if (existsSync(path)) return loadStudent(path);
  const student = await trainStudent(settings);
  saveStudent(path, student);
  return student;
}

/** What states are made of. */
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
    featureCount: student === null ? 0 : studentFeatureCount(task),
    actionEmbeddings: [actions.subarray(0, dimensions), actions.subarray(dimensions)],
  });
}

/** Names what states are made of: a policy means nothing on others. */
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

/** Names the data set of a run. */
export function threadsHash(threads: readonly Thread[]): string {
  return sha256(threads);
}

function canonicalJson(value: unknown): string {
  return stringify(value) ?? 'null';
}

function sha256(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex');
}
