import { type Example, type StanceItem, stanceClasses } from '../../experts/task-models/task-model.ts';
import { sha256 } from '../../src/content-hash.ts';
import { formatBadItem } from '../../src/data/bad-item.ts';
import { plantedStances } from '../../src/data/synthetic/planted-stances.ts';
import { veracityTask } from '../../src/data/task.ts';
import type { Thread } from '../../src/data/thread.ts';
import { loadThreads } from '../../src/data/thread-file.ts';
import { InputError } from '../../src/errors.ts';
import { Random } from '../../src/tensor/random.ts';
import type { SelectorClaim } from '../../trainers/selector/setup.ts';
import type { SelectorExperiment } from './experiment.ts';

/** A test set, under the name that tables use. */
export interface TestSet {
  readonly name: string;
  readonly threads: readonly Thread[];
}

export interface SelectorData {
  readonly train: readonly Thread[];
  readonly tests: readonly TestSet[];
  readonly stancePretraining: readonly Example<StanceItem>[];
  /** How many training threads were left out because they are also among the tests. */
  readonly sharedWithTests: number;
}

/** Reads the data, or makes it up. Threads of the tests are taken out of the training. */
export async function loadSelectorData(
  { data, seedShare }: Pick<SelectorExperiment, 'data' | 'seedShare'>,
  onNote?: (line: string) => void,
): Promise<SelectorData> {
  const { train, tests, stancePretraining, planted } = data;
  const load = (path: string) => loadSelectorThreads(path, { data, onNote });
  if (train === null && Object.keys(tests).length > 0)
    throw new InputError(
      'data.tests are given without data.train; name the threads to train on, too, or neither for planted ones',
    );
  const made = train === null ? plantedStances(planted) : { train: await load(train), test: [], pretraining: [] };
  const all = made.train;
  const testSets: TestSet[] = train === null ? [{ name: 'planted', threads: made.test }] : [];
  for (const [name, path] of Object.entries(tests)) testSets.push({ name, threads: await load(path) });
  const tested = new Set(testSets.flatMap(({ threads }) => threads.map(({ id }) => id)));
  const kept = all.filter(({ id }) => !tested.has(id));
  const sharedWithTests = all.length - kept.length;
  if (sharedWithTests > 0)
    onNote?.(`${sharedWithTests} of ${all.length} training threads are also among the tests and were left out`);
  checkTraining(kept, { name: train ?? 'the planted threads', sharedWithTests, seedShare, onNote });
  return {
    train: kept,
    tests: testSets,
    stancePretraining: stanceExamples(
      stancePretraining === null ? made.pretraining : await load(stancePretraining),
      data,
    ),
    sharedWithTests,
  };
}

/** The threads of a file, each cut to the posts that the selector may read. */
export async function loadSelectorThreads(
  path: string,
  options: { data: SelectorExperiment['data']; onNote?: ((line: string) => void) | undefined },
): Promise<Thread[]> {
  const { data, onNote } = options;
  const threads = await loadThreads(path, {
    skipInvalid: data.skipInvalid,
    onSkipped: (item) => onNote?.(`skipped ${formatBadItem(item)}`),
  });
  return threads.map((thread) => ({ ...thread, posts: thread.posts.slice(0, data.maxPosts) }));
}

/** @throws InputError when no thread has a reply, so that there is nothing to read or to select */
export function checkReplies(threads: readonly Thread[], { name }: { name: string }): void {
  if (threads.some(({ posts }) => posts.length > 1)) return;
  throw new InputError(
    `none of the ${threads.length} threads of ${name} has a reply (of those that data.maxPosts lets in), and the selector ` +
      'reads what replies say of a claim; give threads with their replies',
  );
}

