/*
 * An agent with two local detectors on threads of one's own: one reads n-grams and is cheap, one reads the vectors of a sentence
 * encoder beside them and is dear. Compared with every single detector and every cascade. Usage:
 *
 *   python benchmarks/sentence-vectors.py threads.jsonl.gz --threads 700 --posts 8 --out vectors.jsonl
 *   node --import tsx benchmarks/several-detectors-threads.ts --data threads.jsonl.gz --vectors vectors.jsonl
 *     [--milliseconds 1,20] [--read 8] [--seeds 11,12,13] [--price 0.25] [--delay 0.4] [--train 100] [--labelled 150] [--test 400]
 *     [--unlabelled 300] [--options '{ "target": "probability" }'] [--runs runs/several]
 *
 * Only threads whose first --read posts have vectors take part; without --vectors, a hashing encoder stands in, which knows no meaning. A
 * judgement costs its processor time at --price, in units of the return a second: the first number of --milliseconds, and the second
 * for each post that is embedded. What judging took here, without embedding, is printed beside it. The agent also learns from --unlabelled
 * threads, with what the cheap detector says of all their posts as the label; cascades are chosen with and without those.
 * Each seed has a run directory with its log, checkpoints and result, and goes on from there. Columns, means over seeds with 95 % by
 * Student's t:
 *
 *   cost       what asking costs a thread, in units of the return; asks of the cheap and of the dear detector a thread
 *   return     share of right answers − delay × ER − cost
 *   above      macro-F1 above the best mixture of rules that are on average as early and as cheap, picked on the test threads,
 *              which favours the rules; 95 % over seeds and threads
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { markdownTable } from 'markdown-table';
import { z } from 'zod';
import { RunDirectory } from '../checkpoints/run-directory.ts';
import { allCascades, followCascade, isSingle } from '../experiments/query-agent/cascades.ts';
import { outcomeOf, type QueryOutcome, returnsOf } from '../experiments/query-agent/outcomes.ts';
import { trainInDirectories } from '../experiments/run/train-in-directories.ts';
import { seedInterval, shownInterval } from '../experiments/sweep/seed-interval.ts';
import type { Detector } from '../experts/detector.ts';
import { trainLocalDetector } from '../experts/detectors/local/train-local-detector.ts';
import type { PrefixSchedule } from '../experts/prefix-schedule.ts';
import { sha256 } from '../src/content-hash.ts';
import { splitThreads } from '../src/data/split.ts';
import { tasks } from '../src/data/task.ts';
import type { Thread } from '../src/data/thread.ts';
import { loadThreads } from '../src/data/thread-file.ts';
import { bootstrapGroups } from '../src/metrics/bootstrap.ts';
import { macroF1 } from '../src/metrics/classification.ts';
import { bestMixture, type Mixture, type PricedPoint } from '../src/metrics/pareto.ts';
import { mean } from '../src/metrics/summary-statistics.ts';
import { selectBackend } from '../src/tensor/backend.ts';
import { workContext } from '../src/work-context.ts';
import { queryAgentSchema } from '../trainers/query-agent/config.ts';
import { decideQueries } from '../trainers/query-agent/policy.ts';
import { judgedThread, type PricedDetector } from '../trainers/query-agent/query-thread.ts';
import type { QueryThread } from '../trainers/query-agent/states.ts';
import { createQueryTrainer } from '../trainers/query-agent/trainer.ts';
import { encoderOf, readVectors } from './vectors-of-file.ts';

const { values: given } = parseArgs({
  options: {
    data: { type: 'string' },
    vectors: { type: 'string' },
    read: { type: 'string', default: '8' },
    milliseconds: { type: 'string', default: '1,20' },
    price: { type: 'string', default: '0.25' },
    delay: { type: 'string', default: '0.4' },
    seeds: { type: 'string', default: '11,12,13' },
    train: { type: 'string', default: '100' },
    labelled: { type: 'string', default: '150' },
    test: { type: 'string', default: '400' },
    unlabelled: { type: 'string', default: '0' },
    options: { type: 'string', default: '{}' },
    runs: { type: 'string', default: 'runs/several-detectors' },
  },
});
if (given.data === undefined) throw new Error('give a thread file with --data');
const read = Number(given.read);
const delayCost = Number(given.delay);
const task = tasks.rumor;
const names = ['words', 'encoder'];
const labels = task.labels.length;
const lengths = [1, 2, 4, 8, 16, 32, 64];
const schedules: readonly PrefixSchedule[] = [
  { name: 'geometric', start: 1, factor: 2 },
  { name: 'lengths', lengths: lengths.filter((length) => length <= read) },
];
const config = queryAgentSchema.parse({ ...JSON.parse(given.options), delayCost });
const backend = await selectBackend('auto');
const vectors = given.vectors === undefined ? null : await readVectors(given.vectors);
const threads = (await loadThreads(given.data)).filter(
  (thread) =>
    task.goldLabel(thread) !== null &&
    (vectors === null || thread.posts.slice(0, read).every(({ text }) => vectors.has(text))),
);
console.error(`${threads.length} threads have vectors of their first ${read} posts`);
const encoder = vectors === null ? undefined : encoderOf(vectors);

interface System {
  readonly name: string;
  readonly outcomes: readonly QueryOutcome[];
}
interface SeedResult {
  readonly agent: System;
  /** Rules to show beside it: detectors asked once. */
  readonly once: readonly System[];
  /** Rules of most return on threads that the agent learnt from, by how they were chosen. */
  readonly chosen: readonly { readonly title: string; readonly system: System }[];
  readonly mixture: Mixture<PricedPoint & System> | null;
}

