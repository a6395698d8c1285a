/*
 * What the state does to imitation: processor time an iteration, the share of the agent's steps that the discriminator takes
 * for the agent's (1 where it recognises threads), and what the agent then decides of the development part. Usage:
 *
 *   node --import tsx benchmarks/states.ts --data threads.jsonl [--seeds 1,2] [--iterations 150] [--development 200]
 *     [--components 8,32] [--runs runs]
 *
 * The test part is not read.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { markdownTable } from 'markdown-table';
import { openCache } from '../experiments/stop-agent/cache.ts';
import { agentName, decide, testThreads } from '../experiments/stop-agent/decisions.ts';
import { resolveExperiment, taskOf } from '../experiments/stop-agent/experiment.ts';
import { scoreSystem } from '../experiments/stop-agent/metrics.ts';
import { openData } from '../experiments/stop-agent/parts.ts';
import { prepareTrial } from '../experiments/stop-agent/prepare.ts';
import { postPoolings } from '../src/data/post-pooling.ts';
import { selectBackend } from '../src/tensor/backend.ts';
import { workContext } from '../src/work-context.ts';
import { createStopAgent } from '../trainers/stop-agent/create.ts';
import { decideStops } from '../trainers/stop-agent/policy.ts';

const { values: given } = parseArgs({
  options: {
    data: { type: 'string' },
    seeds: { type: 'string', default: '1,2' },
    iterations: { type: 'string', default: '150' },
    development: { type: 'string', default: '200' },
    components: { type: 'string', default: '8,32' },
    runs: { type: 'string', default: 'runs' },
  },
});
if (given.data === undefined) throw new Error('give a thread file with --data');
await selectBackend('auto');
const seeds = given.seeds.split(',').map(Number);
/** Iterations at the end over which the discriminator's accuracy is averaged. */
const last = 20;

const rows: string[][] = [];
for (const posts of postPoolings)
  for (const components of [null, ...given.components.split(',').map(Number)]) {
    const measured: Measured[] = [];
    for (const seed of seeds) measured.push(await measure({ posts, components, seed }));
    const mean = (of: (own: Measured) => number) => measured.reduce((sum, own) => sum + of(own), 0) / measured.length;
    rows.push([
      posts,
      components === null ? 'all' : `${components} (${(100 * mean((own) => own.explained)).toFixed(0)} %)`,
      String(measured[0].columns),
      mean((own) => own.milliseconds).toFixed(1),
      mean((own) => own.accuracy).toFixed(3),
      mean((own) => own.macroF1).toFixed(3),
      mean((own) => own.er).toFixed(3),
    ]);
  }
console.log(
  markdownTable(
    [
      ['posts', 'components (variance kept)', 'columns', 'ms an iteration', 'accuracy on the agent', 'macro-F1', 'ER'],
      ...rows,
    ],
    { align: ['l', 'l', 'r', 'r', 'r', 'r', 'r'] },
  ),
);

interface Measured {
  readonly columns: number;
  readonly explained: number;
  readonly milliseconds: number;
  readonly accuracy: number;
  readonly macroF1: number;
  readonly er: number;
}

async function measure(of: { posts: string; components: number | null; seed: number }): Promise<Measured> {
  const { posts, components, seed } = of;
  const experiment = resolveExperiment(
    {
      name: 'states',
      data: { threads: given.data },
      split: { development: Number(given.development), test: 1 },
      state: { posts, components },
      agent: { iterations: Number(given.iterations) },
      evaluation: { part: 'development' },
    },
    'the benchmark',
  );
  const cache = await openCache(join(given.runs, 'cache'), experiment);
  const data = await openData(experiment, () => {});
  const context = workContext();
  const { parts, problem, projection, sequences, tableOf } = await prepareTrial({
    experiment,
    seed,
    data,
    cache,
    context,
  });
  const trainer = await createStopAgent([{ seed, config: experiment.agent, problem }]);
  const accuracies: number[] = [];
  const before = process.cpuUsage();
  while (trainer.iteration < trainer.iterations) {
    const [metrics] = await trainer.iterate(context);
    accuracies.push(metrics['discriminator/accuracy_agent']);
  }
  const { user, system } = process.cpuUsage(before);
  const [policy] = await trainer.policies();
  trainer.dispose();
  const task = taskOf(experiment);
  const stops = await decideStops(policy, { threads: parts.development, tableOf });
  const decided = decide(
    agentName,
    testThreads(parts.development, { sequences, task }),
    stops.map(({ stopStep }) => stopStep),
  );
  const { values } = scoreSystem(decided, { labels: task.labels });
  const ending = accuracies.slice(-last);
  return {
    columns: problem.table.columns,
    explained: projection?.explained ?? 1,
    milliseconds: (user + system) / 1000 / accuracies.length,
    accuracy: ending.reduce((sum, value) => sum + value, 0) / ending.length,
    macroF1: values.macroF1 ?? Number.NaN,
    er: values.er ?? Number.NaN,
  };
}
