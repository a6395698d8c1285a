import { createHash } from 'node:crypto';
import { AnnotationStore } from '../../experts/annotations/annotation-store.ts';
import type { Judgement } from '../../experts/detector.ts';
import { nearDuplicateAt, nearDuplicatePairs } from '../../src/data/near-duplicates.ts';
import { type Prefix, prefixOf, type Thread } from '../../src/data/thread.ts';
import { InputError } from '../../src/errors.ts';
import { existingPath } from '../../src/missing-path.ts';

/*
 * Which thread to label next: 30 at random, then in every ten labels six whose class the current detector is least sure of, and four at
 * random. "At random" means the next of one order by chance of all threads, whatever was labelled by margin before, so the threads up to
 * any place of that order are a random sample of the file.
 *
 * The detector that chooses learns from the first 30 and from what it chose. Threads like those that it knows are not chosen, so a
 * cross-validation, which leaves one of them out, finds it harder than new threads. Later random threads have no part in the choice, and
 * scores over them are those of new threads.
 */

export const randomStart = 30;
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

/**
 * Ranks threads by the margin between a detector's two likeliest classes after all posts. Of near-duplicate claims only
 * the first counts.
 * @param threads open ones in random order
 * @param detector passes over a thread by undefined
 * @returns their ids, and the label of every judged thread
 */
export async function leastSure(
  threads: readonly Thread[],
  detector: { judge: (prefix: Prefix) => Promise<Pick<Judgement, 'label' | 'probabilities'> | undefined> },
): Promise<{ ranking: string[]; labels: Map<string, string> }> {
  const judged: { thread: Thread; label: string; margin: number }[] = [];
  for (const thread of threads) {
    const judgement = await detector.judge(prefixOf(thread, Math.min(thread.posts.length, mostPosts)));
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

/**
 * A detector that gives stored judgements, each of the longest judged prefix of a thread. `earshot annotate` fills the
 * store within a budget.
 * @throws InputError for a missing store, or one without exactly one detector
 */
export function storedDetector(path: string) {
  const store = AnnotationStore.open(existingPath(path));
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
