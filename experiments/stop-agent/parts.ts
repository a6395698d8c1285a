import type { RunDirectory } from '../../checkpoints/run-directory.ts';
import { sha256OfList } from '../../src/content-hash.ts';
import { mapRecord, splitThreads } from '../../src/data/split.ts';
import { synthesizeThreads } from '../../src/data/synthetic/stream.ts';
import { isFairTest, type Thread } from '../../src/data/thread.ts';
import {
  type IndexedThread,
  indexThreadFile,
  loadIndexed,
  sourceOfThreads,
  type ThreadFacts,
  type ThreadSource,
} from '../../src/data/thread-source.ts';
import { InputError } from '../../src/errors.ts';
import { Random } from '../../src/tensor/random.ts';
import { testsOf } from '../judging/drawn-threads.ts';
import { type PartItem, readParts, threadsOfItems } from '../run/parts-file.ts';
import { type Experiment, noLabels, taskOf } from './experiment.ts';

/** The threads of an experiment. */
export interface ExperimentData extends ThreadSource {
  /** Identifies the data set. */
  readonly hash: string;
}

/** Reads the data set, or makes the synthetic one, and cuts threads to the posts that the environment shows. */
export async function openData(experiment: Experiment, onNote: (line: string) => void): Promise<ExperimentData> {
  const { data } = experiment;
  const { maxPosts } = experiment.agent;
  let longer = 0;
  const cut = (thread: Thread) => {
    if (thread.posts.length <= maxPosts) return thread;
    longer++;
    return { ...thread, posts: thread.posts.slice(0, maxPosts) };
  };
  const hash = sha256OfList();
  const indexed = async () => {
    if (data.threads !== null)
      return indexThreadFile(data.threads, {
        skipInvalid: data.skipInvalid,
        onSkipped: onNote,
        shaped: cut,
        onThread: hash.add,
      });
    const threads = synthesizeThreads(data.synthetic).map(cut);
    for (const thread of threads) hash.add(thread);
    return sourceOfThreads(threads);
  };
  const source = await indexed();
  if (longer > 0)
    onNote(`${longer} of ${source.threads.length} threads are cut after ${maxPosts} posts (agent.maxPosts)`);
  return { ...source, hash: hash.digest() };
}

export interface Parts<Of = Thread> {
  readonly detector: Of[];
  readonly demonstrations: Of[];
  readonly environment: Of[];
  readonly test: Of[];
  /** Threads on which settings are chosen; empty unless the split asks for them. */
  readonly development: Of[];
  /** Threads on which the guarantee is calibrated; empty unless the split asks for them. */
  readonly calibration: Of[];
}

/** The parts of a seed, with their threads whole. */
export async function loadParts(
  data: ThreadSource,
  { experiment, seed }: { experiment: Experiment; seed: number },
): Promise<Parts> {
  return loadWhole(data, splitParts(data.threads, experiment, seed));
}

/** Reads the threads of some parts whole, each thread once. */
export async function loadWhole<Name extends string>(
  data: ThreadSource,
  parts: Readonly<Record<Name, readonly IndexedThread[]>>,
): Promise<Record<Name, Thread[]>> {
  const loaded = await loadIndexed(data, Object.values<readonly IndexedThread[]>(parts).flat());
  return mapRecord(parts, (part) => loaded.splice(0, part.length));
}

/**
 * Disjoint parts, stratified by label unless told otherwise. Threads without a label cannot demonstrate or be tested on, so the environment and then
 * the calibration take those first and fill up with labelled ones.
 */
