/*
 * How long a stop agent takes to train: 1,000 iterations of imitation at the paper's shapes, beside 100 of the exact return on
 * the posts where the detector is asked, with 50 labelled threads and with 400 pseudo-labelled ones more. Processor time, the
 * three in turns; imitation is timed over some iterations and multiplied. Usage:
 *
 *   node --import tsx benchmarks/exact-return.ts [--rounds 3] [--iterations 20]
 */
import { parseArgs } from 'node:util';
import { markdownTable } from 'markdown-table';
import { buildStateTable } from '../envs/state-table.ts';
import { paperShapedProblem } from '../experiments/run/time-training-step.ts';
import { queriedLengths } from '../experts/prefix-schedule.ts';
import { selectBackend } from '../src/tensor/backend.ts';
import { Random } from '../src/tensor/random.ts';
import { workContext } from '../src/work-context.ts';
import { stopAgentSchema } from '../trainers/stop-agent/config.ts';
import { createStopAgent } from '../trainers/stop-agent/create.ts';
import type { StopProblem } from '../trainers/stop-agent/problem.ts';

const { values: options } = parseArgs({
  options: { rounds: { type: 'string', default: '3' }, iterations: { type: 'string', default: '20' } },
});
const backend = await selectBackend('auto');
console.log(`backend ${backend.name} (${backend.device})`);

/** Iterations of imitation before the clock starts: they have more discriminator epochs. */
const warmup = 12;
const timed = Number(options.iterations);
const exact = {
  algorithm: 'exact-return',
  iterations: 100,
  hidden: 8,
  task: { learningRate: 0.01, delayCost: 0.4 },
} as const;
const trainings = [
  {
    name: 'imitation, 1,000 iterations',
    config: { iterations: warmup + timed },
    skipped: warmup,
    problem: paperShapedProblem(256),
    times: 1000 / timed,
  },
  { name: 'exact return, 50 threads', config: exact, skipped: 0, problem: detectorAwareProblem(50), times: 1 },
  { name: 'exact return, 450 threads', config: exact, skipped: 0, problem: detectorAwareProblem(450), times: 1 },
];
const seconds = trainings.map((): number[] => []);
for (let round = 0; round < Number(options.rounds); round++)
  for (const [index, training] of trainings.entries()) {
    const spent = await train(training);
    seconds[index].push(spent * training.times);
  }
const medians = seconds.map((own) => [...own].sort((a, b) => a - b)[Math.floor(own.length / 2)]);
console.log(
  markdownTable(
    [
      ['training', 'processor seconds', 'imitation / this'],
      ...trainings.map(({ name }, index) => [
        name,
        medians[index].toFixed(1),
        (medians[0] / medians[index]).toFixed(0),
      ]),
    ],
    { align: ['l', 'r', 'r'] },
  ),
);

async function train({
  config,
  problem,
  skipped,
}: {
  config: object;
  problem: StopProblem;
  skipped: number;
}): Promise<number> {
  const trainer = await createStopAgent([{ seed: 1, config: stopAgentSchema.parse(config), problem }]);
  while (trainer.iteration < skipped) await trainer.iterate(workContext());
  const before = process.cpuUsage();
  while (trainer.iteration < trainer.iterations) await trainer.iterate(workContext());
  const { user, system } = process.cpuUsage(before);
  trainer.dispose();
  return (user + system) / 1e6;
}

/** Threads of 50 posts with five features of noise, a step at 1, 2, 3, 5, 8, … posts. */
function detectorAwareProblem(threads: number): StopProblem {
  const random = Random.seeded({ seed: 1, purpose: 'benchmark' });
  const posts = 50;
  const asked = queriedLengths({ schedule: { name: 'geometric', start: 1, factor: 1.5 }, posts });
  const postsSeen = [...new Set([...asked, posts])];
  const noise = (length: number) => Float32Array.from({ length }, () => random.normal());
  const table = buildStateTable({
    threads: Array.from({ length: threads }, () => ({
      posts,
      embeddings: new Float32Array(0),
      features: noise(5 * posts),
      postsSeen,
    })),
    dimensions: 0,
    featureCount: 5,
    actionEmbeddings: [new Float32Array(0), new Float32Array(0)],
  });
  const thread = () => ({
    right: Uint8Array.from(postsSeen, () => Number(random.uniform() < 0.7)),
    probability: Float32Array.from(postsSeen, () => random.uniform()),
    isFinal: Uint8Array.from(postsSeen, () => 1),
    shareSeen: Float32Array.from(postsSeen, (seen) => seen / posts),
    calls: Float32Array.from(postsSeen, (_, step) => step + 1),
    weight: 1,
  });
  const labelled = new Map(Array.from({ length: threads }, (_, index) => [index, thread()]));
  return { table, environment: new Int32Array(0), demonstrations: [], labelled };
}
