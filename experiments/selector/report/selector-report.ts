import { groupBy } from '../../../src/data/group-by.ts';
import { type Block, described, type ReportDocument, type ReportSection } from '../../report/document.ts';
import { signedInterval } from '../../report/shown-numbers.ts';
import type { VariantResults } from '../../report/variant-results.ts';
import { type SelectorTask, selectorTasks as tasks } from '../decisions.ts';
import type { SelectorResult } from '../result.ts';
import { scoreTest, selectorIntervals, selectorMetrics } from '../scores.ts';
import { allPostsName, selectorName, systemNames } from '../system-names.ts';
import { decided, keptMacroF1, leadOver, overSeeds, resamples, scoresOf } from './selector-lead.ts';
import { selectorVerdict } from './selector-verdict.ts';

/** The baselines that the selector is compared with, seed by seed. */
const compared = [
  'random',
  'random-by-class',
  'everything',
  'untuned',
  'majority',
  'nearest-neighbour',
  'tf-idf',
] as const;

const [macroF1] = selectorMetrics;

/**
 * A selector experiment: for each test set both tasks, the selector of every variant beside the other systems; how far the
 * selector leads them, seed by seed; and what the last epoch retained.
 */
export function selectorDocument(options: {
  name: string;
  description: string;
  command: string;
  results: readonly VariantResults<SelectorResult>[];
}): ReportDocument {
  const { name, description, command, results } = options;
  const [{ trials: firstTrials }] = results;
  const [{ systems }] = firstTrials;
  const tests = Object.keys(systems[0].tests);
  return {
    title: name,
    lead: [
      ...(tests.length === 0 ? [] : [`Verdict: ${selectorVerdict(results)}.`]),
      ...described(description),
      { command },
      claimsLine(firstTrials),
      ...(tests.length === 0 ? ['Nothing was tested: the experiment names no `data.tests`.'] : []),
    ],
    sections: [
      ...tests.flatMap((test, place) => tasks.flatMap((task) => taskSection({ test, task, results }, place + 1))),
      ...leadSection({ tests, results }),
      lastEpochSection(results),
    ],
  };
}

function claimsLine(trials: readonly SelectorResult[]): string {
  const [{ claims, folds }] = trials;
  const { labelled, unlabelled, posts, leftOut } = claims;
  const whole = (count: number) => String(Math.round(count));
  const where =
    folds.length === 0 ? '' : ` (means over ${folds.length} folds: ${folds.map(({ name }) => name).join(', ')})`;
  return (
    `Claims${where}: ${whole(labelled)} labelled, ${whole(unlabelled)} unlabelled, ${whole(posts)} posts; left out of the training were ` +
    `${whole(leftOut.sameThread)} threads that are among the tests, ${whole(leftOut.sameEvent)} of tested or unknown events, ${whole(leftOut.nearDuplicate)} that nearly repeat a tested claim. Seeds: ${trials.map(({ seed }) => seed).join(', ')}. ` +
    'Mean ± standard deviation over seeds; in brackets 95 % intervals over seeds and threads.'
  );
}

type Results = readonly VariantResults<SelectorResult>[];

interface TableOf {
  readonly test: string;
  readonly task: SelectorTask;
  readonly results: Results;
}

/** Every system of every variant that a table shows, by the name that it shows. */
function systemsShown({ task, results }: TableOf) {
  // Only the veracity model depends on which posts are read, so for stance both rows would be the same.
  const isShown = (name: string) => task === 'veracity' || name !== allPostsName;
  return results.flatMap(({ variant, trials }) => {
    const where = results.length > 1 ? `${variant}: ` : '';
    const names = trials[0].systems.map(({ name }) => name).filter(isShown);
    return names.map((system) => ({
      system,
      trials,
      title: system === selectorName ? `**${where}${selectorName}**` : `${where}${systemNames[system]}`,
    }));
  });
}

/** @param place of the test among all */
function taskSection(table: TableOf, place: number): ReportSection[] {
  const { test, task, results } = table;
  const [{ trials: firstTrials }] = results;
  const [example] = scoresOf(firstTrials, { system: selectorName, test, task });
  if (example === undefined) return [];
  const classes = Object.entries(example.perClass).flatMap(([name, f1]) => (f1 === null ? [] : [name]));
  const rows = systemsShown(table).flatMap(({ system, trials, title }) => {
    const scores = scoresOf(trials, { system, test, task });
    const seeds = decided(trials, { system, test, task });
    if (seeds.length === 0) return [];
    const [interval] = selectorIntervals({
      task,
      seeds: seeds.map((first) => ({ first })),
      seed: 1,
      resamples,
      metrics: [macroF1],
    });
    const [ofMacroF1, ...others] = selectorMetrics.map((metric) =>
      overSeeds(scores.map(({ values }) => values[metric.name])),
    );
    return [
      [
        title,
        `${ofMacroF1} [${interval.low.toFixed(3)}, ${interval.high.toFixed(3)}]`,
        overSeeds(keptMacroF1(trials, { system, test, task })),
        ...others,
        ...classes.map((label) => overSeeds(scores.map(({ perClass }) => perClass[label] ?? 0))),
      ],
    ];
  });
  const [ofMacroF1, ...others] = selectorMetrics.map(({ title }) => title);
  const readsLabels = rows.some(([title]) => title.endsWith(systemNames['tf-idf']));
  const explained =
    `${example.items} ${task === 'stance' ? 'replies' : 'claims'}. Kept: macro-F1 where each seed uses the tuned models if they do measurably better than the untuned ones on held-out items, and the untuned ones if not; – where there is no such choice.` +
    (task === 'stance' && readsLabels
      ? ' The most common class, the most similar text and TF-IDF know the human stances of training replies, which the selector never sees.'
      : '');
  const heading = ['system', ofMacroF1, 'kept', ...others, ...classes];
  const isMarked = (row: number) => rows[row][0].startsWith('**');
  return [
    {
      id: `test-${place}-${task}`,
      title: `${test}: ${task}`,
      blocks: [{ heading, rows, isMarked }, explained, ...eventBlocks(table)],
    },
  ];
}

