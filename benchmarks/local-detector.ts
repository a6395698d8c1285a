/*
 * The local detector on labelled threads that it was not trained on: macro-F1 after the first post, after 5 and after all, mean
 * and standard deviation over seeds. Usage:
 *
 *   node --import tsx benchmarks/local-detector.ts --data threads.jsonl [--task rumor] [--posts 30] [--train 100] [--test 400]
 *     [--seeds 11,12,13] [--events a,b] [--test-events c] [--options '{ "folds": 3 }'] [--splits folder]
 *
 * Threads are cut at --posts. A split is drawn anew for each seed, with the labels in proportion; with --test-events those threads are
 * tested, and the training ones come from --events. --splits writes them as seed-<n>.json, for benchmarks/tf-idf.py.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { trainLocalDetector } from '../experts/detectors/local/train-local-detector.ts';
import { splitThreads } from '../src/data/split.ts';
import { tasks } from '../src/data/task.ts';
import { prefixOf, type Thread } from '../src/data/thread.ts';
import { loadThreads } from '../src/data/thread-file.ts';
import { macroF1 } from '../src/metrics/classification.ts';
import { selectBackend } from '../src/tensor/backend.ts';

const { values: given } = parseArgs({
  options: {
    data: { type: 'string' },
    task: { type: 'string', default: 'rumor' },
    posts: { type: 'string', default: '30' },
    train: { type: 'string', default: '100' },
    test: { type: 'string', default: '400' },
    seeds: { type: 'string', default: '11,12,13' },
    events: { type: 'string' },
    'test-events': { type: 'string' },
    options: { type: 'string', default: '{}' },
    splits: { type: 'string' },
  },
});
if (given.data === undefined) throw new Error('give a thread file with --data');
const task = tasks[given.task];
const lengths = [1, 5, Number.POSITIVE_INFINITY];
// For an encoder, if the options name one.
await selectBackend('auto');

const labelled = (await loadThreads(given.data)).filter((thread) => task.goldLabel(thread) !== null);
const ofEvents = (events: string | undefined) =>
  events === undefined ? labelled : labelled.filter(({ event }) => event !== null && events.split(',').includes(event));
const scores: number[][] = [];
for (const seed of given.seeds.split(',').map(Number)) {
  const { train, test } = split(seed);
  if (given.splits !== undefined) writeSplit(given.splits, { seed, train, test });
  const detector = await trainLocalDetector({ threads: train, task, options: JSON.parse(given.options), seed });
  const gold = test.map((thread) => task.goldLabel(thread) ?? 0);
  const said: number[][] = lengths.map(() => []);
  for (const thread of test)
    for (const [index, length] of lengths.entries()) {
      const { label } = await detector.judge(prefixOf(thread, Math.min(length, thread.posts.length)));
      said[index].push(task.labels.indexOf(label ?? ''));
    }
  scores.push(said.map((predicted) => macroF1({ gold, predicted, classes: task.labels.length })));
  console.error(`seed ${seed}: ${scores[scores.length - 1].map((score) => score.toFixed(3)).join(' / ')}`);
}
const cells = lengths.map((_, index) => {
  const own = scores.map((row) => row[index]);
  const mean = own.reduce((sum, value) => sum + value, 0) / own.length;
  const variance = own.reduce((sum, value) => sum + (value - mean) ** 2, 0) / Math.max(1, own.length - 1);
  return `${mean.toFixed(3)} ± ${Math.sqrt(variance).toFixed(3)}`;
});
console.log(`first post ${cells[0]}, 5 posts ${cells[1]}, all posts ${cells[2]}`);

function split(seed: number): { train: Thread[]; test: Thread[] } {
  const [trainCount, testCount, posts] = [given.train, given.test, given.posts].map(Number);
  const stratifyBy = (thread: Thread) => task.goldLabel(thread);
  const { 'test-events': testEvents } = given;
  const cut = (thread: Thread) => ({ ...thread, posts: thread.posts.slice(0, posts) });
  const own = ofEvents(given.events);
  if (testEvents !== undefined) {
    const { train } = splitThreads(own, { parts: { train: trainCount }, seed, stratifyBy });
    const { test } = splitThreads(ofEvents(testEvents), { parts: { test: testCount }, seed, stratifyBy });
    return { train: train.map(cut), test: test.map(cut) };
  }
  const parts = { train: trainCount, test: Math.min(testCount, own.length - trainCount) };
  const { train, test } = splitThreads(own, { parts, seed, stratifyBy });
  return { train: train.map(cut), test: test.map(cut) };
}

function writeSplit(folder: string, { seed, train, test }: { seed: number; train: Thread[]; test: Thread[] }): void {
  const of = (threads: readonly Thread[]) =>
    threads.map((thread) => ({ label: task.goldLabel(thread), texts: thread.posts.map(({ text }) => text) }));
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `seed-${seed}.json`), JSON.stringify({ train: of(train), test: of(test) }));
}
