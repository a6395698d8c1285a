import { Command } from '@commander-js/extra-typings';
import { writeFileAtomically } from '../../src/atomic-file.ts';
import { counted } from '../../src/counted.ts';
import type { MetricInterval } from '../../src/metrics/metric-intervals.ts';
import { kindOf } from '../kinds/kinds.ts';
import { type ComparedPlace, comparisonPage, differencesTable } from '../report/page/comparison-page.ts';
import { type Block, screenText } from '../report/report.ts';
import { firstRunIn } from '../run/compare-systems.ts';
import { kindOfRun } from '../run/kind-of-run.ts';
import { commandLineOf, seed } from './option-values.ts';
import { printResult, proseWidth, type Terminal } from './terminal.ts';

const defaultSeed = 1;

export function compareCommand(terminal: Terminal) {
  return new Command('compare')
    .description('Compare two systems on the test items that both decided: paired bootstrap of the metrics.')
    .argument('<first>', 'run directory, or a folder of runs with one seed each')
    .argument('<second>', 'the same; runs of one seed are paired with each other')
    .option('--system <name>', `system of the first (default: the one that the runs are about, such as "stop agent")`)
    .option(
      '--second-system <name>',
      'system of the second, such as "first 4 posts" or random (default: the same as of the first)',
    )
    .option('--seed <number>', 'seed of the bootstrap', seed, defaultSeed)
    .option('--json', 'print the comparison as JSON')
    .option('--html', 'also write a page with the differences and the items on which they differ')
    .option('--out <file>', 'write that page there (default: comparison.html)')
    .addHelpText(
      'after',
      `
Stop agents are compared by macro-F1, ER and queries, selectors by macro-F1 and micro-F1 for each test set and task,
and detectors by every metric after each number of replies.
Intervals are over seeds and the threads of each; replies are drawn with their thread.

Examples:
  earshot compare runs/eard-tables/paper runs/eard-tables/erd
  earshot compare runs/quickstart/one-query runs/quickstart/one-query --second-system "first 4 posts"
  earshot compare runs/selector-quickstart/agent runs/selector-quickstart/agent --second-system random
  earshot compare runs/detectors-quickstart/local runs/detectors-quickstart/sentence-encoder
  earshot compare runs/quickstart/one-query runs/quickstart/detector-in-state --html --out comparison.html`,
    )
    .action(async (first, second, options) => {
      const { learnt, compare } = await kindOf(kindOfRun(firstRunIn(first)), first);
      const { system = learnt } = options;
      const compared = [
        { folder: first, system },
        { folder: second, system: options.secondSystem ?? system },
      ] as const;
      const places = compare(compared, options);
      const json = places.map(({ of, items, seeds, metrics }) => ({ ...of, items, seeds, ...byName(metrics) }));
      // What is decided once per thread has one place, and its items are threads.
      const [{ items: threads, ...once }] = json;
      const isOnePlace = Object.keys(places[0].of).length === 0;
      const [ours, theirs] = compared;
      printResult(terminal, {
        json: options.json,
        value: isOnePlace ? { threads, ...once } : json,
        text: screenText([`${system} of ${first}\nminus ${theirs.system} of ${second}`, ...places.flatMap(blocksOf)], {
          width: proseWidth(terminal),
        }),
      });
      const { out = options.html ? 'comparison.html' : undefined } = options;
      if (out === undefined) return;
      const command = commandLineOf(['compare', first, second], {
        system: ours.system,
        secondSystem: theirs.system,
        seed: options.seed === defaultSeed ? undefined : options.seed,
      });
      // Where no system is asked for, the folders say all.
      const isAsked = options.system !== undefined || options.secondSystem !== undefined;
      const names = compared.map((entry) => ({ ...entry, system: isAsked ? entry.system : null }));
      writeFileAtomically(out, await comparisonPage({ names, command, places }));
      terminal.stderr.write(`\nPage: ${out}\n`);
    });
}

function byName(metrics: readonly MetricInterval[]) {
  return Object.fromEntries(
    metrics.map(({ name, title: _, estimate, ...interval }) => [name, { difference: estimate, ...interval }]),
  );
}

function blocksOf({ title, items, seeds, metrics }: ComparedPlace): Block[] {
  return [`${title}, ${counted(items, 'decision')} paired, of ${counted(seeds, 'seed')}`, differencesTable(metrics)];
}
