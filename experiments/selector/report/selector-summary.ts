import { counted } from '../../../src/counted.ts';
import { meanAndDeviation } from '../../../src/metrics/summary-statistics.ts';
import { narrowTable, summaryWidth, wrapped } from '../../report/narrow-table.ts';
import { plusMinus } from '../../report/shown-numbers.ts';
import type { VariantResults } from '../../report/variant-results.ts';
import { type SelectorTask, selectorTasks } from '../decisions.ts';
import type { SelectorResult } from '../result.ts';
import type { MetricInterval } from '../scores.ts';
import { allPostsName, selectorName, systemNames } from '../system-names.ts';
import { leadOver, leadText } from './selector-report.ts';

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
  const comparisons = results.map(({ variant, trials: runs }): Comparison => {
    const subject = results.length > 1 ? `${variant}’s selector` : 'the selector';
    const control = controls.find((random) => runs[0].systems.some(({ name: own }) => own === random)) ?? null;
    const places = control === null ? [] : tests.flatMap((test) => selectorTasks.map((task) => ({ test, task })));
    const leads = places.flatMap((place) => {
      const lead = leadOver(runs, { own: selectorName, other: String(control), ...place });
      return lead === null ? [] : [{ ...place, lead }];
    });
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
  /** The random selection; null where there was none. */
  readonly control: (typeof controls)[number] | null;
  readonly leads: readonly (Place & { readonly lead: MetricInterval })[];
}

/** More than these would hide what they say. */
const leadsInVerdict = 6;

function verdictOn(comparisons: readonly Comparison[]): string {
  const leads = comparisons.flatMap((own) => own.leads);
  if (leads.length > leadsInVerdict) {
    const gains = leads.filter(({ lead }) => lead.low > 0).length;
    const losses = leads.filter(({ lead }) => lead.high < 0).length;
    return `of ${leads.length} comparisons with a random selection ${gains} show a gain, ${losses} a loss and the others no measurable gain over it; the report has each`;
  }
  return comparisons
    .map(({ subject, control, leads: own }) =>
      control === null
        ? `${subject} was not compared with a random selection`
        : `compared with a ${systemNames[control]}, ${subject} shows ${own.map(clauseOf).join('; ')}`,
    )
    .join('; ');
}

/** By the interval over seeds and threads: what touches 0 is no gain that could be measured. */
function clauseOf({ test, task, lead }: Comparison['leads'][number]): string {
  const what = lead.low > 0 ? 'a gain over' : lead.high < 0 ? 'a loss against' : 'no measurable gain over';
  return `${what} it in ${task} on ${test} (${leadText(lead)})`;
}

function overSeeds(values: readonly number[]): string {
  return values.length === 0 ? '–' : plusMinus(meanAndDeviation(values));
}