export function splitParts<Of extends ThreadFacts>(
  threads: readonly Of[],
  experiment: Experiment,
  seed: number,
): Parts<Of> {
  const { events, demonstrations, environment, test, development, calibration, stratify } = experiment.split;
  // A detector file is not trained here, so no thread is set aside for it.
  const task = taskOf(experiment);
  const detector = 'file' in experiment.detector ? 0 : experiment.split.detector;
  const detectorEvents = typeof detector === 'number' ? [] : detector.events;
  checkEvents(threads, [...detectorEvents, ...(events ?? [])]);
  const isLabelled = (thread: Of) => task.goldLabel(thread) !== null;
  const ofDetector = (thread: Of) => thread.event !== null && detectorEvents.includes(thread.event);
  const ofOthers = (thread: Of) =>
    !ofDetector(thread) && (events === null || (thread.event !== null && events.includes(thread.event)));
  const free = threads.filter((thread) => ofOthers(thread) && isLabelled(thread));
  if (free.length === 0) throw noLabels(`${threads.length} threads`, task, ' that demonstrations and tests could use');
  const splitSeed = experiment.split.seed ?? seed;
  const withoutLabel = Random.seeded({ seed: splitSeed, purpose: 'unlabelled environment' }).shuffled(
    threads.filter((thread) => ofOthers(thread) && !isLabelled(thread)),
  );
  const unlabelled = withoutLabel.slice(0, environment);
  const calibrated = withoutLabel.slice(environment, environment + calibration);
  // These two are the last, so that the other parts are the same threads with them and without; only a test that
  // takes the rest gets smaller.
  const labelledSizes = {
    demonstrations,
    environment: environment - unlabelled.length,
    test,
    development,
    calibration: calibration - calibrated.length,
  };
  const sizes = typeof detector === 'number' ? { detector, ...labelledSizes } : labelledSizes;
  const split = splitThreads(free, {
    seed: splitSeed,
    stratifyBy: (thread) => (stratify ? task.goldLabel(thread) : null),
    parts: Object.fromEntries(Object.entries(sizes).filter(([, size]) => size !== 0)),
  });
  const isTestRead = experiment.evaluation.part === 'test';
  return {
    detector:
      typeof detector === 'number'
        ? (split.detector ?? [])
        : threads.filter((thread) => ofDetector(thread) && isLabelled(thread)),
    demonstrations: split.demonstrations,
    environment: [...(split.environment ?? []), ...unlabelled],
    // A test that is not read may be empty.
    test: isTestRead ? testsOf(split.test, { part: 'the test part' }) : split.test.filter(isFairTest),
    development: split.development ?? [],
    calibration: [...calibrated, ...(split.calibration ?? [])],
  };
}

/** The parts by their names, as a run notes them: a development and a calibration part only where there is one. */
export function notedParts({ development, calibration, ...others }: Parts): Readonly<Record<string, Thread[]>> {
  return {
    ...others,
    ...(development.length > 0 && { development }),
    ...(calibration.length > 0 && { calibration }),
  };
}

function checkEvents(threads: readonly ThreadFacts[], names: readonly string[]): void {
  const events = new Set(threads.flatMap(({ event }) => event ?? []));
  for (const event of names)
    if (!events.has(event))
      throw new InputError(
        `no thread is of the event ${JSON.stringify(event)}; ${events.size === 0 ? 'these threads have no events' : `the data has ${[...events].join(', ')}`}`,
      );
}

/**
 * Identities of the threads of a run: those that it learnt from or that its settings may have been chosen on, and those that it was tested
 * on or its guarantee found on.
 * @throws InputError where the run does not note them
 */
export function identitiesOf(run: RunDirectory): Record<'trained' | 'tested', ReadonlySet<string>> {
  const parts = readParts(run);
  const of = (...names: (keyof Parts)[]) =>
    new Set(names.flatMap((name) => (parts[name] ?? []).map(({ identity }) => identity)));
  return {
    trained: of('detector', 'demonstrations', 'environment', 'development'),
    tested: of('test', 'calibration'),
  };
}

/** The threads of these items from a source, read whole. */
export async function loadItems(items: readonly PartItem[], source: ThreadSource) {
  const ids = new Set(items.map(({ id }) => id));
  const threads = await loadIndexed(
    source,
    source.threads.filter(({ id }) => ids.has(id)),
  );
  return threadsOfItems(items, threads);
}
