/*
 * The local detector beside scikit-learn's TF-IDF on labelled threads that neither was trained on: macro-F1 after the first post,
 * after 5 and after all, and the difference on the same threads, with 95% intervals over seeds and the threads of each. Usage:
 *
 *   node --import tsx benchmarks/local-detector.ts --data folder [--sets weibo,twitter15,…] [--train 100,400] [--test 400]
 *     [--seeds 31,32,…] [--python venv/bin/python] [--encoder '{"name":…}'] [--options '{ "folds": 3 }'] [--timing] [--raw] [--runs runs/local-detector]
 *
 * The sets and their files are in local-detector-sets.ts. A split is drawn anew for each seed, with the labels in proportion.
 * --python names one with scikit-learn; without it there is no column beside ours. With --raw it reads texts with their links and handles,
 * too. With --encoder a detector that reads its vectors beside n-grams is compared with ours as well; with --timing one that reads times, also where it is given texts alone. Ours is then that
 * one without its times, which is what a training without them gives. Every judgement is kept under --runs, and what is there is not computed again: take
 * another folder after a change to the detector.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { markdownTable } from 'markdown-table';
import { signed } from '../experiments/report/shown-numbers.ts';
import { LocalDetector } from '../experts/detectors/local/local-detector.ts';
import { trainLocalDetector } from '../experts/detectors/local/train-local-detector.ts';
import { sha256 } from '../src/content-hash.ts';
import { prefixOf } from '../src/data/thread.ts';
import { bootstrapGroups } from '../src/metrics/bootstrap.ts';
import { macroF1 } from '../src/metrics/classification.ts';
import { selectBackend } from '../src/tensor/backend.ts';
import { detectorSets, type Split, splitsOf } from './local-detector-sets.ts';
import { namedEncoder } from './named-encoder.ts';

const { values: args } = parseArgs({
  options: {
    data: { type: 'string' },
    sets: {
      type: 'string',
      default: 'weibo,pheme,pheme-events,twitter15,twitter15-four,twitter16,twitter16-four,covid',
    },
    train: { type: 'string', default: '100,400' },
    test: { type: 'string', default: '400' },
    seeds: { type: 'string', default: '31,32,33,34,35,36,37,38,39,40' },
    python: { type: 'string' },
    encoder: { type: 'string' },
    options: { type: 'string', default: '{}' },
    timing: { type: 'boolean', default: false },
    raw: { type: 'boolean', default: false },
    runs: { type: 'string', default: 'runs/local-detector' },
  },
});
if (args.data === undefined) throw new Error('give the folder of the thread files with --data');
const { data, encoder: encoderJson, python, runs } = args;
const seeds = args.seeds.split(',').map(Number);
const options = JSON.parse(args.options);
const lengths = [1, 5, Number.POSITIVE_INFINITY];
const lengthNames = ['first', '5', 'all'];
if (encoderJson !== undefined) await selectBackend('auto');
const encoder = encoderJson === undefined ? undefined : await namedEncoder(encoderJson, { runs: 'runs' });

/** Class of each test thread after each of the lengths, [lengths][threads]. */
type Answers = readonly (readonly number[])[];
/** Answers of the systems on one split. */
interface Trial {
  readonly gold: readonly number[];
  readonly answers: Readonly<Record<string, Answers>>;
}

for (const size of args.train.split(',').map(Number)) {
  const lines: string[][] = [];
  for (const name of args.sets.split(',')) {
    const splits = await splitsOf(name, { data, seeds, train: size, test: Number(args.test) });
    const folder = join(runs, `${name}-${size}`);
    mkdirSync(folder, { recursive: true });
    for (const split of splits)
      writeFileSync(join(folder, `seed-${split.seed}.split.json`), JSON.stringify(texts(split)));
    const trials: Trial[] = [];
    for (const split of splits) {
      const timed = onceOf(() => trained(split, { ...options, timing: true }));
      const ours = await answersOf(split, {
        folder,
        name: 'ours',
        options,
        detector: async () => (args.timing ? withoutTimes(await timed()) : trained(split, options)),
      });
      const read = { ...options, encoder: encoderJson && JSON.parse(encoderJson) };
      const withEncoder: Record<string, Answers> =
        encoderJson === undefined
          ? {}
          : {
              encoder: await answersOf(split, {
                folder,
                name: 'encoder',
                options: read,
                detector: () => trained(split, read),
              }),
            };
      const withTimes = { folder, options: { ...options, timing: true }, detector: timed };
      const byTimes: Record<string, Answers> = args.timing
        ? {
            timing: await answersOf(split, { ...withTimes, name: 'timing' }),
            untimed: await answersOf(split, { ...withTimes, name: 'untimed' }),
          }
        : {};
      trials.push({ gold: split.test.map(({ label }) => label), answers: { ours, ...withEncoder, ...byTimes } });
    }
    if (python !== undefined)
      for (const ending of args.raw ? ['', '-raw'] : ['']) {
        const words = ending === '' ? [] : ['--raw'];
        execFileSync(python, [join(import.meta.dirname, 'tf-idf.py'), ...words, folder], { stdio: 'inherit' });
        for (const [index, { seed }] of splits.entries()) {
          const other: Record<string, Answers> = JSON.parse(
            readFileSync(join(folder, `seed-${seed}.tf-idf${ending}.json`), 'utf8'),
          );
          const named = Object.entries(other).map(([system, answers]) => [`${system}${ending}`, answers] as const);
          trials[index] = { ...trials[index], answers: { ...trials[index].answers, ...Object.fromEntries(named) } };
        }
      }
    lines.push(...rowsOf(name, trials));
    console.error(`${name}, ${size} training threads: ${trials.length} seeds`);
  }
  const others = [
    ...(python === undefined ? [] : ['TF-IDF, balanced', 'ours − balanced', 'TF-IDF, offsets', 'ours − offsets']),
    ...(python !== undefined && args.raw
      ? ['raw texts, balanced', 'raw − masked', 'raw texts, offsets', 'raw − masked']
      : []),
    ...(encoder === undefined ? [] : ['with the encoder', 'encoder − ours']),
    ...(args.timing ? ['with times', 'times − ours', 'its texts alone', 'texts alone − ours'] : []),
    ...(args.timing && python !== undefined ? ['times − offsets'] : []),
  ];
  console.log(`\n${size} training threads, seeds ${args.seeds}\n`);
  console.log(markdownTable([['set', 'posts', 'ours', ...others], ...lines], { align: ['l', 'l'] }));
}

