/*
 * What selecting weak labels gains, beside a random selection of the same classes (selection-trial.ts says how). Usage:
 *
 *   node --import tsx benchmarks/selection.ts [--seeds 11,12,…] [--machine weak:300|noise:0.2]… [--items 3000] [--gold 200]
 *     [--share 0.5] [--csv folder] [--test test|val] [--encoder '{"name":…}'] [--sample 2600] <items.jsonl>…
 *
 * With `--encoder` selectors read its vectors in place of words; the trained model reads words all the same. `--sample` draws from that many
 * rows alone, so that few texts are encoded: vectors are kept in runs/cache. Settings are chosen with `--test val`.
 * With `--csv` each seed's table is written as `labels-<seed>.csv`, and the test as `test.csv`, for the tutorial on selection.
 */
import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import { markdownTable } from 'markdown-table';
import { signed } from '../experiments/report/shown-numbers.ts';
import { mean } from '../src/metrics/summary-statistics.ts';
import { namedEncoder } from './named-encoder.ts';
import { gainOverRandom, readRows, sampled, selectionTrial } from './selection-trial.ts';

const { values: options, positionals } = parseArgs({
  options: {
    seeds: { type: 'string', default: '11,12,13,14,15,16,17,18,19,20' },
    machine: { type: 'string', multiple: true, default: ['weak:300'] },
    items: { type: 'string', default: '3000' },
    gold: { type: 'string', default: '200' },
    share: { type: 'string', default: '0.5' },
    csv: { type: 'string' },
    test: { type: 'string', default: 'test' },
    encoder: { type: 'string' },
    sample: { type: 'string' },
  },
  allowPositionals: true,
});
const { seeds, csv, test } = options;
const [items, gold, share] = [options.items, options.gold, options.share].map(Number);
const encoder = options.encoder === undefined ? null : await namedEncoder(options.encoder, { runs: 'runs' });

for (const path of positionals)
  for (const machine of options.machine) {
    const rows = sampled(readRows(path, { test }), Number(options.sample ?? Number.POSITIVE_INFINITY));
    const trials: Record<string, number>[] = [];
    for (const seed of seeds.split(',').map(Number))
      trials.push(await selectionTrial(rows, { machine, items, gold, share, encoder, isChosen: true, seed, csv }));
    console.log(`\n${basename(path)}, machine ${machine}, seeds ${seeds}\n`);
    const lines = Object.keys(trials[0]).map((name) => {
      const score = mean(trials.map((trial) => trial[name])).toFixed(3);
      if (name === 'machine right') return [name, score, ''];
      const { estimate, low, high } = gainOverRandom(trials, name);
      return [name, score, [estimate, low, high].map((value) => signed(value, 3)).join(' ')];
    });
    const head = ['trained on gold and', 'macro-F1', 'over random of the same classes'];
    console.log(markdownTable([head, ...lines], { align: ['l', 'r', 'r'] }));
  }
