import { groupBy } from '../../../src/data/group-by.ts';
import { present } from '../../../src/present.ts';
import { quoted } from '../../../src/shell-words.ts';
import { kindReport, provenanceFacts, type ReportSource, type VariantResults } from '../../report/kind-report.ts';
import type { Block, Report, ReportSection } from '../../report/report.ts';
import { overSeeds, valuesOverSeeds } from '../../report/shown-numbers.ts';
import { systemsTable, type Table } from '../../report/table.ts';
import { type SelectorTask, selectorTasks as tasks } from '../decisions.ts';
import { readSelectorResult, type SelectorResult, selectorJson } from '../result.ts';
import { selectorMetrics } from '../scores.ts';
import { allPostsName, selectorName, systemNames } from '../system-names.ts';
import { selectorConclusion, selectorWarnings } from './selector-conclusion.ts';
import {
  decided,
  keptMacroF1,
  leadOver,
  macroF1Of,
  macroF1OnEvent,
  namedSystems,
  taskScoresBySeed,
} from './selector-lead.ts';
import { selectorPages } from './selector-pages.ts';

export const selectorReport = kindReport({ read: readSelectorResult, json: selectorJson, of: reportOf });

type Results = readonly VariantResults<SelectorResult>[];

/** Systems that answer the question "was it worth selecting?"; sections have the others. */
const shownFirst: readonly string[] = [
  selectorName,
  allPostsName,
  'untuned',
  'everything',
  'random',
  'random-by-class',
];

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

export function reportOf({ name, description, command, variants }: ReportSource, results: Results): Report {
  const [{ trials }] = results;
  const lastRun = variants.at(-1)?.directories.at(-1) ?? '';
  const weak = '--text text --label machine_label --gold gold_label --out selected.csv # weak labels of your own';
  const [{ tests, claims, folds }] = trials;
  const { labelled, unlabelled, posts, leftOut } = claims;
  const counts = Object.entries({ 'labelled claims': labelled, 'unlabelled claims': unlabelled, posts });
  return {
    ...{ title: name, description, command },
    conclusion: selectorConclusion(results),
    tables: tests.map((test) => macroF1Table(test, results)),
    notes: selectorWarnings(results),
    next: [`npx earshot select ${quoted(lastRun)} --out selected.jsonl`, `npx earshot select labels.csv ${weak}`],
    facts: present([
      ...provenanceFacts(variants, 'claims and tests of the experiment'),
      ...counts.map(([what, count]) => `${what}: ${Math.round(count)}`),
      folds.length > 0 && `means over the folds ${folds.map((fold) => fold.name).join(', ')}`,
      `left out of the training: ${Math.round(leftOut.sameThread)} threads of the tests, ${Math.round(leftOut.sameEvent)} of tested or unknown events, ${Math.round(leftOut.nearDuplicate)} that nearly repeat a tested claim`,
      `seeds: ${trials.map(({ seed }) => seed).join(', ')}`,
    ]),
    sections: present([
      ...tests.flatMap((test, place) => tasks.map((task) => taskSection({ test, task, results }, place + 1))),
      leadSection(tests, results),
      lastEpochSection(results),
    ]),
    page: () => selectorPages(results),
  };
}

/** Macro-F1 of both tasks on a test set, as tuned and with the models that runs keep. */
export function macroF1Table(test: string, results: Results): Table {
  const rows = namedSystems(results)
    .filter(({ system }) => shownFirst.includes(system))
    .map(({ system, trials, ...row }) => {
      const cells = tasks.flatMap((task) => {
        const of = { system, test, task };
        const asTuned = overSeeds(taskScoresBySeed(trials, of).map(({ values }) => values.macroF1));
        return [
          [task, asTuned],
          [`${task} kept`, keptMacroF1(trials, of) ?? asTuned],
        ];
      });
      return { ...row, values: Object.fromEntries(cells) };
    });
  // Where every run keeps what it tuned, the columns would show the same twice.
  const isTwice = rows.every(({ values }) =>
    tasks.every((task) => values[task]?.mean === values[`${task} kept`]?.mean),
  );
  const columns = [...tasks, ...(isTwice ? [] : tasks.map((task) => `${task} kept`))];
  const metrics = columns.map((column) => ({ name: column, title: column, decimals: 3 }));
  return systemsTable(rows, metrics, { first: `${test}, macro-F1` });
}

interface TableOf {
  readonly test: string;
  readonly task: SelectorTask;
  readonly results: Results;
}

/** Every system of every variant that a table shows. */
function systemsShown({ task, results }: TableOf) {
  // Only the veracity model depends on which posts are read, so for stance both rows would be the same.
  return namedSystems(results).filter(({ system }) => task === 'veracity' || system !== allPostsName);
}

