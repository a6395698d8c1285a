/*
 * How much of what choosing among detectors can earn an agent earns, on planted threads whose best policy is known
 * (planted-detectors.ts). Usage:
 *
 *   node --import tsx benchmarks/several-detectors.ts [--seeds 11,12,13] [--threads 300] [--test 2000] [--options '{}']
 *
 * A row a seed, with the mean return on test threads: right or wrong less delay and what asking costs. Single detectors
 * and cascades are those of most return on the threads that the agent learnt from; "on test" is the best cascade on the test
 * threads themselves, which favours it. Gap closed: (agent − cascade on test) / (optimum − cascade on test).
 */
import { parseArgs } from 'node:util';
import { markdownTable } from 'markdown-table';
import { allCascades, followCascade, isSingle } from '../experiments/query-agent/cascades.ts';
import { outcomeOf, returnsOf } from '../experiments/query-agent/outcomes.ts';
import { mean } from '../src/metrics/summary-statistics.ts';
import { selectBackend } from '../src/tensor/backend.ts';
import { Random } from '../src/tensor/random.ts';
import { workContext } from '../src/work-context.ts';
import { queryAgentSchema } from '../trainers/query-agent/config.ts';
import { decideQueries } from '../trainers/query-agent/policy.ts';
import type { QueryThread } from '../trainers/query-agent/states.ts';
import { createQueryTrainer } from '../trainers/query-agent/trainer.ts';
import { trainToEnd } from '../trainers/trainer.ts';
import { followOptimum, planted, plantedOptimum, plantedThreads } from './planted-detectors.ts';

const { values: given } = parseArgs({
  options: {
    seeds: { type: 'string', default: '11,12,13' },
    threads: { type: 'string', default: '300' },
    test: { type: 'string', default: '2000' },
    options: { type: 'string', default: '{}' },
  },
});
await selectBackend('auto');
const { delayCost } = planted;
const config = queryAgentSchema.parse({ ...JSON.parse(given.options), delayCost });
const rules = allCascades({ names: planted.detectors, lengths: planted.lengths });
const columns = ['single', 'cascade', 'cascade on test', 'agent', 'optimum', 'gap closed', 'dear asks'];
const rows: number[][] = [];
for (const seed of given.seeds.split(',').map(Number)) {
  const random = Random.seeded({ seed, purpose: 'planted detectors' });
  const train = plantedThreads({ count: Number(given.threads), random });
  const test = plantedThreads({ count: Number(given.test), random });
  const trainer = createQueryTrainer({ threads: train, labels: 2, config, seed });
  await trainToEnd(trainer, workContext());
  const [policy] = await trainer.policies();
  trainer.dispose();
  const episodes = await decideQueries(policy, { threads: test, labels: 2 });
  const outcomes = episodes.map((episode, index) => outcomeOf(test[index], episode));
  const agent = mean(returnsOf(outcomes, delayCost));
  const best = (of: typeof rules, threads: readonly QueryThread[]) =>
    of.reduce((one, other) => (worth(other, threads) > worth(one, threads) ? other : one));
  const single = worth(best(rules.filter(isSingle), train), test);
  const cascade = worth(best(rules, train), test);
  const onTest = worth(best(rules, test), test);
  const optimum = mean(
    returnsOf(
      test.map((thread) => outcomeOf(thread, followOptimum(thread))),
      delayCost,
    ),
  );
  const gap = (agent - onTest) / (optimum - onTest);
  rows.push([single, cascade, onTest, agent, optimum, gap, mean(outcomes.map(({ asks }) => asks[1]))]);
  console.error(`seed ${seed}: ${rows[rows.length - 1].map((value) => value.toFixed(3)).join(' ')}`);
}
console.log(`The optimum is expected to return ${plantedOptimum().toFixed(3)}.\n`);
const means = columns.map((_, column) => mean(rows.map((row) => row[column])));
// The mean of ratios would give most weight to the seeds with least to gain.
means[5] = (means[3] - means[2]) / (means[4] - means[2]);
const shown = (values: readonly number[]) => values.map((value) => value.toFixed(3));
console.log(
  markdownTable([
    ['seed', ...columns],
    ...rows.map((row, index) => [given.seeds.split(',')[index], ...shown(row)]),
    ['mean', ...shown(means)],
  ]),
);

function worth(rule: (typeof rules)[number], threads: readonly QueryThread[]): number {
  return mean(
    returnsOf(
      threads.map((thread) => outcomeOf(thread, followCascade(thread, rule))),
      delayCost,
    ),
  );
}
