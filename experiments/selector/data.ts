import { type Example, type ReplyPlace, type StanceItem, stanceClasses } from '../../experts/task-models/task-model.ts';
import { sha256 } from '../../src/content-hash.ts';
import { plantedStances } from '../../src/data/synthetic/planted-stances.ts';
import { veracityTask } from '../../src/data/task.ts';
import type { Thread } from '../../src/data/thread.ts';
import { readThreads } from '../../src/data/thread-file.ts';
import { InputError } from '../../src/errors.ts';
import { Random } from '../../src/tensor/random.ts';
import { type SelectorClaim, stanceItem } from '../../trainers/selector/setup.ts';
import type { SelectorExperiment } from './experiment.ts';
import { type DisjointParts, disjointParts, type LeftOut, type TestSet, withoutShared } from './protocol.ts';

export interface SelectorData extends DisjointParts {
  readonly stancePretraining: readonly Example<StanceItem>[];
}

/** Reads or generates the data. Training and tests share nothing that `data.protocol` forbids. */
export async function loadSelectorData(
  { data, seedShare }: Pick<SelectorExperiment, 'data' | 'seedShare'>,
  onNote?: (line: string) => void,
): Promise<SelectorData> {
  const { heldOutEvents } = data;
  if (heldOutEvents === 'each')
    throw new Error('data that hold each event out in turn are loaded one fold at a time: see event-folds.ts');
  const all = await loadAllThreads(data, onNote);
  const parts = all.isPlanted
    ? { ...all, leftOut: { sameThread: 0, sameEvent: 0, nearDuplicate: 0 } }
    : disjointParts(all, { data: { ...data, heldOutEvents }, onNote });
  const { train, tests, leftOut } = parts;
  for (const [count, what] of [
    [leftOut.sameThread, 'are also among the tests'],
    [leftOut.sameEvent, 'are of events that are tested, or of no known event,'],
    [leftOut.nearDuplicate, 'nearly repeat a claim of the tests'],
  ] as const)
    if (count > 0) onNote?.(`${count} of ${all.train.length} training threads ${what} and were left out`);
  const { protocol } = data;
  checkTraining(train, { name: data.train ?? 'the planted threads', protocol, leftOut, seedShare, onNote });
  const conversations = all.pretraining.filter(({ posts }) => posts.length > 1);
  const disjoint = new Set(withoutShared(conversations, { tests, data: { ...data, heldOutEvents } }).train);
  const pretraining = all.pretraining.filter((thread) => thread.posts.length === 1 || disjoint.has(thread));
  return { train, tests, leftOut, stancePretraining: stanceExamples(pretraining, data) };
}

/** All threads of an experiment before any is left out. Training threads are sorted by id, so that their order in a file does not matter. */
export async function loadAllThreads(data: SelectorExperiment['data'], onNote?: (line: string) => void) {
  const { train, tests, stancePretraining, planted } = data;
  const load = (path: string) => loadSelectorThreads(path, { data, onNote });
  if (train === null) {
    if (data.heldOutEvents.length > 0)
      throw new InputError(
        `data.heldOutEvents (${String(data.heldOutEvents)}) are given without data.train, and planted threads are of no event; name the threads, or hold none out`,
      );
    const made = plantedStances(planted);
    return {
      train: byId(made.train),
      tests: [{ name: 'planted', threads: made.test }],
      pretraining: stancePretraining === null ? made.pretraining : byId(await load(stancePretraining)),
      isPlanted: true,
    };
  }
  const testSets: TestSet[] = [];
  for (const [name, path] of Object.entries(tests)) testSets.push({ name, threads: byId(await load(path)) });
  return {
    train: byId(await load(train)),
    tests: testSets,
    pretraining: stancePretraining === null ? [] : byId(await load(stancePretraining)),
    isPlanted: false,
  };
}

function byId(threads: readonly Thread[]): Thread[] {
  return threads.toSorted(({ id: left }, { id: right }) => (left < right ? -1 : Number(left > right)));
}

export async function loadSelectorThreads(
  path: string,
  { data, onNote }: { data: SelectorExperiment['data']; onNote?: (line: string) => void },
): Promise<Thread[]> {
  const threads: Thread[] = [];
  // Cut one by one, so that the posts that nobody reads are never in memory together.
  for await (const thread of readThreads(path, { skipInvalid: data.skipInvalid, onSkipped: onNote }))
    threads.push({ ...thread, posts: thread.posts.slice(0, data.maxPosts) });
  return threads;
}

/** @throws InputError if no thread has a reply */
export function checkReplies(threads: readonly Thread[], { name }: { name: string }): void {
  if (threads.some(({ posts }) => posts.length > 1)) return;
  throw new InputError(
    `none of the ${threads.length} threads of ${name} has a reply (of those that data.maxPosts lets in), and the selector ` +
      'reads what replies say of a claim; give threads with their replies',
  );
}

