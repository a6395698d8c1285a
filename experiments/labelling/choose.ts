import { createHash } from 'node:crypto';
import { AnnotationStore } from '../../experts/annotations/annotation-store.ts';
import type { Judgement } from '../../experts/detector.ts';
import { nearDuplicateAt, nearDuplicatePairs } from '../../src/data/near-duplicates.ts';
import type { Task } from '../../src/data/task.ts';
import { type Prefix, prefixOf, type Thread } from '../../src/data/thread.ts';
import { InputError } from '../../src/errors.ts';
import { cohensKappa } from '../../src/metrics/classification.ts';
import type { LabelRecord } from './label-file.ts';

/*
 * Which thread to label next: 40 at random, then in every ten labels six whose class the current detector is least sure of, and four at
 * random. "At random" means the next of one order by chance of all threads, whatever was labelled by margin before, so the threads up to
 * any place of that order are a random sample of the file.
 *
 * The detector that chooses learns from three quarters of the labels that were given before the first choice, and from what it chose.
 * Threads like those that it knows are not chosen, so a cross-validation, which leaves one of them out, finds it harder than new threads.
 * The other random threads have no part in the choice, and scores over them are those of new threads. They also show whether the detector
 * knows anything: until it agrees with people on them, every thread is drawn at random.
 */

export const randomStart = 40;
/** Share of the labels before the first choice that teach the detector that chooses. */
const teachingShare = 0.75;
/** Labels between two trainings. */
export const learnEvery = 10;
/** Places in every ten labels whose thread is drawn at random. */
const randomPlaces = [0, 3, 5, 8];

const mostPosts = 500;
/** Threads that are judged: the first of the order, so that choosing takes seconds for any file. */
const mostJudged = 1000;
const mostRanked = 100;

export interface Choice {
  readonly thread: string;
  readonly chosen: 'random' | 'margin';
  /** Probability of this thread in its draw; 1 for the smallest margin. */
  readonly chance: number;
}

/** Ids in random order by hash, so that later threads take places between the others. */
export function chanceOrder(ids: Iterable<string>, seed: number): string[] {
  const keyed = Array.from(ids, (id) => ({ id, key: createHash('sha256').update(`${seed}\n${id}`).digest('hex') }));
  return keyed.sort((a, b) => (a.key < b.key ? -1 : 1)).map(({ id }) => id);
}

/**
 * How many threads, from the first of the random order on, teach the detector that chooses.
 * @param chosen how each answered thread was chosen, the first answer first
 */
export function startOf(chosen: readonly LabelRecord['chosen'][]): number {
  const firstTime = chosen.filter((how) => how !== 'again');
  const firstChoice = firstTime.indexOf('margin');
  return Math.floor(teachingShare * (firstChoice < 0 ? firstTime.length : firstChoice));
}

/**
 * How thread files say that each thread of the random order was chosen. Threads count as a random sample up to the first
 * one in the order that nobody has seen; later ones count as chosen by margin. Once the sample is twice the start, its
 * start only trains if others were chosen by margin.
 * @param options.seen ids of the threads that were answered or skipped
 * @param options.chosen how each answered thread was chosen, the first answer first
 */
export function marksOf(
  order: readonly string[],
  { seen, chosen }: { seen: ReadonlySet<string>; chosen: readonly LabelRecord['chosen'][] },
): Map<string, Thread['chosen']> {
  const firstUnseen = order.findIndex((id) => !seen.has(id));
  const sample = firstUnseen < 0 ? order.length : firstUnseen;
  const start = startOf(chosen);
  const onlyTrains = chosen.includes('margin') && sample >= 2 * start ? start : 0;
  const markAt = (place: number) => (place < onlyTrains ? 'start' : place < sample ? 'random' : 'margin');
  return new Map(order.map((id, place) => [id, markAt(place)]));
}

/**
 * The next thread to label; null if none is open.
 * @param options.open ids in random order
 * @param options.answered number of threads with an answer
 * @param options.ranking ids from the smallest margin on, possibly answered since
 */
