/*
 * Agents on a set that they were not trained on (EARD, Table 2 and Figure 4). Usage:
 *
 *   node --import tsx benchmarks/carried-over.ts --data covid/test.jsonl --from runs/weibo/return-50 --own runs/covid/return-50 [--runs runs]
 *
 * --from and --own are folders with a run for each seed, the latter trained on other threads of the tested set. Three systems, each
 * beside the rules of its detector, as `earshot evaluate` tests them; a row each, means over seeds:
 *
 *   own                    agent and detector of the set itself
 *   agent carried over     the other set's agent, asking the detector of the set itself: `--detector`
 *   both carried over      agent and detector of the other set
 *
 * Brackets are 95% by Student's t, seeds being the sample; threads are the same for all. Columns:
 *
 *   over the rules         macro-F1 less that of the best mixture of rules that are as early and call as seldom
 *   less own               macro-F1 less that of the set's own agent, paired by seed
 */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { markdownTable } from 'markdown-table';
import { isLearnt, oracleName } from '../experiments/stop-agent/decisions.ts';
import { evaluateRun } from '../experiments/stop-agent/evaluate-run.ts';
import { seedInterval, shownInterval } from '../experiments/sweep/seed-interval.ts';
import { bestMixture, meanOf } from '../src/metrics/pareto.ts';
import { workContext } from '../src/work-context.ts';

const { values: args } = parseArgs({
  options: {
    data: { type: 'string' },
    from: { type: 'string' },
    own: { type: 'string' },
    runs: { type: 'string', default: 'runs' },
  },
});
const { data, from, own, runs } = args;
if (data === undefined || from === undefined || own === undefined) throw new Error('give --data, --from and --own');

const seeds = readdirSync(from).filter((seed) =>
  [from, own].every((folder) => existsSync(join(folder, seed, 'result.json'))),
);
if (seeds.length === 0) throw new Error(`${from} and ${own} have no finished run of the same seed`);
const results: { own: Tested; agent: Tested; both: Tested }[] = [];
for (const seed of seeds) {
  const [theirs, ours] = [join(from, seed), join(own, seed)];
  results.push({
    own: await tested(ours, undefined),
    agent: await tested(theirs, ours),
    both: await tested(theirs, undefined),
  });
}
const rows = (['own', 'agent', 'both'] as const).map((kind) => {
  const of = (value: (one: Tested) => number) =>
    shownInterval(seedInterval(results.map((result) => value(result[kind]))), 3);
  const less = seedInterval(results.map((result) => result[kind].macroF1 - result.own.macroF1));
  return [
    { own: 'own', agent: 'agent carried over', both: 'both carried over' }[kind],
    of(({ macroF1 }) => macroF1),
    of(({ er }) => er),
    of(({ queries }) => queries),
    of(({ first }) => first),
    of(({ all }) => all),
    of(({ overRules }) => overRules),
    kind === 'own' ? '' : shownInterval(less, 3),
  ];
});
const head = ['system', 'macro-F1', 'ER', 'queries', 'first post', 'all posts', 'over the rules', 'less own'];
console.log(`${results[0].own.threads} threads of ${data}, ${seeds.length} seeds\n`);
console.log(markdownTable([head, ...rows]));

interface Tested {
  readonly threads: number;
  readonly macroF1: number;
  readonly er: number;
  readonly queries: number;
  readonly first: number;
  readonly all: number;
  readonly overRules: number;
}

async function tested(run: string, detector: string | undefined): Promise<Tested> {
  const settings = { run, data: data ?? '', detector, runs, skipInvalid: false, includeTrained: false };
  const { systems, threads } = await evaluateRun({ ...settings, context: workContext() });
  const points = systems.map(({ name, values: { macroF1, er, queriesPerThread } }) => ({
    name,
    macroF1: macroF1 ?? Number.NaN,
    er: er ?? Number.NaN,
    queries: queriesPerThread ?? Number.NaN,
  }));
  const [agent] = points;
  const rules = points.filter(({ name }) => !isLearnt(name) && name !== oracleName);
  const macroF1Of = (rule: string) => points.find(({ name }) => name === rule)?.macroF1 ?? Number.NaN;
  const best = bestMixture(rules, { ...agent, queries: agent.queries + 1e-9 });
  return {
    threads,
    ...agent,
    first: macroF1Of('first post'),
    all: macroF1Of('all posts'),
    overRules: best === null ? Number.NaN : agent.macroF1 - meanOf(best, 'macroF1'),
  };
}
