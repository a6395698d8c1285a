/*
 * GAIL of others beside ours on the same threads, splits, vectors and judgements: processor time an iteration, in turns, and
 * what the agents decide of the test threads in the end. The others are the published trainer of EARD
 * (https://github.com/znhy1024/Few-Shot-EARD), where --checkout says where it is, and else the library `imitation`
 * (https://github.com/HumanCompatibleAI/imitation) with stable-baselines3. Usage:
 *
 *   taskset -c 1 node --import tsx benchmarks/beside-other-code.ts [--checkout Few-Shot-EARD] --python venv/bin/python
 *     [--data threads.jsonl] [--dimensions 256,1024] [--rounds 3] [--timed 20] [--seeds 1,2,3] [--iterations 1000]
 *     [--backend wasm|tensorflow|cpu] [--runs runs]
 *
 * The synthetic stream where there is no --data. One split; the seeds are of the trainings. Agents are trained to the end with
 * the first of the dimensions; `--rounds 0` leaves the timing out, `--seeds ""` the decisions. published-eard.py and
 * imitation-gail.py run the others and say what was done to run them.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { markdownTable } from 'markdown-table';
import { policyNetwork } from '../checkpoints/policy/network.ts';
import { allPosts, firstPosts } from '../checkpoints/policy/rules.ts';
import type { Stop } from '../checkpoints/policy/stops.ts';
import { openCache } from '../experiments/stop-agent/cache.ts';
import { decide, testThreads } from '../experiments/stop-agent/decisions.ts';
import { type Experiment, resolveExperiment, taskOf } from '../experiments/stop-agent/experiment.ts';
import { scoreSystem } from '../experiments/stop-agent/metrics.ts';
import { openData } from '../experiments/stop-agent/parts.ts';
import { halfway } from '../experiments/stop-agent/policy-settings.ts';
import { type PreparedTrial, prepareTrial, splitMaterial } from '../experiments/stop-agent/prepare.ts';
import { decideByPolicies, learntPolicy } from '../experiments/stop-agent/states.ts';
import { InputError } from '../src/errors.ts';
import { mean } from '../src/metrics/summary-statistics.ts';
import { backendSchema, selectBackend } from '../src/tensor/backend.ts';
import { workContext } from '../src/work-context.ts';
import { createStopAgent } from '../trainers/stop-agent/create.ts';
import {
  imitationLibrary,
  type OtherCode,
  type Outcome,
  publishedCode,
  runOtherCode,
  writeWorld,
} from './other-code.ts';

const { values: args } = parseArgs({
  options: {
    checkout: { type: 'string' },
    python: { type: 'string', default: 'python3' },
    data: { type: 'string' },
    dimensions: { type: 'string', default: '256,1024' },
    rounds: { type: 'string', default: '3' },
    timed: { type: 'string', default: '20' },
    seeds: { type: 'string', default: '1,2,3' },
    iterations: { type: 'string', default: '1000' },
    backend: { type: 'string', default: 'wasm' },
    runs: { type: 'string', default: 'runs' },
  },
});
/** Not timed: on both sides the first ten iterations have more discriminator epochs, and eleven teach a normaliser of the others. */
const warmup = 12;
const folder = mkdtempSync(join(tmpdir(), 'earshot-beside-'));
try {
  const { checkout, python } = args;
  const other = checkout === undefined ? await imitationLibrary({ python }) : await publishedCode({ checkout, python });
  const { name } = await selectBackend(backendSchema.parse(args.backend));
  console.log(`backend ${name}, data ${args.data ?? 'synthetic'}`);
  const dimensions = numbers(args.dimensions);
  if (Number(args.rounds) > 0) await compareTimes(other, dimensions);
  if (args.seeds !== '') await compareDecisions(other, dimensions[0]);
} catch (error) {
  if (!(error instanceof InputError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** The input of both sides. */
interface World {
  /** Where other code finds it. */
  readonly folder: string;
  readonly experiment: Experiment;
  readonly trial: PreparedTrial;
}

async function makeWorld(dimensions: number): Promise<World> {
  const experiment = resolveExperiment(
    {
      name: 'beside-other-code',
      data: args.data === undefined ? { synthetic: { threads: 700 } } : { threads: args.data },
      split: { detector: 150, demonstrations: 50, environment: 100, test: 400 },
      encoder: { name: 'hashing', dimensions },
    },
    'the benchmark',
  );
  const cache = await openCache(join(args.runs, 'cache'), experiment);
  const data = await openData(experiment, () => {});
  const settings = { experiment, seed: 1, data, cache, context: workContext() };
  const trial = await prepareTrial(await splitMaterial(settings), settings);
  const world = { folder: join(folder, `${dimensions}`), experiment, trial };
  const embed = (texts: readonly string[]) => cache.embeddings.embed(texts);
  await writeWorld(world.folder, { trial, task: taskOf(experiment), dimensions, embed });
  return world;
}

interface Training {
  readonly world: World;
  readonly seed: number;
  readonly iterations: number;
}

/** @throws Error when the other code was not told what ours was */
async function trainTheirs(other: OtherCode, { world, seed, iterations }: Training): Promise<Outcome> {
  const outcome = await runOtherCode(other, { world: world.folder, seed, iterations });
  const { problem, parts, sequences } = world.trial;
  for (const [expert, count] of Object.entries(outcome.demonstrations)) {
    const ours = problem.demonstrations.filter((demonstration) => demonstration.expert === expert).length;
    if (ours !== count) throw new Error(`${expert}: ${ours} demonstrations, and ${count} of the other code`);
  }
  for (const [index, { id }] of parts.test.entries()) {
    const { postsUsed, label } = outcome.decisions[index];
    const { predicted } = sequences.get(id)!;
    if (label !== predicted[Math.min(postsUsed, predicted.length) - 1])
      throw new Error(`thread ${id}: the other code was told ${label} after ${postsUsed} posts, and ours was not`);
  }
  return outcome;
}

async function trainOurs({ world, seed, iterations }: Training) {
  const { experiment, trial } = world;
  const config = { ...experiment.agent, iterations };
  const trainer = await createStopAgent({ seed, config, problem: trial.problem });
  const secondsOfIterations: number[] = [];
  while (trainer.iteration < trainer.iterations) {
    const before = process.cpuUsage();
    await trainer.iterate(workContext());
    const { user, system } = process.cpuUsage(before);
    secondsOfIterations.push((user + system) / 1e6);
  }
  const policy = await trainer.policy();
  trainer.dispose();
  return { policy, secondsOfIterations };
}

async function compareTimes(other: OtherCode, dimensions: readonly number[]): Promise<void> {
  const iterations = warmup + Number(args.timed);
  const meanOfTimed = (seconds: readonly number[]) => mean(seconds.slice(warmup));
  const rows: string[][] = [];
  for (const columns of dimensions) {
    const world = await makeWorld(columns);
    const ratios: string[] = [];
    for (let round = 1; round <= Number(args.rounds); round++) {
      const theirs = await trainTheirs(other, { world, seed: 1, iterations });
      const ours = await trainOurs({ world, seed: 1, iterations });
      ratios.push((meanOfTimed(theirs.secondsOfIterations) / meanOfTimed(ours.secondsOfIterations)).toFixed(2));
      console.log(`${columns} dimensions, round ${round}: ${ratios.at(-1)}`);
    }
    rows.push([String(columns), ratios.join(', ')]);
  }
  console.log(`\nProcessor time of an iteration, ${other.name} over ours, in each round:\n`);
  console.log(markdownTable([['dimensions', 'ratio'], ...rows]));
}

async function compareDecisions(other: OtherCode, dimensions: number): Promise<void> {
  const iterations = Number(args.iterations);
  const bySystem = new Map<string, Score[]>();
  const world = await makeWorld(dimensions);
  for (const seed of numbers(args.seeds))
    for (const score of await scoresOf(other, { world, seed, iterations })) {
      console.log(`seed ${seed}, ${score.name}: ${row([score]).slice(1).join(', ')}`);
      bySystem.set(score.name, [...(bySystem.get(score.name) ?? []), score]);
    }
  console.log(`\nAfter ${iterations} iterations with ${dimensions} dimensions, means over seeds ${args.seeds}:\n`);
  const head = ['system', 'macro-F1', 'ER', 'stopped at the first post', 'processor time of training, over ours'];
  console.log(markdownTable([head, ...Array.from(bySystem.values(), row)], { align: ['l', 'r', 'r', 'r', 'r'] }));
}

/** The decisions of one system for the test threads of one world. */
interface Score {
  readonly name: string;
  readonly macroF1: number;
  readonly er: number;
  /** Share of the threads that are stopped at the first post. */
  readonly atFirstPost: number;
  /** Processor time of its training over that of ours; null for a rule. */
  readonly training: number | null;
}

function row(scores: readonly Score[]): string[] {
  const meanOf = (of: (score: Score) => number | null, decimals: number) => {
    const values = scores.map(of).filter((value) => value !== null);
    return values.length === 0 ? '–' : mean(values).toFixed(decimals);
  };
  return [
    scores[0].name,
    meanOf(({ macroF1 }) => macroF1, 3),
    meanOf(({ er }) => er, 3),
    meanOf(({ atFirstPost }) => atFirstPost, 3),
    meanOf(({ training }) => training, 2),
  ];
}

async function scoresOf(other: OtherCode, { world, seed, iterations }: Training): Promise<Score[]> {
  const { experiment, trial } = world;
  const task = taskOf(experiment);
  const tested = testThreads(trial.parts.test, { sequences: trial.sequences, task });
  const theirs = await trainTheirs(other, { world, seed, iterations });
  const theirStops: Stops = theirs.decisions.map(({ postsUsed }) => ({ postsUsed, hours: null }));
  const { policy, secondsOfIterations } = await trainOurs({ world, seed, iterations });
  const { sequences, materials } = trial;
  const learnt = await learntPolicy(policyNetwork(policy), { ...materials, threshold: halfway });
  const { systems } = await decideByPolicies({ ours: learnt }, trial.parts.test, { ...materials, sequences });
  const unit = sum(secondsOfIterations);
  const trained = [
    { name: other.name, stops: theirStops, seconds: sum(theirs.secondsOfIterations) },
    { name: 'ours', stops: systems[0].decisions, seconds: unit },
  ];
  const rules = [1, 4, 10, Number.MAX_SAFE_INTEGER].map((count) => ({
    name: count === Number.MAX_SAFE_INTEGER ? allPosts.name : firstPosts(count).name,
    stops: tested.map(({ hours }) => ({ postsUsed: Math.min(count, hours.length), hours: null })),
    seconds: null,
  }));
  return [...trained, ...rules].map(({ name, stops, seconds }) => {
    const { values } = scoreSystem(decide(name, tested, stops), { labels: task.labels });
    return {
      name,
      macroF1: values.macroF1 ?? Number.NaN,
      er: values.er ?? Number.NaN,
      atFirstPost: mean(stops.map(({ postsUsed }) => Number(postsUsed === 1))),
      training: seconds === null ? null : seconds / unit,
    };
  });
}

type Stops = readonly Pick<Stop, 'postsUsed' | 'hours'>[];

function numbers(list: string): number[] {
  return list.split(',').map(Number);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
