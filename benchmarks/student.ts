/*
 * How a student reads threads that it learnt from beside threads that it did not: the mean size of its log-odds on the
 * demonstration threads, those of the environment and the development part, and how often its label is its detector's on the
 * prefixes of the development part. Usage:
 *
 *   node --import tsx benchmarks/student.ts --data threads.jsonl [--seeds 1,2,3] [--environment 100] [--development 200]
 *     [--folds 3,5] [--runs runs]
 *
 * What was judged is kept in the cache of the runs folder. The test part is not read.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { markdownTable } from 'markdown-table';
import { openCache } from '../experiments/stop-agent/cache.ts';
import { type Experiment, resolveExperiment } from '../experiments/stop-agent/experiment.ts';
import { openData } from '../experiments/stop-agent/parts.ts';
import { prepareTrial } from '../experiments/stop-agent/prepare.ts';
import { type Student, studentFeatures, studentFittings, studentTargets } from '../experts/detectors/local/student.ts';
import { prefixOf, type Thread } from '../src/data/thread.ts';
import { selectBackend } from '../src/tensor/backend.ts';
import { workContext } from '../src/work-context.ts';

const { values: given } = parseArgs({
  options: {
    data: { type: 'string' },
    seeds: { type: 'string', default: '1,2,3' },
    environment: { type: 'string', default: '100' },
    development: { type: 'string', default: '200' },
    folds: { type: 'string', default: '3,5' },
    runs: { type: 'string', default: 'runs' },
  },
});
if (given.data === undefined) throw new Error('give a thread file with --data');
await selectBackend('auto');
const seeds = given.seeds.split(',').map(Number);

const rows: string[][] = [];
for (const fitting of studentFittings)
  for (const targets of studentTargets)
    for (const folds of given.folds.split(',').map(Number)) {
      const measured: number[][] = [];
      for (const seed of seeds) measured.push(await measure({ fitting, targets, folds, seed }));
      const means = measured[0].map((_, column) => meanOf(measured.map((own) => own[column])));
      rows.push([fitting, targets, String(folds), ...means.map((mean) => mean.toFixed(mean > 20 ? 0 : 3))]);
    }
console.log(
  markdownTable([
    ['fitting', 'targets', 'folds', 'demonstrations', 'environment', 'development', 'agreement', 'milliseconds'],
    ...rows,
  ]),
);

/** Mean |log-odds| on three parts, the share of prefixes on which the labels agree, and processor time of the training. */
async function measure(of: { fitting: string; targets: string; folds: number; seed: number }): Promise<number[]> {
  const { fitting, targets, folds, seed } = of;
  const experiment = resolveExperiment(
    {
      name: 'student',
      data: { threads: given.data },
      split: {
        environment: Number(given.environment),
        development: Number(given.development),
        test: 1,
      },
      state: {
        posts: 'none',
        student: true,
        studentReads: 'demonstrations-and-environment',
        studentFitting: fitting,
        studentTargets: targets,
        studentOptions: { characterWeights: [1], l2: [3e-4, 3e-3], folds },
      },
      agent: { algorithm: 'exact-return' },
      evaluation: { part: 'development' },
    },
    'the benchmark',
  );
  const cache = await openCache(join(given.runs, 'cache'), experiment);
  const data = await openData(experiment, () => {});
  const before = process.cpuUsage();
  const { parts, student, sequences } = await prepareTrial({
    experiment,
    seed,
    data,
    cache,
    context: workContext(),
  });
  const { user, system } = process.cpuUsage(before);
  if (student === null) throw new Error('there is no student');
  let agreed = 0;
  let prefixes = 0;
  for (const thread of parts.development) {
    const predicted = sequences.get(thread.id)?.predicted ?? [];
    for (const [index, label] of predicted.entries()) {
      const said = await student.reader.judge(prefixOf(thread, index + 1));
      if (student.reader.labels.indexOf(said.label ?? '') === label) agreed++;
      prefixes++;
    }
  }
  return [
    await sureness(student, parts.demonstrations, experiment),
    await sureness(student, parts.environment, experiment),
    await sureness(student, parts.development, experiment),
    agreed / prefixes,
    (user + system) / 1000,
  ];
}

/** Mean over threads of the mean margin between the likeliest label and the next, in log-odds: with two labels their size. */
async function sureness({ heldOut, reader }: Student, threads: readonly Thread[], { maxJudgedPosts }: Experiment) {
  const margin = reader.labels.length - 1;
  const width = reader.labels.length + 2;
  const means: number[] = [];
  for (const thread of threads) {
    const posts = Math.min(thread.posts.length, maxJudgedPosts);
    const features = heldOut.get(thread.id) ?? (await studentFeatures(reader, thread, posts));
    means.push(meanOf([...features].filter((_, index) => index % width === margin)));
  }
  return meanOf(means);
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
