import { markdownTable } from 'markdown-table';
import { meanAndDeviation } from '../../src/metrics/summary-statistics.ts';
import type { VariantResults } from '../run/experiment-kind.ts';
import { allPostsName, type SelectorTask, selectorName, selectorTasks as tasks } from '../selector/decisions.ts';
import { selectorMetrics, type TaskScores } from '../selector/metrics.ts';
import type { SelectorResult } from '../selector/result.ts';
import { plusMinus } from './aggregate.ts';

/** How tables name the systems. */
const systemNames: Readonly<Record<string, string>> = {
  [allPostsName]: 'its task models, reading all posts',
  untuned: 'task models untuned',
  everything: 'tuned on everything, no selection',
  random: 'random selection of the same size',
  oracle: 'only what the machine labelled right (oracle)',
  supervised: 'supervised on human labels (upper bound)',
};

/**
 * The tables of a selector experiment in Markdown: for each test set both tasks, the selector of every variant beside the
 * other systems; how far the selector leads them, seed by seed; and what the last epoch retained.
 */
export function renderSelectorReport(options: {
  name: string;
  description: string;
  command: string;
  results: readonly VariantResults<SelectorResult>[];
}): string {
  const { name, description, command, results } = options;
  const [{ trials: firstTrials }] = results;
  const [{ claims, systems }] = firstTrials;
  const tests = Object.keys(systems[0].tests);
  const lines = [
    `# ${name}`,
    '',
    ...(description.trim() === '' ? [] : [description.trim(), '']),
    `Command: \`${command}\``,
    '',
    `Claims: ${claims.labelled} labelled, ${claims.unlabelled} unlabelled, ${claims.posts} posts; ${claims.sharedWithTests} threads shared with the tests were left out. Seeds: ${firstTrials.map(({ seed }) => seed).join(', ')}. Mean ± standard deviation over seeds.`,
    '',
    ...(tests.length === 0 ? ['Nothing was tested: the experiment names no `data.tests`.', ''] : []),
    ...tests.flatMap((test) => tasks.flatMap((task) => taskTable({ test, task, results }))),
    ...leadTable({ tests, results }),
    ...selectionTable(results),
  ];
  return `${lines.join('\n').trimEnd()}\n`;
}

function taskTable(options: {
  test: string;
  task: SelectorTask;
  results: readonly VariantResults<SelectorResult>[];
}): string[] {
  const { test, task, results } = options;
  const scoresOf = (trials: readonly SelectorResult[], system: string) =>
    trials.flatMap(({ systems }) => systems.find(({ name }) => name === system)?.tests[test]?.[task] ?? []);
  const [{ trials }] = results;
  const [example] = scoresOf(trials, selectorName);
  if (example === undefined) return [];
  const classes = Object.entries(example.perClass).flatMap(([name, f1]) => (f1 === null ? [] : [name]));
  const row = (name: string, scores: readonly TaskScores[]) => [
    name,
    ...selectorMetrics.map((metric) => overSeeds(scores.map(({ values }) => values[metric.name]))),
    ...classes.map((label) => overSeeds(scores.map(({ perClass }) => perClass[label] ?? 0))),
  ];
  // Only the veracity model depends on which posts are read, so for stance both rows would be the same.
  const isShown = (name: string) => task === 'veracity' || name !== allPostsName;
  return [
    `## ${test}: ${task}`,
    '',
    markdownTable(
      [
        ['system', ...selectorMetrics.map(({ title }) => title), ...classes],
        ...results.flatMap(({ variant, trials: runs }) => {
          const where = results.length > 1 ? `${variant}: ` : '';
          const names = runs[0].systems.map(({ name }) => name).filter(isShown);
          return names.map((name) =>
            name === selectorName
              ? row(`**${where}${selectorName}**`, scoresOf(runs, name))
              : row(`${where}${systemNames[name]}`, scoresOf(runs, name)),
          );
        }),
      ],
      { align: ['l', ...Array<'r'>(classes.length + selectorMetrics.length).fill('r')] },
    ),
    '',
    `${example.items} ${task === 'stance' ? 'replies' : 'claims'}.`,
    '',
  ];
}

/** Paired differences: each seed draws its claims and models for all systems alike. */
function leadTable(options: {
  tests: readonly string[];
  results: readonly VariantResults<SelectorResult>[];
}): string[] {
  const { tests, results } = options;
  const leads = [selectorName, allPostsName].flatMap((own) =>
    (['random', 'everything', 'untuned'] as const).map((other) => ({ own, other })),
  );
  const rows = results.flatMap(({ variant, trials }) =>
    leads.flatMap(({ own, other }) => {
      const cells = tests.flatMap((test) =>
        tasks.map((task) => {
          const differences = trials.flatMap(({ systems }) => {
            const of = (system: string) =>
              systems.find(({ name }) => name === system)?.tests[test]?.[task]?.values.macroF1;
            const [ours, theirs] = [of(own), of(other)];
            return ours === undefined || theirs === undefined ? [] : [ours - theirs];
          });
          return differences.length === 0 ? null : overSeeds(differences, { signed: true });
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
  return [
    '## Lead of the selector in macro-F1, seed by seed',
    '',
    markdownTable(
      [
        [
          ...(results.length > 1 ? ['variant'] : []),
          'of',
          'over',
          ...tests.flatMap((test) => tasks.map((task) => `${test}: ${task}`)),
        ],
        ...rows,
      ],
      { align: [...Array<'l'>(results.length > 1 ? 3 : 2).fill('l'), ...Array<'r'>(tests.length * 2).fill('r')] },
    ),
    '',
  ];
}

const selectionColumns: readonly (readonly [name: string, metric: string])[] = [
  ['posts retained', 'retained/posts'],
  ['claims retained', 'retained/claims'],
  ['reward of claims', 'reward/claims'],
  ['right stances, all', 'hidden/stancePrecision'],
  ['… retained', 'hidden/stanceRetainedPrecision'],
  ['right veracities, unlabelled', 'hidden/veracityPrecision'],
  ['… retained', 'hidden/veracityRetainedPrecision'],
];

function selectionTable(results: readonly VariantResults<SelectorResult>[]): string[] {
  const known = selectionColumns.filter(([, metric]) =>
    results.some(({ trials }) => trials.some(({ lastEpoch }) => lastEpoch[metric] !== undefined)),
  );
  return [
    '## The last epoch',
    '',
    markdownTable(
      [
        ['selector', 'epochs', ...known.map(([name]) => name)],
        ...results.map(({ variant, trials }) => [
          variant,
          overSeeds(
            trials.map(({ epochs }) => epochs),
            { digits: 1 },
          ),
          ...known.map(([, metric]) => overSeeds(trials.flatMap(({ lastEpoch }) => lastEpoch[metric] ?? []))),
        ]),
      ],
      { align: ['l', ...Array<'r'>(known.length + 1).fill('r')] },
    ),
    '',
    'Right ones are counted against labels that the selector does not see, where the training data has them. Each run’s folder',
    'shows the stances of its last epoch before and after selection (`stance-picture.svg`, `stance-picture.json`).',
    '',
  ];
}

function overSeeds(values: readonly number[], options?: Parameters<typeof plusMinus>[1]): string {
  return values.length === 0 ? '–' : plusMinus(meanAndDeviation(values), options);
}
