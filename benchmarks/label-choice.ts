/*
 * Labels chosen by `earshot label` beside as many drawn at random: macro-F1 of the local detector after all posts on threads that nobody
 * labelled, and what labels so chosen say of it. A line of JSON for each finished run is added to a file, so the same command goes on
 * where it was cut off. Usage:
 *
 *   node --import tsx benchmarks/label-choice.ts --data folder-of-the-sets --lines lines.jsonl --seeds 21,22
 *   node --import tsx benchmarks/label-choice.ts --lines lines.jsonl        prints the tables
 *
 * Threads have their first 30 posts. 600 of them are tested on, or two fifths of a small set; the others are the pool. `estimate` is
 * the cross-validated macro-F1 over the labels drawn at random that had no part in the choice, `naive` over all labels, in ten folds.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { markdownTable } from 'markdown-table';
import { z } from 'zod';
import { crossValidate } from '../experiments/judging/cross-validate.ts';
import { chanceOrder, learnEvery, marksOf, nextChoice, startOf } from '../experiments/labelling/choose.ts';
import { choiceOf } from '../experiments/labelling/labelling.ts';
import { signed } from '../experiments/report/shown-numbers.ts';
import { trainLocalDetector } from '../experts/detectors/local/train-local-detector.ts';
import { splitThreads } from '../src/data/split.ts';
import { type Task, taskOfLabel, tasks } from '../src/data/task.ts';
import { prefixOf, type Thread } from '../src/data/thread.ts';
import { macroF1 } from '../src/metrics/classification.ts';
import { mean, meanAndDeviation } from '../src/metrics/summary-statistics.ts';
import { crossFittingSets, setNames, threadsOf } from './cross-fitting-draws.ts';

const { values: args } = parseArgs({
  options: { data: { type: 'string' }, lines: { type: 'string' }, seeds: { type: 'string', default: '' } },
});
if (args.lines === undefined) throw new Error('give --lines, the file that runs are added to');
const { lines: file, data } = args;
const strategies = ['random', 'chosen'] as const;
const tested = { random: [100, 150, 200, 230], chosen: [100, 150, 200] };
const mostTested = 600;
const estimateAt = 200;
const testFolds = 10;

const lineSchema = z.object({
  set: z.enum(setNames),
  seed: z.int(),
  strategy: z.enum(strategies),
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

/** The labels in the order in which they are asked for, each with how it was chosen. */
async function* askedInOrder(
  pool: readonly Thread[],
  { task, seed, strategy }: { task: Task; seed: number; strategy: Line['strategy'] },
): AsyncGenerator<Thread & { chosen: 'random' | 'margin' }> {
  const byId = new Map(pool.map((thread) => [thread.id, thread]));
  const order = chanceOrder(byId.keys(), seed);
  const labelled = new Map<string, Thread & { chosen: 'random' | 'margin' }>();
  let ranking: readonly string[] = [];
  for (;;) {
    const open = order.filter((id) => !labelled.has(id));
    if (strategy === 'chosen' && labelled.size >= learnEvery && labelled.size % learnEvery === 0) {
      const threads = [...labelled.values()];
      const start = new Set(order.slice(0, startOf(threads.map(({ chosen }) => chosen))));
      const choice = await choiceOf(threads, { open: open.map((id) => byId.get(id)!), start, task, seed });
      ranking = choice?.ranking ?? [];
    }
    const choice = nextChoice({ open, answered: labelled.size, ranking });
    if (choice === null) return;
    const thread = { ...byId.get(choice.thread)!, chosen: choice.chosen };
    labelled.set(choice.thread, thread);
    yield thread;
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
  const ids = parts.pool.map(({ id }) => id);
  const order = chanceOrder(ids, seed);
  const labelled: (Thread & { chosen: 'random' | 'margin' })[] = [];
  const scores: Record<string, number> = {};
  let estimate: Line['estimate'] = null;
  for await (const thread of askedInOrder(parts.pool, { task, seed, strategy })) {
    labelled.push(thread);
    const { length } = labelled;
    if (tested[strategy].includes(length)) scores[length] = await scoreOf(labelled);
    if (length === estimateAt) {
      const scoreOver = async (threads: readonly Thread[]) => {
        const { heldOut } = await crossValidate({ threads, task, seed, detector: {}, folds: testFolds, curve: false });
        return { tested: heldOut.threads, macroF1: heldOut.systems[0].macroF1 };
      };
      const seen = new Set(labelled.map(({ id }) => id));
      const marks = marksOf(order, { seen, chosen: labelled.map(({ chosen }) => chosen) });
      const fair = await scoreOver(labelled.map((thread) => ({ ...thread, chosen: marks.get(thread.id) })));
      const naive = labelled.some(({ chosen }) => chosen === 'margin')
        ? await scoreOver(labelled.map(({ chosen: _, ...thread }) => thread))
        : fair;
      estimate = { labels: length, random: fair.tested, estimate: fair.macroF1, naive: naive.macroF1 };
    }
    if (length >= Math.max(...tested[strategy])) break;
  }
  return { set, seed, strategy, scores, estimate };
}

if (data !== undefined)
  for (const seed of args.seeds.split(',').map(Number))
    for (const strategy of strategies)
      for (const set of setNames) {
        if (lines().some((line) => line.set === set && line.seed === seed && line.strategy === strategy)) continue;
        appendFileSync(file, `${JSON.stringify(await measured(set, seed, strategy))}\n`);
      }

const all = lines();
const linesOf = (set: Line['set'], strategy: Line['strategy']) =>
  all.filter((line) => line.set === set && line.strategy === strategy);
/** `+0.012 ± 0.004`: a mean of differences and its standard error over draws. */
const shown = (differences: readonly number[]) => {
  if (differences.length === 0) return '';
  const { mean, deviation } = meanAndDeviation(differences);
  return `${signed(mean, 3)} ± ${((deviation ?? 0) / Math.sqrt(differences.length)).toFixed(3)}`;
};
const print = (heading: readonly string[], rows: readonly (readonly string[])[]) =>
  console.log(`${markdownTable([[...heading], ...rows.map((row) => [...row])], { align: ['l', 'l'] })}\n`);
const rowsOf = (cellsOf: (of: Line[], strategy: Line['strategy']) => readonly string[]) =>
  setNames.flatMap((set) =>
    strategies.map((strategy) => {
      const of = linesOf(set, strategy);
      return [crossFittingSets[set].title, strategy, String(of.length), ...cellsOf(of, strategy)];
    }),
  );

print(
  ['set', 'labels', 'draws', ...tested.random.map(String)],
  rowsOf((of, strategy) =>
    tested.random.map((labels) =>
      tested[strategy].includes(labels) && of.length > 0 ? mean(of.map(({ scores }) => scores[labels])).toFixed(3) : '',
    ),
  ),
);

const pairs = [...tested.chosen.map((labels) => [labels, labels]), [150, 230]] as const;
print(
  ['set', 'draws', ...tested.chosen.map((labels) => `${labels} labels`), '150 chosen − 230 random'],
  setNames.map((set) => {
    const draws = linesOf(set, 'chosen').flatMap(({ seed, scores }) => {
      const random = linesOf(set, 'random').find((line) => line.seed === seed);
      return random === undefined ? [] : [{ chosen: scores, random: random.scores }];
    });
    const differences = pairs.map(([chosen, random]) =>
      shown(draws.map((draw) => draw.chosen[chosen] - draw.random[random])),
    );
    return [crossFittingSets[set].title, String(draws.length), ...differences];
  }),
);

print(
  ['set', 'labels', 'draws', 'tested', 'score', 'estimate − score', 'naive − score'],
  rowsOf((of) => {
    const estimates = of.flatMap(({ estimate, scores }) =>
      estimate === null ? [] : [{ ...estimate, score: scores[estimate.labels] }],
    );
    if (estimates.length === 0) return [];
    return [
      mean(estimates.map(({ random }) => random)).toFixed(0),
      mean(estimates.map(({ score }) => score)).toFixed(3),
      shown(estimates.map(({ estimate, score }) => estimate - score)),
      shown(estimates.map(({ naive, score }) => naive - score)),
    ];
  }),
);