function trained({ seed, train, task }: Split, options: Record<string, unknown>): Promise<LocalDetector> {
  return trainLocalDetector({ threads: train.map(({ thread }) => thread), task, options, encoder, seed });
}

function withoutTimes({ model: { timing: _, ...model } }: LocalDetector): LocalDetector {
  return new LocalDetector({ model, encoder: null });
}

/** Calls a function the first time only. */
function onceOf<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** Predictions of a detector for the test threads, from the cache if they are there. */
async function answersOf(
  { seed, test, task }: Split,
  of: { folder: string; name: string; options: Record<string, unknown>; detector: () => Promise<LocalDetector> },
): Promise<Answers> {
  const path = join(of.folder, `seed-${seed}.${of.name}-${sha256(of.options).slice(0, 8)}.json`);
  if (existsSync(path)) return JSON.parse(readFileSync(path, 'utf8'));
  const detector = await of.detector();
  const answers: number[][] = lengths.map(() => []);
  for (const { thread: whole } of test) {
    const thread =
      of.name === 'untimed' ? { ...whole, posts: whole.posts.map((post) => ({ ...post, time: null })) } : whole;
    for (const [index, length] of lengths.entries()) {
      const { label } = await detector.judge(prefixOf(thread, Math.min(length, thread.posts.length)));
      answers[index].push(task.labels.indexOf(label ?? ''));
    }
  }
  writeFileSync(path, JSON.stringify(answers));
  return answers;
}

/** Three rows of the table: after the first post, after 5 and after all. */
function rowsOf(name: string, trials: readonly Trial[]): string[][] {
  const { task } = detectorSets[name];
  return lengths.map((_, length) => {
    const f1 = (system: string) => (group: number, items: Int32Array) => {
      const { gold, answers } = trials[group];
      return macroF1({ gold, predicted: answers[system][length], classes: task.labels.length, items });
    };
    const columns: { of: ReturnType<typeof f1>; isDifference: boolean }[] = [{ of: f1('ours'), isDifference: false }];
    const has = (system: string) => trials[0].answers[system] !== undefined;
    const difference = (first: string, second: string) => {
      const of = (group: number, items: Int32Array) => f1(first)(group, items) - f1(second)(group, items);
      columns.push({ of, isDifference: true });
    };
    const beside = (system: string, first: string, second: string) => {
      if (!has(system)) return;
      columns.push({ of: f1(system), isDifference: false });
      difference(first, second);
    };
    beside('balanced', 'ours', 'balanced');
    beside('offsets', 'ours', 'offsets');
    beside('balanced-raw', 'balanced-raw', 'balanced');
    beside('offsets-raw', 'offsets-raw', 'offsets');
    beside('encoder', 'encoder', 'ours');
    beside('timing', 'timing', 'ours');
    beside('untimed', 'untimed', 'ours');
    if (has('timing') && has('offsets')) difference('timing', 'offsets');
    const intervals = bootstrapGroups({
      groups: trials.map(({ gold }) => gold.length),
      seed: 1,
      resamples: 1000,
      statistics: (group, items) => columns.map(({ of }) => of(group, items)),
    });
    const cells = intervals.map(({ estimate, low, high }, index) => {
      const shown = (value: number) => (columns[index].isDifference ? signed(value, 3) : value.toFixed(3));
      return `${shown(estimate)} [${shown(low)}, ${shown(high)}]`;
    });
    return [length === 0 ? `${detectorSets[name].title}` : '', lengthNames[length], ...cells];
  });
}

/** The texts of a split for scikit-learn. */
function texts({ train, test }: Split) {
  const of = (threads: Split['train']) =>
    threads.map(({ thread, label }) => ({ label, texts: thread.posts.map(({ text }) => text) }));
  return { train: of(train), test: of(test) };
}
