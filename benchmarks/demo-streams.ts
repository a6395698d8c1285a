/*
 * How much of what adaptive stopping can earn the demo's agents earn, on streams with seeds of one's own. Usage:
 *
 *   for seed in 201 202 203 204 205 206 207 208 209 210; do
 *     node experiments/cli/earshot.mjs train experiments/recipes/quickstart.yaml --name demo-stream-$seed \
 *       --set data.synthetic.seed=$seed --set seeds=[$seed] --no-html
 *   done
 *   node --import tsx benchmarks/demo-streams.ts runs/demo-stream-*
 *
 * Each folder holds the variants of one stream. The reward of a system is its accuracy minus delayCost × ER, which the agents
 * climb in training and which the Bayes-optimal rule maximises. The fixed rule is the best of first 1 … 50 posts, hours and all
 * posts on these very threads, which favours it. Columns, on the part that the runs were evaluated on:
 *
 *   fixed, confidence        reward of the best fixed rule and of the best confidence rule that asks at every post
 *   agent, optimum           reward of the agent and of the optimum
 *   gap closed               (agent − fixed) / (optimum − fixed)
 *   read, keeps              the agent's ER, and its macro-F1 as a share of that of all posts
 *   fixed keeps              the same of the fixed rule with the best macro-F1 that is not later than the agent
 *
 * The same table with --part development, on whose threads settings may be chosen.
 */
import { readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { markdownTable } from 'markdown-table';
import { RunDirectory } from '../checkpoints/run-directory.ts';
import { agentName, isLearnt } from '../experiments/stop-agent/decisions.ts';
import { experimentSchema } from '../experiments/stop-agent/experiment.ts';
import type { SystemScores } from '../experiments/stop-agent/metrics.ts';
import { ruleInPlace } from '../experiments/stop-agent/report/agents.ts';
import { readTrialResult } from '../experiments/stop-agent/result.ts';
import { optimumName } from '../experiments/stop-agent/stream-optimum.ts';

const { values: options, positionals: folders } = parseArgs({
  allowPositionals: true,
  options: { part: { type: 'string', default: 'test' } },
});
const part = options.part === 'development' ? 'development' : 'test';
const names = ['fixed', 'confidence', 'agent', 'optimum', 'gap closed', 'read', 'keeps', 'fixed keeps'] as const;
const runs = folders.flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => basename(path) === 'result.json')
    .map((path) => join(folder, dirname(path)))
    .map((path) => ({ stream: basename(folder), variant: basename(dirname(path)), values: valuesOf(path) })),
);
if (runs.length === 0) throw new Error('give folders of finished runs of the demo, such as runs/demo-streams/*');
const shown = (values: readonly number[]) => values.map((value) => value.toFixed(3));
const variants = [...new Set(runs.map(({ variant }) => variant))];
const means = variants.map((variant) => {
  const ofVariant = runs.filter((run) => run.variant === variant);
  const mean = names.map(
    (_, index) => ofVariant.reduce((sum, { values }) => sum + values[index], 0) / ofVariant.length,
  );
  // The mean of ratios would give most weight to the streams with least to gain.
  mean[4] = (mean[2] - mean[0]) / (mean[3] - mean[0]);
  return ['mean', variant, ...shown(mean)];
});
console.log(
  markdownTable([
    ['stream', 'variant', ...names],
    ...runs.map(({ stream, variant, values }) => [stream, variant, ...shown(values)]),
    ...means,
  ]),
);

function valuesOf(path: string): number[] {
  const run = RunDirectory.open(path);
  const { delayCost } = run.readConfig(experimentSchema).agent.task;
  const { systems } = readTrialResult(run, { withIntervals: false, part });
  const reward = ({ values }: SystemScores) => (values.accuracy ?? 0) - delayCost * (values.er ?? 0);
  const named = (name: string) => {
    const match = systems.find((system) => system.name === name);
    if (match === undefined) throw new Error(`${path} has no ${name}`);
    return match;
  };
  const best = (of: readonly SystemScores[]) => Math.max(...of.map(reward));
  const agent = named(agentName);
  const fixed = best(systems.filter(({ name, queries }) => queries === 'one' && !isLearnt(name)));
  const confidence = best(systems.filter(({ name, queries }) => queries === 'every' && name.startsWith('confidence')));
  const optimum = reward(named(optimumName));
  const all = named('all posts').values.macroF1 ?? Number.NaN;
  const alone = (mean: number | null) => (mean === null ? null : { mean, deviation: null });
  const placed = systems.map(({ values, ...system }) => ({
    ...system,
    values: Object.fromEntries(Object.entries(values).map(([metric, value]) => [metric, alone(value)])),
  }));
  const early = ruleInPlace(placed)?.values;
  return [
    fixed,
    confidence,
    reward(agent),
    optimum,
    (reward(agent) - fixed) / (optimum - fixed),
    agent.values.er ?? Number.NaN,
    (agent.values.macroF1 ?? Number.NaN) / all,
    (early?.macroF1?.mean ?? Number.NaN) / all,
  ];
}
