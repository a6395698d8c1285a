import { groupBy } from '../../../src/data/group-by.ts';
import { present } from '../../../src/present.ts';
import { kindReport, provenanceFacts, type ReportSource, type VariantResults } from '../../report/kind-report.ts';
import type { Report, ReportSection } from '../../report/report.ts';
import { overSeeds, valuesOverSeeds } from '../../report/shown-numbers.ts';
import { systemsTable, type Table } from '../../report/table.ts';
import { allPostsName, type SelectorTask, selectorName, systemNames, selectorTasks as tasks } from '../decisions.ts';
import { readSelectorResult, type SelectorResult, selectorJson } from '../result.ts';
import { selectorMetrics } from '../scores.ts';
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

export function reportOf({ name, description, command, variants }: ReportSource, results: Results): Report {
  const [{ trials }] = results;
  const weak = '--text text --label machine_label --gold gold_label --out selected.csv # weak labels of your own';
  const [{ tests, claims, folds }] = trials;
  const { labelled, unlabelled, posts, leftOut } = claims;
  const counts = Object.entries({ 'labelled claims': labelled, 'unlabelled claims': unlabelled, posts });
  return {
    ...{ title: name, description, command },
    conclusion: selectorConclusion(results),
    tables: tests.map((test) => macroF1Table(test, results)),
    notes: selectorWarnings(results),
    next: [`npx earshot select labels.csv ${weak}`],
    facts: present([
      ...provenanceFacts(variants, 'claims and tests of the experiment'),
      ...counts.map(([what, count]) => `${what}: ${Math.round(count)}`),
      folds.length > 0 && `means over the folds ${folds.map((fold) => fold.name).join(', ')}`,
      `left out of the training: ${Math.round(leftOut.sameThread)} threads of the tests, ${Math.round(leftOut.sameEvent)} of tested or unknown events, ${Math.round(leftOut.nearDuplicate)} that nearly repeat a tested claim`,
      `seeds: ${trials.map(({ seed }) => seed).join(', ')}`,
    ]),
    sections: present([
      ...tests.flatMap((test, index) => tasks.map((task) => taskSection({ test, task, place: index + 1 }, results))),
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

/** Smaller events have too few items for a score of their own. */
const fewestOfEvent = 40;

/**
 * Every system on one task of a test set.
 * @param of.place of the test among all
 */
function taskSection(of: { test: string; task: SelectorTask; place: number }, results: Results): ReportSection | null {
  const { test, task, place } = of;
  const [{ trials: first }] = results;
  const learnt = { test, task, system: selectorName };
  const [example] = taskScoresBySeed(first, learnt);
  if (example === undefined) return null;
  const classes = Object.entries(example.perClass).flatMap(([name, f1]) => (f1 === null ? [] : [name]));
  const items = [...decided(first, learnt).values()][0];
  const byEvent = first[0].folds.length === 0 ? new Map() : groupBy(items, ({ event }) => event);
  const events = [...byEvent].filter(([, decisions]) => decisions.length >= fewestOfEvent);
  const [macroF1, ...others] = selectorMetrics;
  // Only the veracity model depends on which posts are read, so for stance both rows would be the same.
  const systems = namedSystems(results).filter(({ system }) => task === 'veracity' || system !== allPostsName);
  const rows = systems.flatMap(({ system, trials, ...row }) => {
    const place = { test, task, system };
    const score = macroF1Of(trials, place);
    if (score === null) return [];
    const scores = taskScoresBySeed(trials, place).map(({ values, perClass }) => ({ ...perClass, ...values }));
    const lead = system === selectorName ? null : leadOver(trials, { ...place, system: selectorName, other: system });
    const ofEvents = events.map(([event]) => [`event ${event}`, macroF1OnEvent(trials, event, place)]);
    const values = { ...valuesOverSeeds(scores), macroF1: score, kept: keptMacroF1(trials, place), lead };
    return [{ ...row, values: { ...values, ...Object.fromEntries(ofEvents) } }];
  });
  const metrics = [
    macroF1,
    { name: 'lead', title: 'the selector’s lead', decimals: 3, isDifference: true },
    { name: 'kept', title: 'kept', decimals: 3 },
    ...others,
    ...classes.map((label) => ({ name: label, title: label, decimals: 3 })),
    ...events.map(([event, decisions]) => ({
      name: `event ${event}`,
      title: `${event} (${decisions.length})`,
      decimals: 3,
    })),
  ];
  const readsLabels = task === 'stance' && rows.some(({ name }) => name.endsWith(systemNames['tf-idf']));
  const explained = present([
    `${example.items} ${task === 'stance' ? 'replies' : 'claims'}. Mean ± standard deviation over seeds; in brackets 95% intervals over seeds and threads. The lead is in macro-F1, paired.`,
    'Kept: macro-F1 where each seed uses the tuned models if they are measurably better than the untuned ones on held-out items, and the untuned ones otherwise; – where there is no such choice.',
    readsLabels &&
      'The most common class, the most similar text and TF-IDF read the human stances of training replies, which the selector never sees.',
    events.length > 0 && `Columns of events have the macro-F1 on each event of ${fewestOfEvent} items or more.`,
  ]);
  return {
    id: `test-${place}-${task}`,
    title: `${test}: ${task}`,
    blocks: [systemsTable(rows, metrics), explained.join(' ')],
  };
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
    'Right ones are counted against labels that the selector does not see, where the training data has them.';
  return {
    id: 'last-epoch',
    title: 'The last epoch',
    blocks: [systemsTable(rows, metrics, { first: 'selector' }), explained],
  };
}
