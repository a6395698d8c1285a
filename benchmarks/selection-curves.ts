/*
 * What selecting weak labels gains as their quality and number change: the tables and the pictures of
 * experiments/results/selection-curves.md. Usage:
 *
 *   node --import tsx benchmarks/selection-curves.ts [--seeds 21,22,…] [--out runs/selection-curves] [--shard 1/4]
 *     [--encoder '{"name":…}'] [<pstance.jsonl> <other threads.jsonl>…]
 *
 * `chosen` is what cross-fitting on the gold rows chooses, for the weak machine and the noise: it takes longer than the rest.
 * Stance labels of people are spoilt by noise or given by a weak machine (selection-trial.ts), in sets of 1,500 items; of the first file in
 * sets of other sizes, too. On planted threads (planted-selection.ts) the share of replies that look like another stance changes;
 * without files these are all.
 * With `--encoder` selectors also read its vectors, on 2,100 items of a sample of 2,600 rows of the first file, beside themselves on words.
 * Every trial is kept in `<out>/trials.jsonl`, so a run that was cut off goes on, and `--shard 1/4` to `4/4` may run side by side; the last
 * one, or another run without it, prints all.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { markdownTable } from 'markdown-table';
import { type Chart, draw, palette } from '../experiments/report/page/chart.ts';
import { signed } from '../experiments/report/shown-numbers.ts';
import { makeFolder, writeFileAtomically } from '../src/atomic-file.ts';
import { canonicalJson } from '../src/content-hash.ts';
import { groupBy } from '../src/data/group-by.ts';
import { mean } from '../src/metrics/summary-statistics.ts';
import { namedEncoder } from './named-encoder.ts';
import { plantedSelection } from './planted-selection.ts';
import { gainOverRandom, readRows, sampled, selectionTrial } from './selection-trial.ts';

const { values: options, positionals } = parseArgs({
  options: {
    seeds: { type: 'string', default: '21,22,23,24,25,26,27,28,29,30' },
    out: { type: 'string', default: 'runs/selection-curves' },
    encoder: { type: 'string' },
    shard: { type: 'string', default: '1/1' },
  },
  allowPositionals: true,
});
const { out } = options;
const seeds = options.seeds.split(',').map(Number);
const [pstance] = positionals;

/** One point of a curve. `x` is the share of wrong labels, a number of items, or the share of slippery replies. */
interface Cell {
  readonly curve: 'noise' | 'weak machine' | 'items' | 'read by selectors' | 'planted';
  readonly set: string;
  readonly x: number | string;
}
interface Trial extends Cell {
  readonly seed: number;
  readonly scores: Record<string, number>;
}

const setOf = (path: string) => basename(path, '.jsonl');
const cells: { cell: Cell; measure: (seed: number) => Promise<Record<string, number>> }[] = [];
function addReal(path: string, { machine, items, ...point }: Omit<Cell, 'set'> & { machine: string; items: number }) {
  const rows = readRows(path);
  cells.push({
    cell: { ...point, set: setOf(path) },
    measure: (seed) =>
      selectionTrial(rows, { machine, items, gold: 200, share: 0.5, isChosen: point.curve !== 'items', seed }),
  });
}
if (options.encoder !== undefined && pstance !== undefined) {
  const encoder = await namedEncoder(options.encoder, { runs: 'runs' });
  const rows = sampled(readRows(pstance), 2600);
  for (const [x, textEncoder] of [
    ['words', null],
    ['vectors', encoder],
  ] as const)
    cells.push({
      cell: { curve: 'read by selectors', set: setOf(pstance), x },
      measure: (seed) =>
        selectionTrial(rows, {
          machine: 'weak:300',
          items: 2100,
          gold: 200,
          share: 0.5,
          encoder: textEncoder,
          isChosen: false,
          seed,
        }),
    });
}
for (const path of positionals) addReal(path, { curve: 'weak machine', x: 1500, machine: 'weak:300', items: 1500 });
for (const path of positionals)
  for (const noise of path === pstance ? [0, 0.2, 0.4, 0.6] : [0.2, 0.6])
    addReal(path, { curve: 'noise', x: noise, machine: `noise:${noise}`, items: 1500 });
for (const items of pstance === undefined ? [] : [500, 4000])
  addReal(pstance, { curve: 'items', x: items, machine: 'weak:300', items });
for (const x of [0.1, 0.5, 0.6, 0.75])
  cells.push({
    cell: { curve: 'planted', set: 'planted threads', x },
    measure: (seed) => plantedSelection({ slipperyShare: x, seed, runs: out }),
  });

makeFolder(out);
const trialsFile = join(out, 'trials.jsonl');
const trials: Trial[] = existsSync(trialsFile)
  ? readFileSync(trialsFile, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line))
  : [];
const keyOf = ({ curve, set, x, seed }: Cell & { seed: number }) => canonicalJson({ curve, set, x, seed });
const measuredKeys = new Set(trials.map(keyOf));
const [shard, shards] = options.shard.split('/').map(Number);
let place = 0;
for (const { cell, measure } of cells)
  for (const seed of seeds) {
    if (place++ % shards !== shard - 1 || measuredKeys.has(keyOf({ ...cell, seed }))) continue;
    const trial = { ...cell, seed, scores: await measure(seed) };
    appendFileSync(trialsFile, `${JSON.stringify(trial)}\n`);
    trials.push(trial);
    console.error(`${cell.curve}, ${cell.set}, ${cell.x}, seed ${seed}`);
  }

