import { meanAndDeviation } from '../../src/metrics/summary-statistics.ts';
import type { VariantResults } from '../run/experiment-kind.ts';
import { allPostsName, type SelectorTask, selectorName, selectorTasks } from '../selector/decisions.ts';
import type { SelectorResult } from '../selector/result.ts';
import { plusMinus } from './aggregate.ts';
import { narrowTable, summaryWidth, wrapped } from './narrow-table.ts';
import { systemNames } from './selector-report.ts';

/** Systems that answer the question "was it worth selecting?"; the report has the others. */
const shown = [selectorName, allPostsName, 'untuned', 'random', 'random-by-class', 'everything'] as const;
/** What a random selection may be, the stricter control first. */
const controls = ['random-by-class', 'random'] as const;

/**
 * What a selector experiment came to, on a screen: macro-F1 of both tasks on every test set, and one sentence on how the
 * selector stands to a random selection. No line is longer than 100 characters.
 */
export function summarizeSelectorExperiment({
  name,
  results,
}: {
  name: string;
  results: readonly VariantResults<SelectorResult>[];
}): string {
  const [{ trials }] = results;
  const tests = Object.keys(trials[0].systems[0].tests);
  if (tests.length === 0) return `${name}: nothing was tested: the experiment names no \`data.tests\`\n`;
  const tables = tests.map((test) =>
    narrowTable([
      [`${test}, macro-F1`, ...selectorTasks],
      ...results.flatMap(({ variant, trials: runs }) =>
        shown
          .filter((system) => runs[0].systems.some((own) => own.name === system))
          .map((system) => [
            `${results.length > 1 ? `${variant}: ` : ''}${systemNames[system] ?? system}`,
            ...selectorTasks.map((task) => overSeeds(scoresOf(runs, { system, test, task }))),
          ]),
      ),
    ]),
  );
  const verdicts = results.map(({ variant, trials: runs }) => {
    const subject = results.length > 1 ? `${variant}’s selector` : 'the selector';
    const control = controls.find((random) => runs[0].systems.some(({ name: own }) => own === random));
    if (control === undefined) return `${subject} was not compared with a random selection`;
    const leads = tests.flatMap((test) =>
      selectorTasks.flatMap((task) => leadOver(runs, { control, test, task }) ?? []),
    );
    return `against a ${systemNames[control]} ${subject} makes ${leads.join(', ')}`;
  });
  return [
    `${name}: ${trials.length} seed${trials.length === 1 ? '' : 's'}`,
    '',
    ...tables.flatMap((table) => [table, '']),
    wrapped(`Verdict: ${verdicts.join('; ')}.`, { width: summaryWidth }),
    '',
  ].join('\n');
}

interface Place {
  readonly test: string;
  readonly task: SelectorTask;
}

/** One value a seed. */
function scoresOf(trials: readonly SelectorResult[], { system, test, task }: Place & { system: string }): number[] {
  return trials.flatMap(
    ({ systems }) => systems.find(({ name }) => name === system)?.tests[test]?.[task]?.values.macroF1 ?? [],
  );
}

/** Paired by seed: a seed draws its claims for all systems alike. */
function leadOver(
  trials: readonly SelectorResult[],
  { control, ...place }: Place & { control: string },
): string | null {
  const differences = trials.flatMap((trial) => {
    const [own] = scoresOf([trial], { ...place, system: selectorName });
    const [other] = scoresOf([trial], { ...place, system: control });
    return own === undefined || other === undefined ? [] : [own - other];
  });
  if (differences.length === 0) return null;
  const better = differences.filter((difference) => difference > 0).length;
  const mean = plusMinus(meanAndDeviation(differences), { signed: true });
  return `${mean} in ${place.task} on ${place.test} (above it with ${better} of ${differences.length} seeds)`;
}

function overSeeds(values: readonly number[]): string {
  return values.length === 0 ? '–' : plusMinus(meanAndDeviation(values));
}
