/*
 * How early a policy may stop if at most 5% of its predictions may change, with 90% confidence, by the number of unlabelled calibration
 * threads: by the settled score, the detector's confidence and gradient boosting. Usage, after benchmarks/guarantee-scores.ts and
 * benchmarks/guarantee-boosting.py:
 *
 *   node --import tsx benchmarks/guarantee.ts <set>=<scores.jsonl>,… … [--draws 1000] [--seed 1]
 *
 * The held-out threads of an agent are the population. Calibration sets are drawn from it with replacement, so what a threshold does to
 * the population is exact, and a draw violates the guarantee if more than 5% of the population changes. Means over agents; the worst
 * agent in brackets. The oracle is the earliest threshold at which at most 5% of the population changes.
 *
 * Then what random draws cannot show: calibration on the half of the threads that opened first, and use on the other half.
 */
import { parseArgs } from 'node:util';
import { markdownTable } from 'markdown-table';
import { mean } from '../src/metrics/summary-statistics.ts';
import { Random } from '../src/tensor/random.ts';
import {
  calibratedPlace,
  heldOutRows,
  type Outcomes,
  oracleThreshold,
  outcomesOf,
  type Score,
  type ScoredRow,
  scores,
  stopOf,
} from './guarantee-rows.ts';

const { values: args, positionals } = parseArgs({
  allowPositionals: true,
  options: { draws: { type: 'string', default: '1000' }, seed: { type: 'string', default: '1' } },
});
const sizes = [100, 200, 400, 600, 1000, 2000];
const sets = positionals.map((word) => {
  const [name, files] = word.split('=');
  return { name, agents: files.split(',').map(heldOutRows) };
});
if (sets.length === 0) throw new Error('give a set with its files, such as weibo=scores/weibo/seed-1.jsonl');

const violates = (share: number) => Number(share > 0.05);
const percent = (share: number) => `${(100 * share).toFixed(1)}%`;

/** Of many calibration sets of a size: mean earliness on the population, and the share of sets that violate the guarantee. */
function drawn(outcomes: Outcomes, { population, size, random }: { population: number; size: number; random: Random }) {
  const places = Array.from({ length: Number(args.draws) }, () => {
    const counts = new Uint16Array(population);
    for (let index = 0; index < size; index++) counts[random.integer(population)]++;
    return calibratedPlace(outcomes, { items: size, of: (thread) => counts[thread] });
  });
  return {
    earliness: mean(places.map((place) => outcomes.read[place])),
    violated: mean(places.map((place) => violates(outcomes.changed[place]))),
  };
}

function bySize(name: string, agents: readonly ScoredRow[][]): string[][] {
  const random = Random.seeded({ seed: Number(args.seed), purpose: `guarantee of ${name}` });
  const oracle = mean(
    agents.map((rows) => {
      const threshold = oracleThreshold(rows, 'settled');
      return mean(rows.map((row) => stopOf(row, { score: 'settled', threshold }).read));
    }),
  );
  const outcomes = scores.map((score) => agents.map((rows) => outcomesOf(rows, score)));
  const population = Math.min(...agents.map((rows) => rows.length));
  return sizes
    .filter((size) => size <= population)
    .map((size) => {
      const draws = outcomes.map((each) =>
        each.map((agent, index) => drawn(agent, { population: agents[index].length, size, random })),
      );
      const [settled, ...others] = draws.map((each) => mean(each.map(({ earliness }) => earliness)));
      const violated = draws.map((each) => each.map((agent) => agent.violated));
      return [
        ...[name, size.toLocaleString('en')],
        ...[settled, ...others].map((each) => each.toFixed(3)),
        oracle.toFixed(3),
        (settled / oracle).toFixed(2),
        ...violated.map((each) => `${mean(each).toFixed(3)} (${Math.max(...each).toFixed(3)})`),
      ];
    });
}

function overTime(name: string, agents: readonly ScoredRow[][], score: Score): string[] {
  const halves = agents.map((rows) => {
    const sorted = rows
      .filter(({ opened }) => opened !== null)
      .sort((a, b) => (`${a.opened}` < `${b.opened}` ? -1 : 1));
    const half = Math.floor(sorted.length / 2);
    const place = calibratedPlace(outcomesOf(sorted.slice(0, half), score), { items: half, of: () => 1 });
    const later = outcomesOf(sorted.slice(half), score);
    return { half, earliness: later.read[place], changed: later.changed[place] };
  });
  return [
    name,
    String(halves[0].half),
    score,
    mean(halves.map(({ earliness }) => earliness)).toFixed(3),
    `${percent(mean(halves.map(({ changed }) => changed)))} (${halves.map(({ changed }) => percent(changed)).join(', ')})`,
  ];
}

const names = scores.map((score) => (score === 'boosting' ? 'gradient boosting' : score));
const columns = [...names, 'oracle', 'settled / oracle', ...names.map((name) => `violated, ${name}`)];
const rows = sets.flatMap(({ name, agents }) => bySize(name, agents));
console.log(`${markdownTable([['set', 'threads', ...columns], ...rows])}\n`);
const older = sets.flatMap(({ name, agents }) => scores.map((score) => overTime(name, agents, score)));
console.log(markdownTable([['set', 'older threads', 'score', 'earliness', 'predictions that change'], ...older]));