/** Called before the run directory is made. Otherwise a mistake in the data would become part of the run. */
function checkTraining(
  threads: readonly Thread[],
  options: { name: string; sharedWithTests: number; seedShare: number; onNote?: ((line: string) => void) | undefined },
): void {
  const { name, sharedWithTests, seedShare, onNote } = options;
  if (threads.length === 0)
    throw new InputError(
      `nothing is left to train on: all ${sharedWithTests} threads of ${name} are also among the tests; give other threads to train or to test on`,
    );
  checkReplies(threads, { name });
  const seeds = veracityTask.labels.map((_, veracity) => seedCount(ofVeracity(threads, veracity), seedShare));
  if (seeds.every((count) => count === 0))
    throw new InputError(
      `none of the ${threads.length} claims of ${name} has a veracity label that the selector may see, and without one there ` +
        `is no reward; give threads with veracity, or raise seedShare (now ${seedShare})`,
    );
  const missing = veracityTask.labels.filter((_, veracity) => seeds[veracity] === 0);
  if (missing.length > 0)
    onNote?.(`no labelled claim is ${missing.join(' or ')}: the veracity model learns nothing about such claims`);
}

function ofVeracity(threads: readonly Thread[], veracity: number): Thread[] {
  return threads.filter((thread) => veracityTask.goldLabel(thread) === veracity);
}

function seedCount(threads: readonly Thread[], seedShare: number): number {
  return Math.round(seedShare * threads.length);
}

function stanceExamples(
  items: readonly Thread[],
  { stancePretraining, stanceLabels }: SelectorExperiment['data'],
): Example<StanceItem>[] {
  const examples = items.flatMap(({ id, labels = {}, posts }): Example<StanceItem>[] => {
    const stance = stanceLabels[String(labels.stance)];
    if (stance === undefined) return [];
    const item = { threadId: id, claim: String(labels.target ?? ''), post: posts[0].text };
    return [{ item, label: stanceClasses.indexOf(stance), explanation: '' }];
  });
  if (examples.length === 0 && items.length > 0)
    throw new InputError(
      `none of the ${items.length} items of ${stancePretraining} has a labels.stance that data.stanceLabels knows (${Object.keys(stanceLabels).join(', ')})`,
    );
  return examples;
}

/** Identifies the data of a run. */
export function selectorDataHash({ train, tests, stancePretraining }: SelectorData): string {
  return sha256([train, tests, stancePretraining]);
}

/** Claims as the selector sees them: of each veracity, a share `seedShare` keeps its label, drawn anew for each seed. */
export function selectorClaims(
  threads: readonly Thread[],
  options: { seedShare: number; seed: number },
): SelectorClaim[] {
  const random = Random.seeded({ seed: options.seed, purpose: 'seed claims' });
  const seeds = new Set<string>();
  for (const veracity of veracityTask.labels.keys()) {
    const own = random.shuffled(ofVeracity(threads, veracity));
    for (const { id } of own.slice(0, seedCount(own, options.seedShare))) seeds.add(id);
  }
  return threads.map((thread) => ({
    ...selectorClaim(thread),
    label: seeds.has(thread.id) ? veracityTask.goldLabel(thread) : null,
  }));
}

/** A thread as the selector reads it, without its label. */
export function selectorClaim({ id, posts: [claim, ...replies] }: Thread): SelectorClaim {
  return { threadId: id, claim: claim.text, posts: replies.map(({ text }) => text), label: null };
}

/** Class index of the stance of each reply; −1 where it has no label. */
export function replyStances({ posts }: Thread): number[] {
  return posts.slice(1).map(({ stance }) => (stance === null ? -1 : stanceClasses.indexOf(stance)));
}

/**
 * Holds out a share of the threads of each test set, for stances of the supervised bound and for choosing settings (the
 * paper's "Val"). The split is the same for every seed, and a thread that is in several sets is on the same side in all.
 */
export function splitTests(
  tests: readonly TestSet[],
  { share }: { share: number },
): { tested: TestSet[]; heldOut: TestSet[] } {
  const ids = [...new Set(tests.flatMap(({ threads }) => threads.map(({ id }) => id)))];
  const order = Random.seeded({ seed: 0, purpose: 'held-out test threads' }).shuffled(ids);
  const out = new Set(order.slice(0, Math.round(share * ids.length)));
  const part = (isOut: boolean) =>
    tests.map(({ name, threads }) => ({ name, threads: threads.filter(({ id }) => out.has(id) === isOut) }));
  return { tested: part(false), heldOut: part(true) };
}
