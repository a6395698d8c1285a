import { type Example, type StanceItem, stanceClasses } from '../../experts/task-models/task-model.ts';
import { formatBadItem } from '../../src/data/bad-item.ts';
import { plantedStances } from '../../src/data/planted-stances.ts';
import { veracityTask } from '../../src/data/task.ts';
import type { Thread } from '../../src/data/thread.ts';
import { loadThreads } from '../../src/data/thread-file.ts';
import { InputError } from '../../src/errors.ts';
import { Random } from '../../src/tensor/random.ts';
import type { SelectorClaim } from '../../trainers/jsdrv-training.ts';
import type { SelectorExperiment } from './selector-experiment.ts';

/** A test set as it stands in tables. */
export interface TestSet {
  readonly name: string;
  readonly threads: readonly Thread[];
}

export interface SelectorData {
  readonly train: readonly Thread[];
  readonly tests: readonly TestSet[];
  readonly stancePretraining: readonly Example<StanceItem>[];
  /** Training threads that are also among the tests, and were left out. */
  readonly sharedWithTests: number;
}

/** Reads or makes the data; no thread of a test stays in the training. */
export async function loadSelectorData(
  { data }: SelectorExperiment,
  onNote?: (line: string) => void,
): Promise<SelectorData> {
  const { train, tests, stancePretraining, planted, maxPosts, skipInvalid } = data;
  const load = async (path: string): Promise<Thread[]> => {
    const threads = await loadThreads(path, {
      skipInvalid,
      onSkipped: (item) => onNote?.(`skipped ${formatBadItem(item)}`),
    });
    return threads.map((thread) => ({ ...thread, posts: thread.posts.slice(0, maxPosts) }));
  };
  if (train === null && Object.keys(tests).length > 0)
    throw new InputError(
      'data.tests are given without data.train; name the threads to train on, too, or neither for planted ones',
    );
  const made = train === null ? plantedStances(planted) : null;
  const all = made?.train ?? (await load(train as string));
  const testSets: TestSet[] = made === null ? [] : [{ name: 'planted', threads: made.test }];
  for (const [name, path] of Object.entries(tests)) testSets.push({ name, threads: await load(path) });
  const tested = new Set(testSets.flatMap(({ threads }) => threads.map(({ id }) => id)));
  const kept = all.filter(({ id }) => !tested.has(id));
  const sharedWithTests = all.length - kept.length;
  if (sharedWithTests > 0)
    onNote?.(`${sharedWithTests} of ${all.length} training threads are also among the tests and were left out`);
  return {
    train: kept,
    tests: testSets,
    stancePretraining: stanceExamples(
      stancePretraining === null ? (made?.pretraining ?? []) : await load(stancePretraining),
      data,
    ),
    sharedWithTests,
  };
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

/** Claims as the selector sees them: the labels of `seedShare` of each veracity, drawn anew for each seed. */
export function selectorClaims(
  threads: readonly Thread[],
  options: { seedShare: number; seed: number },
): SelectorClaim[] {
  const random = Random.seeded({ seed: options.seed, purpose: 'seed claims' });
  const seeds = new Set<string>();
  for (const veracity of veracityTask.labels.keys()) {
    const own = random.shuffled(threads.filter((thread) => veracityTask.goldLabel(thread) === veracity));
    for (const { id } of own.slice(0, Math.round(options.seedShare * own.length))) seeds.add(id);
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

/** Stance of each reply, −1 where it has no label. */
export function replyStances({ posts }: Thread): number[] {
  return posts.slice(1).map(({ stance }) => (stance === null ? -1 : stanceClasses.indexOf(stance)));
}
