import { join } from 'node:path';
import { splitThreads } from '../src/data/split.ts';
import { rumorTask, rumorVeracityTask, type Task, taskOfLabel, veracityTask } from '../src/data/task.ts';
import type { Thread } from '../src/data/thread.ts';
import { loadThreads } from '../src/data/thread-file.ts';

/** Threads on which the local detector is measured. */
export interface DetectorSet {
  readonly title: string;
  readonly file: string;
  readonly task: Task;
  /** Threads are cut after so many posts. */
  readonly posts: number;
  /** Events of the training threads, and of the tested ones where these are others; all without. */
  readonly events?: readonly string[];
  readonly testEvents?: readonly string[];
}

export const detectorSets: Readonly<Record<string, DetectorSet>> = {
  weibo: { title: 'Weibo-CED', file: 'weibo_ced.jsonl.gz', task: rumorTask, posts: 50 },
  pheme: {
    title: 'PHEME, two events, random split',
    file: 'pheme.jsonl.gz',
    task: rumorTask,
    posts: 30,
    events: ['sydneysiege', 'ferguson'],
  },
  'pheme-events': {
    title: 'PHEME, others to ferguson',
    file: 'pheme.jsonl.gz',
    task: rumorTask,
    posts: 30,
    events: ['sydneysiege', 'charliehebdo'],
    testEvents: ['ferguson'],
  },
  twitter15: { title: 'Twitter15, rumor or not', file: 'twitter15.jsonl', task: rumorTask, posts: 30 },
  'twitter15-four': { title: 'Twitter15, four classes', file: 'twitter15.jsonl', task: veracityTask, posts: 30 },
  twitter16: { title: 'Twitter16, rumor or not', file: 'twitter16.jsonl', task: rumorTask, posts: 30 },
  'twitter16-four': { title: 'Twitter16, four classes', file: 'twitter16.jsonl', task: veracityTask, posts: 30 },
  covid: { title: 'COVID, three classes', file: 'covid_rumor.jsonl', task: rumorVeracityTask, posts: 30 },
  checked: { title: 'CHECKED', file: 'weibo_checked.jsonl.gz', task: rumorTask, posts: 50 },
  derailment: {
    title: 'derailment (ChangeMyView)',
    file: 'derailment_cmv.jsonl',
    task: taskOfLabel({ name: 'outcome', labels: ['stays civil', 'derails'] }),
    posts: 30,
  },
};

interface Labelled {
  readonly thread: Thread;
  readonly label: number;
}

/** Threads to train on and others to test on. */
export interface Split {
  readonly seed: number;
  readonly task: Task;
  readonly train: readonly Labelled[];
  readonly test: readonly Labelled[];
}

/**
 * A split for each seed, with the labels in proportion.
 * @param options.data the folder of the thread files
 * @param options.train how many threads train, and at most so many others test
 */
export async function splitsOf(
  name: string,
  options: { data: string; seeds: readonly number[]; train: number; test: number },
): Promise<Split[]> {
  const set = detectorSets[name];
  if (set === undefined) throw new Error(`there is no set "${name}"; the sets are ${Object.keys(detectorSets).join()}`);
  const { task, events, testEvents, posts } = set;
  const stratifyBy = (thread: Thread) => task.goldLabel(thread);
  const threads = (await loadThreads(join(options.data, set.file))).filter((thread) => stratifyBy(thread) !== null);
  const ofEvents = (names = events) => threads.filter(({ event }) => names?.includes(event ?? '') ?? true);
  const labelled = (thread: Thread) => ({
    thread: { ...thread, posts: thread.posts.slice(0, posts) },
    label: stratifyBy(thread) ?? 0,
  });
  return options.seeds.map((seed) => {
    const tested = ofEvents();
    const train = Math.min(options.train, tested.length);
    const draw = <Part extends string>(from: readonly Thread[], parts: Record<Part, number>) =>
      splitThreads(from, { parts, seed, stratifyBy });
    const others = ofEvents(testEvents);
    const parts =
      testEvents === undefined
        ? draw(tested, { train, test: Math.min(options.test, tested.length - train) })
        : { ...draw(tested, { train }), ...draw(others, { test: Math.min(options.test, others.length) }) };
    return { seed, task, train: parts.train.map(labelled), test: parts.test.map(labelled) };
  });
}
