/*
 * The exact policy gradient beside 1,000 iterations of imitation on the same threads: what each decides of the test part, and what its
 * training takes. Judgements, demonstrations and states are made before the clock starts. Usage:
 *
 *   node --import tsx benchmarks/exact-policy-gradient-beside-imitation.ts --data threads.jsonl [--task rumor] [--seeds 41,42]
 *     [--detector 150] [--iterations 1000] [--runs runs]
 *
 * The first is imitation with its defaults; the second sees its detector's judgements and climbs the exact expected return, as in
 * experiments/recipes/asking.yaml.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { markdownTable } from 'markdown-table';
import { policyNetwork } from '../checkpoints/policy/network.ts';
import { openCache } from '../experiments/stop-agent/cache.ts';
import { agentName } from '../experiments/stop-agent/decisions.ts';
import { resolveExperiment, taskOf } from '../experiments/stop-agent/experiment.ts';
import { scoreSystem } from '../experiments/stop-agent/metrics.ts';
import { openData } from '../experiments/stop-agent/parts.ts';
import { halfway } from '../experiments/stop-agent/policy-settings.ts';
import { prepareTrial, splitMaterial } from '../experiments/stop-agent/prepare.ts';
import { decideByPolicies, learntPolicy } from '../experiments/stop-agent/states.ts';
import { selectBackend } from '../src/tensor/backend.ts';
import { workContext } from '../src/work-context.ts';
import { createStopAgent } from '../trainers/stop-agent/create.ts';
import { trainToEnd } from '../trainers/trainer.ts';

const { values: args } = parseArgs({
  options: {
    data: { type: 'string' },
    task: { type: 'string', default: 'rumor' },
    seeds: { type: 'string', default: '41,42' },
    detector: { type: 'string', default: '150' },
    iterations: { type: 'string', default: '1000' },
    runs: { type: 'string', default: 'runs' },
  },
});
if (args.data === undefined) throw new Error('give a thread file with --data');
const backend = await selectBackend('auto');
console.log(`backend ${backend.name} (${backend.device})`);
const iterations = Number(args.iterations);

const trainings = {
  'exact policy gradient, detector-aware': {
    state: {
      posts: 'none',
      observesDetector: true,
      actsAt: 'queried-posts',
      querySchedule: { name: 'geometric', factor: 1.5 },
    },
    agent: {
      algorithm: 'exact-policy-gradient',
      iterations: 100,
      hidden: 8,
      maxPosts: 30,
      task: { learningRate: 0.01, delayCost: 0.4, environment: 'pseudo-labelled' },
    },
  },
  'imitation, paper': { state: {}, agent: { iterations, maxPosts: 30 } },
};

const rows: { name: string; macroF1: number; er: number; queries: number; seconds: number }[] = [];
for (const [name, parts] of Object.entries(trainings)) {
  const measured: Omit<(typeof rows)[number], 'name'>[] = [];
  for (const seed of args.seeds.split(',').map(Number)) {
    const measures = await measure(parts, seed);
    console.log(`${name}, seed ${seed}: ${JSON.stringify(measures)}`);
    measured.push(measures);
  }
  const mean = (of: (each: (typeof measured)[number]) => number) =>
    measured.reduce((sum, each) => sum + of(each), 0) / measured.length;
  rows.push({
    name,
    macroF1: mean((each) => each.macroF1),
    er: mean((each) => each.er),
    queries: mean((each) => each.queries),
    seconds: mean((each) => each.seconds),
  });
}
const shortest = Math.min(...rows.map(({ seconds }) => seconds));
console.log(
  markdownTable(
    [
      ['training', 'macro-F1', 'ER', 'queries per thread', 'processor seconds', 'over the shortest'],
      ...rows.map(({ name, macroF1, er, queries, seconds }) => [
        name,
        macroF1.toFixed(3),
        er.toFixed(3),
        queries.toFixed(1),
        seconds.toFixed(1),
        (seconds / shortest).toFixed(0),
      ]),
    ],
    { align: ['l', 'r', 'r', 'r', 'r', 'r'] },
  ),
);

async function measure(parts: { state: object; agent: object }, seed: number) {
  const experiment = resolveExperiment(
    {
      name: 'beside',
      task: args.task,
      data: { threads: args.data },
      split: { detector: Number(args.detector), demonstrations: 50, environment: 100 },
      detector: { folds: 3 },
      ...parts,
    },
    'the benchmark',
  );
  const cache = await openCache(join(args.runs, 'cache'), experiment);
  const data = await openData(experiment, () => {});
  const context = workContext();
  const settings = { experiment, seed, data, cache, context };
  const prepared = await prepareTrial(await splitMaterial(settings), settings);
  const { problem, sequences, materials } = prepared;
  const before = process.cpuUsage();
  const trainer = await createStopAgent({ seed, config: experiment.agent, problem });
  await trainToEnd(trainer, context);
  const { user, system } = process.cpuUsage(before);
  const policy = await trainer.policy();
  trainer.dispose();
  const task = taskOf(experiment);
  const learnt = await learntPolicy(policyNetwork(policy), { ...materials, threshold: halfway });
  const { systems } = await decideByPolicies({ [agentName]: learnt }, prepared.parts.test, { ...materials, sequences });
  const { values } = scoreSystem(systems[0], { labels: task.labels });
  return {
    macroF1: values.macroF1 ?? Number.NaN,
    er: values.er ?? Number.NaN,
    queries: values.queriesPerThread ?? Number.NaN,
    seconds: (user + system) / 1e6,
  };
}