/** Macro-F1 on each held-out event. */
function eventBlocks(table: TableOf): Block[] {
  const { test, task, results } = table;
  if (results.every(({ trials }) => trials[0].folds.length === 0)) return [];
  const [{ trials: firstTrials }] = results;
  const [first] = decided(firstTrials, { system: selectorName, test, task });
  if (first === undefined) return [];
  const counts = groupBy(first, ({ event }) => event);
  const events = [...counts.keys()].filter((event) => (counts.get(event)?.length ?? 0) >= fewestOfEvent);
  if (events.length === 0) return [];
  const rows = systemsShown(table).map(({ system, trials, title }) => [
    title,
    ...events.map((event) => {
      const scores = decided(trials, { system, test, task, event }).flatMap(
        (decisions) => scoreTest(decisions)[task] ?? [],
      );
      return overSeeds(scores.map(({ values }) => values[macroF1.name]));
    }),
  ]);
  const heading = ['system', ...events.map((event) => `${event} (${counts.get(event)?.length})`)];
  return [`Macro-F1 on each event of ${fewestOfEvent} or more:`, { heading, rows }];
}

/** Smaller events have too few items for a score of their own. */
const fewestOfEvent = 40;

function leadSection(options: { tests: readonly string[]; results: Results }): ReportSection[] {
  const { tests, results } = options;
  const leads = [selectorName, allPostsName].flatMap((own) => compared.map((other) => ({ own, other })));
  const rows = results.flatMap(({ variant, trials }) =>
    leads.flatMap(({ own, other }) => {
      const cells = tests.flatMap((test) =>
        tasks.map((task) => {
          const lead = leadOver(trials, { own, other, test, task });
          return lead === null ? null : signedInterval(lead);
        }),
      );
      return cells.every((cell) => cell === null)
        ? []
        : [
            [
              ...(results.length > 1 ? [variant] : []),
              own === selectorName ? selectorName : systemNames[own],
              systemNames[other],
              ...cells.map((cell) => cell ?? '–'),
            ],
          ];
    }),
  );
  if (rows.length === 0) return [];
  const heading = [
    ...(results.length > 1 ? ['variant'] : []),
    'of',
    'over',
    ...tests.flatMap((test) => tasks.map((task) => `${test}: ${task}`)),
  ];
  const blocks = [{ heading, rows, texts: ['of', 'over'] }];
  return [{ id: 'lead', title: 'Lead of the selector in macro-F1, paired', blocks }];
}

const selectionColumns: readonly (readonly [name: string, metric: string])[] = [
  ['posts retained', 'retained/posts'],
  ['claims retained', 'retained/claims'],
  ['… unlabelled', 'retained/unlabelledClaims'],
  ['reward of claims', 'reward/claims'],
  ['right stances, all', 'hidden/stancePrecision'],
  ['… retained', 'hidden/stanceRetainedPrecision'],
  ['right veracities, unlabelled', 'hidden/veracityPrecision'],
  ['… retained', 'hidden/veracityRetainedPrecision'],
];

function lastEpochSection(results: Results): ReportSection {
  const known = selectionColumns.filter(([, metric]) =>
    results.some(({ trials }) => trials.some(({ lastEpoch }) => lastEpoch[metric] !== undefined)),
  );
  const table = {
    heading: ['selector', 'epochs', ...known.map(([name]) => name)],
    rows: results.map(({ variant, trials }) => [
      variant,
      overSeeds(
        trials.map(({ epochs }) => epochs),
        { digits: 1 },
      ),
      ...known.map(([, metric]) => overSeeds(trials.flatMap(({ lastEpoch }) => lastEpoch[metric] ?? []))),
    ]),
  };
  const explained =
    'Right ones are counted against labels that the selector does not see, where the training data has them. `earshot report --html`\n' +
    'draws the stances of the last epoch before and after selection (`stance-picture.json` in each run’s folder).';
  return { id: 'last-epoch', title: 'The last epoch', blocks: [table, explained] };
}
