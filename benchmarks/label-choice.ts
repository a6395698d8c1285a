/*
 * Labels chosen by `earshot label` beside as many drawn at random: macro-F1 of the local detector after all posts on threads that nobody
 * labelled, and what labels so chosen say of it. A line of JSON for each finished run is added to a file, so the same command goes on
 * where it was cut off. Usage:
 *
 *   node --import tsx benchmarks/label-choice.ts --data folder-of-the-sets --lines lines.jsonl [--sets weibo,twitter15,…] [--seeds 1,2,3]
 *     [--strategies random,chosen] [--most 350] [--estimate-at 200]
 *   node --import tsx benchmarks/label-choice.ts --lines lines.jsonl        prints the tables
 *
 * Threads have their first 30 posts. 600 of them are tested on, or two fifths of a small set; the others are the pool. `estimate` is
 * the cross-validated macro-F1 over the labels drawn at random that had no part in the choice, `naive` over all labels.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { markdownTable } from 'markdown-table';
import { z } from 'zod';
import { crossValidate } from '../experiments/judging/cross-validate.ts';
import { chanceOrder, learnEvery, leastSure, nextChoice, randomStart } from '../experiments/labelling/choose.ts';
import { quickOptions } from '../experiments/labelling/labelling.ts';
import { signed } from '../experiments/report/shown-numbers.ts';
import { trainLocalDetector } from '../experts/detectors/local/train-local-detector.ts';
import { hasEveryLabel } from '../src/data/label-folds.ts';
import { splitThreads } from '../src/data/split.ts';
import { type Task, taskOfLabel, tasks } from '../src/data/task.ts';
import { prefixOf, type Thread } from '../src/data/thread.ts';
import { macroF1 } from '../src/metrics/classification.ts';
import { mean, meanAndDeviation } from '../src/metrics/summary-statistics.ts';
import { crossFittingSets, setNames, threadsOf } from './cross-fitting-draws.ts';

const { values: args } = parseArgs({
  options: {
    data: { type: 'string' },
    lines: { type: 'string' },
    sets: { type: 'string', default: setNames.join() },
    seeds: { type: 'string', default: '11,12,13,14,15' },
    strategies: { type: 'string', default: 'random,chosen' },
    most: { type: 'string', default: '350' },
    'estimate-at': { type: 'string', default: '200' },
  },
});
if (args.lines === undefined) throw new Error('give --lines, the file that runs are added to');
const { lines: file, data } = args;
const tested = { random: [100, 150, 200, 230, 350], chosen: [100, 150, 200, 350] };
const mostTested = 600;
const estimateAt = Number(args['estimate-at']);

const lineSchema = z.object({
  set: z.enum(setNames),
  seed: z.int(),
  strategy: z.enum(['random', 'chosen']),
  /** Macro-F1 by number of labels. */
  scores: z.record(z.string(), z.number()),
  estimate: z.object({ labels: z.int(), random: z.int(), estimate: z.number(), naive: z.number() }).nullable(),
});
type Line = z.infer<typeof lineSchema>;

function lines(): Line[] {
  if (!existsSync(file!)) return [];
  const rows = readFileSync(file!, 'utf8').trim().split('\n');
  return rows.filter((row) => row !== '').map((row) => lineSchema.parse(JSON.parse(row)));
}

function taskOfSet(set: Line['set']): Task {
  const { task } = crossFittingSets[set];
  return typeof task === 'string' ? tasks[task] : taskOfLabel({ name: task.label, labels: [...task.classes] });
}

/** The labels in the order in which they are asked for. */
async function* askedInOrder(
  pool: readonly Thread[],
  { task, seed, strategy }: { task: Task; seed: number; strategy: Line['strategy'] },
): AsyncGenerator<{ thread: Thread; chosen: 'random' | 'margin' }> {
  const byId = new Map(pool.map((thread) => [thread.id, thread]));
  const order = chanceOrder(byId.keys(), seed);
  const labelled = new Map<string, 'random' | 'margin'>();
  let ranking: string[] = [];
  for (;;) {
    const open = order.filter((id) => !labelled.has(id));
    const whole = (ids: Iterable<string>) => Array.from(ids, (id) => byId.get(id)!);
    if (strategy === 'chosen' && labelled.size >= randomStart && labelled.size % learnEvery === 0) {
      const start = new Set(order.slice(0, randomStart));
      const threads = whole(
        [...labelled].filter(([id, chosen]) => chosen === 'margin' || start.has(id)).map(([id]) => id),
      );
      if (hasEveryLabel(threads, task)) {
        const detector = await trainLocalDetector({ threads, task, seed, options: quickOptions });
        ({ ranking } = await leastSure(whole(open), detector));
      }
    }
    const choice = nextChoice({ open, answered: labelled.size, ranking });
    if (choice === null) return;
    labelled.set(choice.thread, choice.chosen);
    yield { thread: byId.get(choice.thread)!, chosen: choice.chosen };
  }
}

