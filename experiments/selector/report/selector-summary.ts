import { counted } from '../../../src/counted.ts';
import type { ScreenBlock } from '../../report/narrow-table.ts';
import type { VariantResults } from '../../report/variant-results.ts';
import { selectorTasks } from '../decisions.ts';
import type { SelectorResult } from '../result.ts';
import { allPostsName, selectorName, systemNames } from '../system-names.ts';
import { keptMacroF1, overSeeds, scoresOf } from './selector-lead.ts';
import { selectorVerdict } from './selector-verdict.ts';

/** Systems that answer the question "was it worth selecting?"; the report has the others. */
const shown = [selectorName, allPostsName, 'untuned', 'random', 'random-by-class', 'everything'] as const;

/**
 * What a selector experiment came to, on a screen: macro-F1 of both tasks on every test set, and one sentence on how the
 * selector stands to a random selection.
 */
export function summarizeSelectorExperiment(
  name: string,
  results: readonly VariantResults<SelectorResult>[],
): ScreenBlock[] {
  const [{ trials }] = results;
  const tests = Object.keys(trials[0].systems[0].tests);
  if (tests.length === 0) return [`${name}: nothing was tested: the experiment names no \`data.tests\``];
  const tables = tests.map((test) => {
    const rows = results.flatMap(({ variant, trials: runs }) =>
      shown
        .filter((system) => runs[0].systems.some((own) => own.name === system))
        .map((system) => {
          const asTuned = selectorTasks.map((task) =>
            overSeeds(scoresOf(runs, { system, test, task }).map(({ values }) => values.macroF1)),
          );
          const kept = selectorTasks.map((task) => overSeeds(keptMacroF1(runs, { system, test, task })));
          const name = `${results.length > 1 ? `${variant}: ` : ''}${systemNames[system] ?? system}`;
          return [name, ...asTuned, ...kept.map((cell, index) => (cell === '–' ? asTuned[index] : cell))];
        }),
    );
    const heading = [`${test}, macro-F1`, ...selectorTasks, ...selectorTasks.map((task) => `${task} kept`)];
    // Where every run keeps what it tuned the columns would say the same twice.
    const isTwice = rows.every(([, stance, veracity, ...kept]) => kept[0] === stance && kept[1] === veracity);
    return [heading, ...rows].map((row) => (isTwice ? row.slice(0, 3) : row));
  });
  return [`${name}: ${counted(trials.length, 'seed')}`, ...tables, `Verdict: ${selectorVerdict(results)}.`];
}