export function nextChoice(options: {
  open: readonly string[];
  answered: number;
  ranking: readonly string[];
}): Choice | null {
  const { open, answered, ranking } = options;
  if (open.length === 0) return null;
  const isOpen = new Set(open);
  const isRandom = answered < randomStart || randomPlaces.includes(answered % 10);
  const least = isRandom ? undefined : ranking.find((id) => isOpen.has(id));
  if (least === undefined) return { thread: open[0], chosen: 'random', chance: 1 / open.length };
  return { thread: least, chosen: 'margin', chance: 1 };
}

export interface ChoosingDetector {
  /** Passes over a thread by undefined. */
  judge(prefix: Prefix): Promise<Pick<Judgement, 'label' | 'probabilities'> | undefined>;
}

const judgedWhole = (thread: Thread, detector: ChoosingDetector) =>
  detector.judge(prefixOf(thread, Math.min(thread.posts.length, mostPosts)));

/**
 * Ranks threads by the margin between a detector's two likeliest classes after all posts. Of near-duplicate claims only
 * the first counts.
 * @param threads open ones in random order
 * @returns their ids, and the label of every judged thread
 */
export async function leastSure(
  threads: readonly Thread[],
  detector: ChoosingDetector,
): Promise<{ ranking: string[]; labels: Map<string, string> }> {
  const judged: { thread: Thread; label: string; margin: number }[] = [];
  for (const thread of threads) {
    const judgement = await judgedWhole(thread, detector);
    if (judgement === undefined) continue;
    const [first = 0, second = 0] = Object.values(judgement.probabilities ?? {}).sort((a, b) => b - a);
    if (judged.push({ thread, label: judgement.label ?? '', margin: first - second }) === mostJudged) break;
  }
  const nearest = judged
    .toSorted((a, b) => a.margin - b.margin)
    .slice(0, 2 * mostRanked)
    .map(({ thread }) => thread);
  const repeated = new Set<number>();
  for (const [first, second] of nearDuplicatePairs(nearest, nearDuplicateAt))
    if (!repeated.has(first)) repeated.add(second);
  return {
    ranking: nearest.flatMap(({ id }, place) => (repeated.has(place) ? [] : [id])).slice(0, mostRanked),
    labels: new Map(judged.map(({ thread, label }) => [thread.id, label])),
  };
}

/** Labels that a detector is compared with before it chooses, and the Cohen's kappa that it needs then. */
const fewestCompared = 10;
const leastKappa = 0.2;

/**
 * Whether a detector agrees with people beyond chance; null for too few labels.
 * @param threads labelled ones that the detector did not learn from
 */
export async function agreesWithPeople(
  threads: readonly Thread[],
  { detector, task }: { detector: ChoosingDetector; task: Task },
): Promise<boolean | null> {
  const pairs: [string, string][] = [];
  for (const thread of threads) {
    const judgement = await judgedWhole(thread, detector);
    if (judgement !== undefined) pairs.push([task.labels[task.goldLabel(thread) ?? -1], judgement.label ?? '']);
  }
  return pairs.length < fewestCompared ? null : (cohensKappa(pairs) ?? 0) >= leastKappa;
}

/**
 * A detector that gives stored judgements, each of the longest judged prefix of a thread. `earshot annotate` fills the
 * store within a budget.
 * @throws InputError for a missing store, or one without exactly one detector
 */
export function storedDetector(path: string) {
  const store = AnnotationStore.openExisting(path);
  try {
    // Parts of judgements have names such as s2mad/comment-score.
    const rows = store.list().filter(({ detector }) => !detector.includes('/'));
    const detectors = [...new Set(rows.map(({ detector }) => detector))];
    if (detectors.length !== 1)
      throw new InputError(
        `${path} has judgements by ${detectors.length} detectors (${detectors.join(', ')}); give a store with those of one`,
      );
    const judgements = store.getMany(rows.map(({ key }) => key));
    // The longest prefix of a thread comes last.
    const longest = new Map(rows.map(({ threadId, key }) => [threadId, judgements.get(key)]));
    return { judge: async ({ threadId }: Pick<Prefix, 'threadId'>) => longest.get(threadId) };
  } finally {
    store.close();
  }
}