const shownRules = ['words at 1', 'words at 64', 'encoder at 1', `encoder at ${read}`];
const resultSchema = z.custom<SeedResult>((value) => typeof value === 'object' && value !== null);
const rules = allCascades({ names, lengths });
const [judging, embedding] = given.milliseconds.split(',').map(Number);
const spent: number[][] = [[], []];
const results: SeedResult[] = [];
for (const seed of given.seeds.split(',').map(Number)) results.push(await resultOf(seed));
print(results);

async function resultOf(seed: number): Promise<SeedResult> {
  const run = RunDirectory.create(join(given.runs, `seed-${seed}`), {
    config: { ...given, seeds: seed, agent: config },
    facts: {
      seed,
      backend: backend.name,
      device: backend.device,
      hashes: { threads: sha256(threads.map(({ id }) => id)) },
    },
  });
  if (run.isFinished()) return run.readResult(resultSchema);
  const sizes: Record<string, number> = {
    detector: Number(given.train),
    labelled: Number(given.labelled),
    test: Number(given.test),
  };
  if (given.unlabelled !== '0') sizes.unlabelled = Number(given.unlabelled);
  const parts = splitThreads(threads, { parts: sizes, seed, stratifyBy: (thread) => task.goldLabel(thread) });
  const [words, sentences] = [parts.detector, parts.detector.map((thread) => cut(thread))];
  const detectors: Detector[] = [
    await trainLocalDetector({ threads: words, task, seed }),
    // n-grams are read beside the vectors, as `detector.encoder` does.
    await trainLocalDetector({ threads: sentences, task, seed, options: { encoder: { name: 'hashing' } }, encoder }),
  ];
  const asking = { task, detectors: detectors.map(pricedDetector) };
  const judgedAll = async (own: readonly Thread[]) => {
    const all: QueryThread[] = [];
    for (const thread of own) all.push(await judgedThread(thread, asking));
    return all;
  };
  const [labelled, test] = [await judgedAll(parts.labelled), await judgedAll(parts.test)];
  const pseudoLabelled = (await judgedAll(parts.unlabelled ?? [])).map(labelledByCheapDetector);
  const learntFrom = [...labelled, ...pseudoLabelled];
  const trainer = createQueryTrainer({ threads: learntFrom, labels, config, seed });
  await trainInDirectories(trainer, {
    runs: [run],
    identities: [sha256({ names, schedules, read })],
    checkpointEvery: 50,
    context: workContext(),
  });
  const [policy] = await trainer.policies();
  trainer.dispose();
  const episodes = await decideQueries(policy, { threads: test, labels });
  const agent = { name: 'agent', outcomes: episodes.map((episode, index) => outcomeOf(test[index], episode)) };
  const follow = (own: typeof rules, of: readonly QueryThread[]) =>
    own.map(
      (rule): System => ({
        name: rule.name,
        outcomes: of.map((thread) => outcomeOf(thread, followCascade(thread, rule))),
      }),
    );
  const onTest = follow(rules, test);
  const best = (own: typeof rules, of: readonly QueryThread[]) => {
    const scores = follow(own, of).map(({ outcomes }) => mean(returnsOf(outcomes, delayCost)));
    const { name } = own[scores.indexOf(Math.max(...scores))];
    return onTest.find((system) => system.name === name) ?? onTest[0];
  };
  const chosen = [
    { title: 'best single detector of the labelled threads', system: best(rules.filter(isSingle), labelled) },
    { title: 'best cascade of the labelled threads', system: best(rules, labelled) },
  ];
  if (pseudoLabelled.length > 0)
    chosen.push({ title: 'best cascade of these and the unlabelled', system: best(rules, learntFrom) });
  const points = onTest.map((system) => ({ ...system, ...pointOf(system) }));
  const result = {
    agent,
    once: onTest.filter(({ name }) => shownRules.includes(name)),
    chosen,
    mixture: bestMixture(points, pointOf(agent)),
  };
  run.writeResult(result);
  console.error(`seed ${seed}: ${[result.agent, ...chosen.map(({ system }) => system)].map(shown).join(' | ')}`);
  return result;
}

