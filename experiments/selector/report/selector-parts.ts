import { join } from 'node:path';
import { RunDirectory } from '../../../checkpoints/run-directory.ts';
import { readJsonFile } from '../../../src/json-file.ts';
import { present } from '../../../src/present.ts';
import { workContext } from '../../../src/work-context.ts';
import { forestChart } from '../../report/charts/forest-chart.ts';
import { curveCharts, loggedMetrics } from '../../report/charts/learning-curves.ts';
import type { VariantResults } from '../../report/kind-report.ts';
import { type Chart, category, palette, quantity, told } from '../../report/page/chart.ts';
import type { ListedItem } from '../../report/page/page-data.ts';
import { scripted } from '../../report/page/scripted.ts';
import { readable } from '../../report/readable.ts';
import type { PageParts } from '../../report/report.ts';
import { percent } from '../../report/shown-numbers.ts';
import { selectorTasks } from '../decisions.ts';
import { type LastSelectionItem, readLastSelection } from '../epoch-record.ts';
import { selectorExperimentSchema } from '../experiment.ts';
import type { SelectorResult } from '../result.ts';
import { allPostsName, selectorName } from '../system-names.ts';
import { trainingThreads } from '../trained-selector.ts';
import { macroF1Of, namedSystems } from './selector-lead.ts';
import { stanceChart, stancePictureFile, stancePictureSchema } from './stance-picture.ts';

type Results = readonly VariantResults<SelectorResult>[];

/** What only a page shows of selectors: scores, what is retained, rewards, the map of stances, every item. */
export async function selectorParts(results: Results): Promise<PageParts> {
  const runs = results.flatMap(({ variant, trials }) => trials.map((result) => ({ variant, result })));
  const [shown] = runs;
  const { folds, seed } = shown.result;
  const folder = folderOfSelection(shown.result);
  const selection = readLastSelection(folder);
  const { items, notes } = await listedItems(folder, selection);
  const fold = folds.length === 0 ? '' : `, ${folds[0].run}`;
  const only =
    runs.length + folds.length > 1 &&
    `Shown: ${shown.variant}, seed ${seed}${fold}. \`earshot report <run> --html\` writes the page of another run.`;
  const counted = (kind: 'post' | 'claim') => {
    const own = selection.filter((item) => item.kind === kind);
    return `${own.filter(({ retained }) => retained).length} of ${own.length} ${kind}s`;
  };
  const logged = runs.map(({ variant, result }) => ({
    variant,
    seed: result.seed,
    metrics: loggedMetrics(result.directory),
  }));
  // Shares by class are drawn before and after instead.
  const skip = (metric: string) => /^(shown\/|retained\/\w+\/|hidden\/\w+F1$)/.test(metric);
  const maps = runs
    .filter(({ result }) => result.seed === seed)
    .map(({ variant, result }, index) =>
      stanceChart(readJsonFile(join(folderOfSelection(result), stancePictureFile), stancePictureSchema), {
        name: `stances-${index + 1}`,
        variant,
      }),
    );
  return {
    figures: scoreCharts(results),
    sections: [
      {
        id: 'selection',
        title: 'What is retained',
        blocks: present([
          `In the last epoch ${counted('post')} and ${counted('claim')} were retained.`,
          only,
          { figures: [shareChart(selection, 'post'), shareChart(selection, 'claim'), ...maps] },
        ]),
      },
      {
        id: 'items-shown',
        title: 'Items',
        blocks: [
          'Every claim and post that the last epoch showed, with the probability by which it was retained and the reason of the task model. Right and wrong are by labels that the selector does not see.',
          ...notes,
          scripted('items'),
        ],
      },
      { id: 'rewards', title: 'Rewards by epoch', blocks: [{ figures: curveCharts(logged, { over: 'epoch', skip }) }] },
    ],
    data: { inspector: null, items },
  };
}