/** Runs before the run directory is made, so that a mistake in the data does not become part of the run. */
function checkTraining(
  threads: readonly Thread[],
  options: Pick<SelectorExperiment['data'], 'protocol'> & {
    name: string;
    leftOut: LeftOut;
    seedShare: number;
    onNote?: (line: string) => void;
  },
): void {
  const { name, protocol, leftOut, seedShare, onNote } = options;
  const { sameThread, sameEvent, nearDuplicate } = leftOut;
  if (threads.length === 0)
    throw new InputError(
      `nothing is left to train on: of the threads of ${name}, ${sameThread} are also among the tests, ${sameEvent} are of events that are tested or of none, ${nearDuplicate} nearly repeat a tested claim; ` +
        (protocol === 'ids'
          ? 'give other threads'
          : 'give other threads, hold events out (data.heldOutEvents), or keep only the same threads apart (data.protocol: ids)'),
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

/** Names of stances in data sets; P-Stance has the last two. */
const stanceOfLabel: ReadonlyMap<string, number> = new Map([
  ...stanceClasses.map((name, index) => [name, index] as const),
  ['favor', stanceClasses.indexOf('support')],
  ['against', stanceClasses.indexOf('deny')],
]);

/** A single item has its own label; the labelled replies of a thread are examples. */
function stanceExamples(
  items: readonly Thread[],
  { stancePretraining }: SelectorExperiment['data'],
): Example<StanceItem>[] {
  const examples = items.flatMap((thread): Example<StanceItem>[] => {
    const { id, labels = {}, posts } = thread;
    const label = stanceOfLabel.get(String(labels.stance));
    if (label === undefined) return replyExamples(thread);
    const item = { threadId: id, claim: String(labels.target ?? ''), post: posts[0].text };
    return [{ item, label, explanation: '' }];
  });
  if (examples.length === 0 && items.length > 0)
    throw new InputError(
      `none of the ${items.length} items of ${stancePretraining} has a labels.stance that is known (${[...stanceOfLabel.keys()].join(', ')}), or a reply with a stance`,
    );
  return examples;
}

export function replyExamples(thread: Thread): Example<StanceItem>[] {
  const claim = selectorClaim(thread);
  return replyStances(thread).flatMap((label, post) =>
    label < 0 ? [] : [{ item: stanceItem(claim, post), label, explanation: '' }],
  );
}

/** Identifies the data of a run. */
export function selectorDataHash({ train, tests, stancePretraining }: SelectorData): string {
  return sha256([train, tests, stancePretraining]);
}

/** Training claims, of which a share `seedShare` per veracity keeps its label, drawn per seed. */
export function selectorClaims(
  threads: readonly Thread[],
  options: { seedShare: number; seed: number },
): SelectorClaim[] {
  const random = Random.seeded({ seed: options.seed, purpose: 'seed claims' });
  const seeds = new Set<string>();
  for (const veracity of veracityTask.labels.keys()) {
    const ofClass = random.shuffled(ofVeracity(threads, veracity));
    for (const { id } of ofClass.slice(0, seedCount(ofClass, options.seedShare))) seeds.add(id);
  }
  return threads.map((thread) => ({
    ...selectorClaim(thread),
    label: seeds.has(thread.id) ? veracityTask.goldLabel(thread) : null,
  }));
}

export function selectorClaim(thread: Thread): SelectorClaim {
  const [claim, ...replies] = thread.posts;
  return {
    threadId: thread.id,
    claim: claim.text,
    posts: replies.map(({ text }) => text),
    places: replyPlaces(thread),
    label: null,
  };
}

/** The place of each reply. A parent outside the thread counts as unknown. */
export function replyPlaces({ posts }: Thread): ReplyPlace[] {
  const [claim, ...replies] = posts;
  const byId = new Map(posts.map((post) => [post.id, post]));
  const depths = new Map<string, number>([[claim.id, 0]]);
  // A loop among parents never reaches the claim, and ends at the number of posts.
  const depthOf = (id: string, steps = 0): number | null => {
    const cached = depths.get(id);
    if (cached !== undefined) return cached;
    const parent = byId.get(id)?.parent ?? null;
    const above = parent === null || steps > posts.length ? null : depthOf(parent, steps + 1);
    if (above === null) return null;
    depths.set(id, above + 1);
    return above + 1;
  };
  return replies.map(({ id, parent, time }) => ({
    parent: parent === null ? null : (byId.get(parent)?.text ?? null),
    depth: depthOf(id),
    minutesSinceClaim:
      time === null || claim.time === null ? null : (Date.parse(time) - Date.parse(claim.time)) / 60_000,
  }));
}

/** Class index of each reply's stance; −1 without a label. */
export function replyStances({ posts }: Thread): number[] {
  return posts.slice(1).map(({ stance }) => (stance === null ? -1 : stanceClasses.indexOf(stance)));
}