/** A thread as the encoder's detector reads it. */
function cut(thread: Thread): Thread {
  return { ...thread, posts: thread.posts.slice(0, read) };
}

/** A thread whose label is what the cheap detector says of all its posts. */
function labelledByCheapDetector(thread: QueryThread): QueryThread {
  return { ...thread, gold: thread.judgements.at(-1)?.[0]?.label ?? null };
}

/** A detector with its measured times. */
function pricedDetector(detector: Detector, index: number): PricedDetector {
  return {
    schedule: schedules[index],
    async judge(prefix) {
      const before = process.cpuUsage();
      const judgement = await detector.judge(prefix);
      const { user, system } = process.cpuUsage(before);
      spent[index].push((user + system) / 1000);
      return judgement;
    },
    costOf(_, { posts }) {
      const milliseconds = judging + (index === 0 ? 0 : embedding * posts.length);
      return (Number(given.price) * milliseconds) / 1000;
    },
  };
}

function pointOf({ outcomes }: System): PricedPoint {
  return {
    macroF1: f1Of(outcomes),
    er: mean(outcomes.map(({ postsUsed, posts }) => postsUsed / posts)),
    // What asking costs takes the place of the number of calls.
    calls: mean(outcomes.map(({ cost }) => cost)),
  };
}

function f1Of(outcomes: readonly QueryOutcome[], items?: Int32Array): number {
  const gold = outcomes.map((own) => own.gold);
  const predicted = outcomes.map((own) => own.predicted);
  return macroF1({ gold, predicted, classes: labels, ...(items && { items }) });
}

function columnsOf(system: System): number[] {
  const { outcomes } = system;
  const { macroF1: f1, er, calls: cost } = pointOf(system);
  const asks = names.map((_, detector) => mean(outcomes.map((own) => own.asks[detector])));
  return [f1, er, cost, ...asks, mean(returnsOf(outcomes, delayCost))];
}

function shown(system: System): string {
  return `${system.name}: ${columnsOf(system)
    .map((value) => value.toFixed(3))
    .join(' ')}`;
}

function print(all: readonly SeedResult[]): void {
  const titles = all[0].chosen.map(({ title }) => title);
  const chosenOf = ({ chosen }: SeedResult, title: string) =>
    chosen.find((own) => own.title === title)?.system ?? chosen[0].system;
  const onceOf = ({ once }: SeedResult, name: string) => once.find((rule) => rule.name === name) ?? once[0];
  const others = [
    ...titles.map((name) => ({ name, of: (own: SeedResult) => chosenOf(own, name) })),
    ...shownRules.map((name) => ({ name, of: (own: SeedResult) => onceOf(own, name) })),
  ];
  const rows = [{ name: 'agent', of: ({ agent }: SeedResult) => agent }, ...others];
  const table = rows.map(({ name, of }) => {
    const values = all.map((own) => columnsOf(of(own)));
    return [name, ...values[0].map((_, column) => shownInterval(seedInterval(values.map((own) => own[column])), 3))];
  });
  console.log(markdownTable([['system', 'macro-F1', 'ER', 'cost', 'words', 'encoder', 'return'], ...table]));
  const intervals = bootstrapGroups({
    groups: all.map(({ agent }) => agent.outcomes.length),
    seed: 1,
    statistics(group, items) {
      const { agent, mixture } = all[group];
      const among = (own: readonly number[]) => items.reduce((sum, item) => sum + own[item], 0) / items.length;
      const worth = ({ outcomes }: System) => among(returnsOf(outcomes, delayCost));
      const rulesF1 = mixture?.reduce((sum, { point, share }) => sum + share * f1Of(point.outcomes, items), 0);
      return [
        rulesF1 === undefined ? Number.NaN : f1Of(agent.outcomes, items) - rulesF1,
        ...others.map(({ of }) => worth(agent) - worth(of(all[group]))),
      ];
    },
  });
  const signed = (value: number) => `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(3)}`;
  for (const [index, what] of [
    'macro-F1 above mixtures of rules as early and as cheap, picked on the test threads',
    ...others.map(({ name }) => `return above “${name}”`),
  ].entries()) {
    const { estimate, low, high } = intervals[index];
    console.log(`\n${what}: ${signed(estimate)} [${signed(low)}, ${signed(high)}]`);
  }
  if (spent.some((own) => own.length === 0)) return;
  const took = spent.map((own) => `${mean(own).toFixed(2)} ms`);
  console.log(
    `\nProcessor time a judgement, without embedding: ${names.map((name, index) => `${name} ${took[index]}`).join(', ')}`,
  );
}