/** For each test set and task the macro-F1 of every system with its interval. */
function scoreCharts(results: Results): Chart[] {
  const places = results[0].trials[0].tests.flatMap((test) => selectorTasks.map((task) => ({ test, task })));
  return places.flatMap(({ test, task }, place) => {
    const rows = namedSystems(results).flatMap(({ system, trials, name }) => {
      // Only the veracity model depends on which posts are read.
      const score = task === 'stance' && system === allPostsName ? null : macroF1Of(trials, { system, test, task });
      const isTrained = system === selectorName || system === allPostsName;
      return score === null ? [] : [{ ...score, interval: score.interval ?? null, name, isTrained }];
    });
    const own = rows.find(({ isTrained }) => isTrained);
    if (own === undefined) return [];
    return [
      forestChart(
        rows.sort((a, b) => b.mean - a.mean),
        {
          name: `scores-${place + 1}`,
          title: `${test}: ${task}`,
          label: `Macro-F1 of ${task} on ${test}, ${rows.length} systems.`,
          caption: 'Bars are 95% intervals over seeds and threads; the line is the selector.',
          reference: own.mean,
          axis: 'macro-F1',
        },
      ),
    ];
  });
}

/** How each class stands among the items that were shown, and among those that were retained. */
export function classShares(selection: readonly LastSelectionItem[], kind: 'post' | 'claim') {
  const shown = selection.filter((item) => item.kind === kind);
  const groups = { shown, retained: shown.filter(({ retained }) => retained) };
  const labels = [...new Set(shown.map(({ label }) => label))].sort();
  return labels.flatMap((label) =>
    (['shown', 'retained'] as const).map((among) => {
      const items = groups[among].filter((item) => item.label === label).length;
      return { label, among, items, share: items / Math.max(1, groups[among].length) };
    }),
  );
}

/** Shares of classes before and after selection. */
function shareChart(selection: readonly LastSelectionItem[], kind: 'post' | 'claim'): Chart {
  const values = classShares(selection, kind).map((own) => ({
    ...own,
    details: `${own.label}, among ${kind}s ${own.among}\n${own.items}: ${percent(own.share)}`,
  }));
  const domain = ['shown', 'retained'];
  const colours = { domain, range: [palette.grey, palette.blue] };
  return {
    name: `shares-${kind}s`,
    title: kind === 'post' ? 'Stances of posts' : 'Veracities of claims',
    label: `Shares of classes among ${kind}s, shown and retained.`,
    caption: `Shares among all ${kind}s that were shown, and among the retained ones. ${kind === 'post' ? 'Stances are weak labels.' : 'Veracities are gold labels where there are any.'}`,
    spec: {
      width: 220,
      height: { step: 15 },
      data: { values },
      ...told('bar', {
        y: category('label', { title: null, axis: { grid: false } }),
        yOffset: category('among', { sort: domain }),
        x: quantity('share', { title: `share of the ${kind}s`, axis: { format: '.0%', tickCount: 4 } }),
        color: category('among', { title: null, scale: colours }),
      }),
    },
  };
}

/** Where events were held out in turn, each has a selection of its own, and the page shows the first. */
function folderOfSelection({ directory, folds }: SelectorResult): string {
  return folds.length === 0 ? directory : join(directory, folds[0].run);
}

/** With charts and style the page stays below 5 MB. */
const bytesAtMost = 3.6e6;

/** What a run's last epoch showed, with the texts of its threads where they can still be read; and what is missing. */
async function listedItems(
  directory: string,
  selection: readonly LastSelectionItem[],
): Promise<{ items: ListedItem[]; notes: string[] }> {
  const run = RunDirectory.open(directory);
  const { value: threads, problem } = await readable(() =>
    trainingThreads({ run, experiment: run.readConfig(selectorExperimentSchema), context: workContext() }),
  );
  // By the id of the thread, and of a reply after a slash.
  const texts = new Map(
    (threads ?? []).flatMap(({ id, posts }) =>
      posts.map((post, index) => [index === 0 ? id : `${id}/${post.id}`, post.text] as const),
    ),
  );
  const all = selection.map(({ threadId, ...own }): ListedItem => {
    const id = 'postId' in own ? `${threadId}/${own.postId}` : threadId;
    return { ...own, id, text: texts.get(id) ?? null };
  });
  const bytes = all.reduce((sum, item) => sum + Buffer.byteLength(JSON.stringify(item)) + 1, 0);
  const share = Math.min(1, bytesAtMost / bytes);
  const items = all.filter((_, index) => Math.floor((index + 1) * share) > Math.floor(index * share));
  return {
    items,
    notes: present([
      problem !== null && `Texts are missing: ${problem}`,
      items.length < all.length &&
        `${items.length} of ${all.length} items are listed, evenly drawn, so that the file stays below 5 MB.`,
    ]),
  };
}
