import { counted } from '../../../src/counted.ts';
import { meanAndDeviation } from '../../../src/metrics/summary-statistics.ts';
import { narrowTable, summaryWidth, wrapped } from '../../report/narrow-table.ts';
import { plusMinus } from '../../report/shown-numbers.ts';
import type { VariantResults } from '../../report/variant-results.ts';
import { type SelectorTask, selectorTasks } from '../decisions.ts';
import type { SelectorResult } from '../result.ts';
import { allPostsName, selectorName } from '../system-names.ts';
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
  const comparisons = results.map(({ variant, trials: runs }) => {
    const subject = results.length > 1 ? `${variant}’s selector` : 'the selector';
    const control = controls.find((random) => runs[0].systems.some(({ name: own }) => own === random));
    const leads =
      control === undefined
        ? []
        : tests.flatMap((test) => selectorTasks.flatMap((task) => leadOver(runs, { control, test, task }) ?? []));
    return { subject, control, leads };
  });
  return [
    `${name}: ${counted(trials.length, 'seed')}`,
    '',
    ...tables.flatMap((table) => [table, '']),
    wrapped(`Verdict: ${verdictOn(comparisons)}.`, { width: summaryWidth }),
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

/** How a selector stands to a random selection. */
interface Comparison {
  readonly subject: string;
  /** The random selection; undefined where there was none. */
  readonly control: string | undefined;
  readonly leads: readonly Lead[];
}

interface Lead extends Place {
  /** One for each seed, paired: a seed draws its claims for all systems alike. */
  readonly differences: readonly number[];
}

function leadOver(trials: readonly SelectorResult[], { control, ...place }: Place & { control: string }): Lead | null {
  const differences = trials.flatMap((trial) => {
    const [own] = scoresOf([trial], { ...place, system: selectorName });
    const [other] = scoresOf([trial], { ...place, system: control });
    return own === undefined || other === undefined ? [] : [own - other];
  });
  return differences.length === 0 ? null : { ...place, differences };
}

/** More than these would hide what they say. */
const leadsInVerdict = 6;

function verdictOn(comparisons: readonly Comparison[]): string {
  const leads = comparisons.flatMap((own) => own.leads);
  if (leads.length > leadsInVerdict) {
    const all = (holds: (difference: number) => boolean) =>
      leads.filter(({ differences }) => differences.every(holds)).length;
    const above = all((difference) => difference > 0);
    const below = all((difference) => difference < 0);
    return `of ${leads.length} comparisons with a random selection the selector is above it with every seed in ${above} and below it with every seed in ${below}; the report has each`;
  }
  return comparisons
    .map(({ subject, control, leads: own }) =>
      control === undefined
        ? `${subject} was not compared with a random selection`
        : `against a ${systemNames[control]} ${subject} makes ${own.map(leadText).join(', ')}`,
    )
    .join('; ');
}

function leadText({ test, task, differences }: Lead): string {
  const better = differences.filter((difference) => difference > 0).length;
  const mean = plusMinus(meanAndDeviation(differences), { isDifference: true });
  return `${mean} in ${task} on ${test} (above it with ${better} of ${differences.length} seeds)`;
}

function overSeeds(values: readonly number[]): string {
  return values.length === 0 ? '–' : plusMinus(meanAndDeviation(values));
}
