/*
 * The settled agent at every threshold beside every rule: the macro-F1 that each attains at a share of the posts, with as many queries
 * per thread. Of the agent and of the rules, mixtures count. Intervals are a bootstrap over seeds and the threads of each, with the
 * mixtures as they were picked. Usage:
 *
 *   earshot train experiments/recipes/settled.yaml --data threads.jsonl --name settled-set
 *   node --import tsx benchmarks/settled-rules.ts runs/settled-set/every-post [more variants …] [--shares 0.1,0.2,0.3]
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { markdownTable } from 'markdown-table';
import { stopIn } from '../checkpoints/policy/stops.ts';
import { RunDirectory } from '../checkpoints/run-directory.ts';
import { thresholds } from '../experiments/stop-agent/calibrate.ts';
import { readJudged, readStopProbabilities } from '../experiments/stop-agent/decided-files.ts';
import { decide, decideByRules, type SystemDecisions } from '../experiments/stop-agent/decisions.ts';
import { type Experiment, experimentSchema, taskOf } from '../experiments/stop-agent/experiment.ts';
import { stopColumns } from '../experiments/stop-agent/metrics.ts';
import { agentQueries, limitsOf } from '../experiments/stop-agent/policy-settings.ts';
import { macroF1On, placedStops } from '../experiments/stop-agent/report/rule-margins.ts';
import { bootstrapGroups } from '../src/metrics/bootstrap.ts';
import { bestMixture, meanOf } from '../src/metrics/pareto.ts';
import { mean } from '../src/metrics/summary-statistics.ts';

const { values: options, positionals: variants } = parseArgs({
  allowPositionals: true,
  options: { shares: { type: 'string', default: '0.1,0.15,0.2,0.25,0.3,0.4' } },
});
if (variants.length === 0) throw new Error('give folders of a variant, such as runs/settled/every-post');
const shares = options.shares.split(',').map(Number);

/** Points of the settled agent and of rules, on the test part of one run. */
function pointsOf(path: string) {
  const run = RunDirectory.open(path);
  const experiment: Experiment = run.readConfig(experimentSchema);
  const tested = readJudged(path, 'test');
  const scores = readStopProbabilities(path, 'test');
  if (scores === null) throw new Error(`${path} keeps no stop probabilities; train it with all its files kept`);
  const queries = agentQueries(experiment);
  const limits = limitsOf(experiment);
  const place = ({ decisions }: SystemDecisions) => placedStops(stopColumns(decisions, taskOf(experiment)));
  const settled = thresholds.map((threshold) => {
    const stops = tested.map(({ threadId, hours }) =>
      stopIn(
        { threshold, limits },
        (scores.get(threadId) ?? []).map((score, index) => ({ score, hours: hours[index] })),
      ),
    );
    return place(decide('settled', tested, stops, queries));
  });
  const rules = decideByRules(experiment, tested).filter(({ queries }) => queries !== 'oracle');
  return { threads: tested.length, settled, rules: rules.map(place) };
}

const rows: string[][] = [];
for (const variant of variants) {
  const seeds = readdirSync(variant, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && RunDirectory.open(join(variant, entry.name)).isFinished())
    .map((entry) => pointsOf(join(variant, entry.name)));
  for (const share of shares) {
    const picked = seeds.map(({ threads, settled, rules }) => {
      const agent = bestMixture(settled, { er: share, queries: Number.POSITIVE_INFINITY });
      const beside = agent && bestMixture(rules, { er: share, queries: meanOf(agent, 'queries') });
      return { threads, agent, beside };
    });
    const pairs = picked.flatMap(({ threads, agent, beside }) => (agent && beside ? [{ threads, agent, beside }] : []));
    if (pairs.length < picked.length) {
      rows.push([variant, String(share), '–', '–', '–', '–']);
      continue;
    }
    const [{ low, high }] = bootstrapGroups({
      groups: pairs.map(({ threads }) => threads),
      seed: 1,
      resamples: 1000,
      statistics(seed, items) {
        const { agent, beside } = pairs[seed];
        return [macroF1On(agent, items) - macroF1On(beside, items)];
      },
    });
    const [ofAgents, ofRules] = [
      mean(pairs.map((seed) => meanOf(seed.agent, 'macroF1'))),
      mean(pairs.map((seed) => meanOf(seed.beside, 'macroF1'))),
    ];
    const signed = (value: number) => `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(3)}`;
    rows.push([
      variant,
      String(share),
      mean(pairs.map((seed) => meanOf(seed.agent, 'queries'))).toFixed(1),
      ofAgents.toFixed(3),
      ofRules.toFixed(3),
      `${signed(ofAgents - ofRules)} [${signed(low)}, ${signed(high)}]`,
    ]);
  }
}
const header = ['variant', 'share of posts', 'queries per thread', 'settled', 'best rules', 'difference, 95%'];
console.log(markdownTable([header, ...rows], { align: ['l', 'r', 'r', 'r', 'r', 'l'] }));