/** @param place of the test among all */
function taskSection(table: TableOf, place: number): ReportSection | null {
  const { test, task, results } = table;
  const [example] = taskScoresBySeed(results[0].trials, { system: selectorName, test, task });
  if (example === undefined) return null;
  const classes = Object.entries(example.perClass).flatMap(([name, f1]) => (f1 === null ? [] : [name]));
  const [first, ...others] = selectorMetrics;
  const rows = systemsShown(table).flatMap(({ system, trials, ...row }) => {
    const of = { system, test, task };
    const macroF1 = macroF1Of(trials, of);
    if (macroF1 === null) return [];
    const scores = taskScoresBySeed(trials, of).map(({ values, perClass }) => ({ ...perClass, ...values }));
    return [{ ...row, values: { ...valuesOverSeeds(scores), macroF1, kept: keptMacroF1(trials, of) } }];
  });
  const metrics = [
    first,
    { name: 'kept', title: 'kept', decimals: 3 },
    ...others,
    ...classes.map((label) => ({ name: label, title: label, decimals: 3 })),
  ];
  const readsLabels = task === 'stance' && rows.some(({ name }) => name.endsWith(systemNames['tf-idf']));
  const explained = present([
    `${example.items} ${task === 'stance' ? 'replies' : 'claims'}. Mean ± standard deviation over seeds; in brackets 95% intervals over seeds and threads.`,
    'Kept: macro-F1 where each seed uses the tuned models if they are measurably better than the untuned ones on held-out items, and the untuned ones otherwise; – where there is no such choice.',
    readsLabels &&
      'The most common class, the most similar text and TF-IDF read the human stances of training replies, which the selector never sees.',
  ]);
  return {
    id: `test-${place}-${task}`,
    title: `${test}: ${task}`,
    blocks: [systemsTable(rows, metrics), explained.join(' '), ...eventBlocks(table)],
  };
}

/** Smaller events have too few items for a score of their own. */
const fewestOfEvent = 40;

/** Macro-F1 on each held-out event. */
function eventBlocks(table: TableOf): Block[] {
  const { test, task, results } = table;
  if (results.every(({ trials }) => trials[0].folds.length === 0)) return [];
  const [first] = decided(results[0].trials, { system: selectorName, test, task }).values();
  if (first === undefined) return [];
  const events = [...groupBy(first, ({ event }) => event)].filter(([, own]) => own.length >= fewestOfEvent);
  if (events.length === 0) return [];
  const rows = systemsShown(table).map(({ system, trials, ...row }) => ({
    ...row,
    values: Object.fromEntries(
      events.map(([event]) => [String(event), macroF1OnEvent(trials, event, { system, test, task })]),
    ),
  }));
  const metrics = events.map(([event, own]) => ({
    name: String(event),
    title: `${event} (${own.length})`,
    decimals: 3,
  }));
  return [`Macro-F1 on each event of ${fewestOfEvent} or more:`, systemsTable(rows, metrics)];
}

function leadSection(tests: readonly string[], results: Results): ReportSection | null {
  const places = tests.flatMap((test) => tasks.map((task) => ({ test, task, name: `${test}: ${task}` })));
  const learnt = namedSystems(results).filter(({ system }) => system === selectorName || system === allPostsName);
  const rows = learnt.flatMap(({ system: own, trials, name }) =>
    compared.map((other) => ({
      name: `${name} over ${systemNames[other]}`,
      values: Object.fromEntries(
        places.map(({ name, ...place }) => [name, leadOver(trials, { own, other, ...place })]),
      ),
    })),
  );
  const known = rows.filter(({ values }) => Object.values(values).some(Boolean));
  if (known.length === 0) return null;
  const metrics = places.map(({ name }) => ({ name, title: name, decimals: 3, isDifference: true }));
  const table = systemsTable(known, metrics, { first: 'lead' });
  return { id: 'lead', title: 'Lead of the selector in macro-F1, paired', blocks: [table] };
}

const selectionColumns = {
  'retained/posts': 'posts retained',
  'retained/claims': 'claims retained',
  'retained/unlabelledClaims': '… unlabelled',
  'reward/claims': 'reward of claims',
  'hidden/stancePrecision': 'right stances, all',
  'hidden/stanceRetainedPrecision': '… retained',
  'hidden/veracityPrecision': 'right veracities, unlabelled',
  'hidden/veracityRetainedPrecision': '… retained',
};

function lastEpochSection(results: Results): ReportSection {
  const rows = results.map(({ variant: name, trials }) => {
    return { name, values: valuesOverSeeds(trials.map(({ lastEpoch, epochs }) => ({ ...lastEpoch, epochs }))) };
  });
  const metrics = [
    { name: 'epochs', title: 'epochs', decimals: 1 },
    ...Object.entries(selectionColumns)
      .filter(([metric]) => rows.some(({ values }) => values[metric]))
      .map(([metric, title]) => ({ name: metric, title, decimals: 3 })),
  ];
  const explained =
    'Right ones are counted against labels that the selector does not see, where the training data has them. `earshot report --html` draws the stances of the last epoch before and after selection (`stance-picture.json` in each run’s folder).';
  return {
    id: 'last-epoch',
    title: 'The last epoch',
    blocks: [systemsTable(rows, metrics, { first: 'selector' }), explained],
  };
}