const points = [...groupBy(trials, ({ curve, set, x }) => canonicalJson({ curve, set, x })).values()];
for (const [curve, pointsOfCurve] of groupBy(points, ([{ curve: name }]) => name)) {
  console.log(`\n${tableOf(pointsOfCurve, (name) => !name.endsWith('kept'))}`);
  if (curve === 'planted') console.log(`\n${tableOf(pointsOfCurve, (name) => name.endsWith('kept'))}`);
}
for (const chart of [...(positionals.length > 0 ? [realChart()] : []), plantedChart()])
  writeFileAtomically(join(out, `${chart.name}.svg`), (await draw(chart)).svg);

/** A line a point, a column a system. */
function tableOf(of: readonly (readonly Trial[])[], isMeant: (name: string) => boolean): string {
  const names = [...new Set(of.flatMap(([{ scores }]) => Object.keys(scores)))].filter(
    (name) => name !== 'random' && !name.startsWith('random for') && isMeant(name),
  );
  const isPlanted = of[0][0].curve === 'planted';
  return markdownTable(
    [
      [of[0][0].curve, 'set', ...names],
      ...of.map((each) => [
        String(each[0].x),
        each[0].set,
        ...names.map((name) => {
          const values = each.map(({ scores }) => scores[name]);
          if (values[0] === undefined) return '';
          if (name.endsWith('seconds') || name === 'machine right')
            return mean(values).toFixed(name === 'machine right' ? 2 : 1);
          if (isPlanted) {
            const below = each.filter(({ scores }) => scores[name] < scores.untuned).length;
            const range = `${Math.min(...values).toFixed(2)}–${Math.max(...values).toFixed(2)}`;
            return `${mean(values).toFixed(3)} (${range})${below > 0 ? `, ${below} below` : ''}`;
          }
          const { estimate, low, high } = gainOverRandom(
            each.map(({ scores }) => scores),
            name,
          );
          return `${signed(estimate, 3)} [${signed(low, 3)}, ${signed(high, 3)}]`;
        }),
      ]),
    ],
    { align: ['r', 'l', ...names.map(() => 'r')] },
  );
}

/** Systems of the pictures, the others stand in the tables. */
function coloured(names: Readonly<Record<string, string>>) {
  return {
    field: 'name',
    type: 'nominal',
    title: null,
    scale: { domain: Object.keys(names), range: Object.values(names) },
  } as const;
}

/** Gains by noise, one panel a set. */
function realChart(): Chart {
  const colours = {
    'right-labels': palette.green,
    chosen: '#1d1d1f',
    influence: palette.vermillion,
    'seed-agreement': palette.blue,
    'knn-shapley': palette.pink,
    'small-loss': palette.amber,
    everything: palette.grey,
  };
  const values = points
    .filter(([{ curve }]) => curve === 'noise')
    .flatMap((each) =>
      Object.keys(colours).map((name) => {
        const { estimate } = gainOverRandom(
          each.map(({ scores }) => scores),
          name,
        );
        return { name, set: each[0].set, x: each[0].x, gain: estimate };
      }),
    );
  return {
    ...{ name: 'selection-curves-noise', title: '', caption: '' },
    label: 'Gain in macro-F1 over a random selection of the same classes, by the share of wrong labels, for each set.',
    spec: {
      data: { values },
      facet: { column: { field: 'set', title: null } },
      spec: {
        width: 210,
        height: 200,
        mark: { type: 'line', point: true, aria: false },
        encoding: {
          x: { field: 'x', type: 'quantitative', title: 'share of wrong labels' },
          y: { field: 'gain', type: 'quantitative', title: 'gain in macro-F1 over random' },
          color: coloured(colours),
        },
      },
    },
  };
}

/** A dot a seed, and the mean, by the share of slippery replies. */
function plantedChart(): Chart {
  const colours = {
    'right-labels': palette.green,
    'JSDRV, reward-to-go': palette.blue,
    'JSDRV, claim (REINFORCE)': palette.pink,
    'random-by-class': palette.grey,
    'JSDRV, reward-to-go, kept': palette.amber,
    untuned: '#1d1d1f',
  };
  const values = trials
    .filter(({ curve }) => curve === 'planted')
    .flatMap(({ x, seed, scores }) => Object.keys(colours).map((name) => ({ name, x, seed, macroF1: scores[name] })));
  const x = { field: 'x', type: 'quantitative', title: 'share of replies that look like another stance' } as const;
  const color = coloured(colours);
  return {
    ...{ name: 'selection-curves-planted', title: '', caption: '' },
    label: 'Macro-F1 of stance on planted threads by the share of slippery replies, a dot a seed and their mean.',
    spec: {
      width: 420,
      height: 260,
      data: { values },
      layer: [
        {
          mark: { type: 'line', aria: false },
          encoding: {
            x,
            y: { field: 'macroF1', aggregate: 'mean', type: 'quantitative', title: 'macro-F1 of stance' },
            color,
          },
        },
        {
          mark: { type: 'circle', aria: false, opacity: 0.6 },
          encoding: { x, y: { field: 'macroF1', type: 'quantitative' }, color },
        },
      ],
    },
  };
}