async function measured(set: Line['set'], seed: number, strategy: Line['strategy']): Promise<Line> {
  const task = taskOfSet(set);
  const threads = (await threadsOf(set, data!)).filter((thread) => task.goldLabel(thread) !== null);
  const test = Math.min(mostTested, Math.floor(0.4 * threads.length));
  const parts = splitThreads(threads, {
    parts: { test, pool: threads.length - test },
    seed,
    stratifyBy: (thread) => task.goldLabel(thread),
  });
  const gold = parts.test.map((thread) => task.goldLabel(thread) ?? 0);
  const scoreOf = async (labelled: readonly Thread[]) => {
    const detector = await trainLocalDetector({ threads: labelled, task, seed });
    const predicted = [];
    for (const thread of parts.test)
      predicted.push(task.labels.indexOf((await detector.judge(prefixOf(thread, thread.posts.length))).label ?? ''));
    return macroF1({ gold, predicted, classes: task.labels.length });
  };
  const places = new Map(
    chanceOrder(
      parts.pool.map(({ id }) => id),
      seed,
    ).map((id, place) => [id, place]),
  );
  const labelled: Thread[] = [];
  const scores: Record<string, number> = {};
  let estimate: Line['estimate'] = null;
  for await (const { thread } of askedInOrder(parts.pool, { task, seed, strategy })) {
    labelled.push(thread);
    const { length } = labelled;
    if (tested[strategy].includes(length) || length === estimateAt) scores[length] = await scoreOf(labelled);
    if (length === estimateAt) {
      const has = new Set(labelled.map(({ id }) => id));
      const first = [...places].find(([id]) => !has.has(id))?.[1] ?? places.size;
      const start = strategy === 'random' ? 0 : randomStart;
      const marked = labelled.map((each): Thread => {
        const place = places.get(each.id) ?? 0;
        return { ...each, chosen: place < start ? 'start' : place < first ? 'random' : 'margin' };
      });
      const { heldOut } = await crossValidate({ threads: marked, task, seed, detector: {}, curve: false });
      const naive =
        strategy === 'random'
          ? heldOut
          : (await crossValidate({ threads: labelled, task, seed, detector: {}, curve: false })).heldOut;
      estimate = {
        labels: length,
        random: heldOut.threads,
        estimate: heldOut.systems[0].macroF1,
        naive: naive.systems[0].macroF1,
      };
    }
    if (length >= Math.min(Number(args.most), Math.max(...tested[strategy], estimateAt))) break;
  }
  return { set, seed, strategy, scores, estimate };
}

if (data !== undefined) {
  for (const seed of args.seeds.split(',').map(Number))
    for (const set of args.sets.split(',').map((name) => z.enum(setNames).parse(name)))
      for (const strategy of args.strategies.split(',').map((name) => z.enum(['random', 'chosen']).parse(name))) {
        if (lines().some((line) => line.set === set && line.seed === seed && line.strategy === strategy)) continue;
        const line = await measured(set, seed, strategy);
        appendFileSync(file, `${JSON.stringify(line)}\n`);
        console.error(JSON.stringify(line));
      }
}

const all = lines();
const of = (set: string, strategy: string) => all.filter((line) => line.set === set && line.strategy === strategy);
const rows = setNames.flatMap((set) =>
  (['random', 'chosen'] as const).map((strategy) => {
    const ofStrategy = of(set, strategy);
    const cells = tested.random.map((labels) => {
      const values = ofStrategy.flatMap(({ scores }) => scores[labels] ?? []);
      return values.length === 0 ? '' : mean(values).toFixed(3);
    });
    return [strategy === 'random' ? crossFittingSets[set].title : '', strategy, String(ofStrategy.length), ...cells];
  }),
);
console.log(markdownTable([['set', 'labels', 'seeds', ...tested.random.map(String)], ...rows]));
const estimates = setNames.flatMap((set) =>
  (['random', 'chosen'] as const).flatMap((strategy) => {
    const ofStrategy = of(set, strategy).flatMap(({ estimate, scores }) =>
      estimate === null ? [] : [{ ...estimate, score: scores[estimate.labels] }],
    );
    if (ofStrategy.length === 0) return [];
    const shown = (values: readonly number[]) =>
      `${signed(mean(values), 3)} ± ${((meanAndDeviation(values).deviation ?? 0) / Math.sqrt(values.length)).toFixed(3)}`;
    return [
      [
        strategy === 'random' ? crossFittingSets[set].title : '',
        strategy,
        String(ofStrategy.length),
        mean(ofStrategy.map(({ random }) => random)).toFixed(0),
        mean(ofStrategy.map(({ score }) => score)).toFixed(3),
        shown(ofStrategy.map(({ estimate, score }) => estimate - score)),
        shown(ofStrategy.map(({ naive, score }) => naive - score)),
      ],
    ];
  }),
);
const heading = ['set', 'labels', 'seeds', 'tested', 'score', 'estimate − score', 'naive − score'];
console.log(`\n${markdownTable([heading, ...estimates])}`);
