import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readMetrics } from '../../../checkpoints/metrics-log.ts';
import { RunDirectory } from '../../../checkpoints/run-directory.ts';
import { readJsonFile } from '../../../src/json-file.ts';
import { workContext } from '../../../src/work-context.ts';
import type { ReportDocument } from '../../report/document.ts';
import { type DrawnChart, drawAll, figure, picturesOf } from '../../report/page/chart.ts';
import { blocksMarkup, pageSections } from '../../report/page/document-markup.ts';
import { html, type Markup } from '../../report/page/html.ts';
import { curveFigures } from '../../report/page/learning-curves.ts';
import { type Page, type PageSection, renderPage } from '../../report/page/page.ts';
import type { ListedItem } from '../../report/page/page-data.ts';
import { readable } from '../../report/readable.ts';
import type { VariantResults } from '../../report/variant-results.ts';
import { type LastSelectionItem, readLastSelection } from '../epoch-record.ts';
import { selectorExperimentSchema } from '../experiment.ts';
import type { SelectorResult } from '../result.ts';
import { trainingThreads } from '../trained-selector.ts';
import { type ReadSelectorRun, scoreCharts, shareChart } from './selector-charts.ts';
import { stanceChart, stancePictureFile, stancePictureSchema } from './stance-picture.ts';

/** The page of an experiment on selectors, or of one run: scores, what is retained, rewards, the map of stances, every item. */
export async function selectorPage(
  document: ReportDocument,
  results: readonly VariantResults<SelectorResult>[],
): Promise<Page> {
  const runs = results.flatMap(({ variant, trials }) => trials.map((result) => ({ variant, result })));
  const [shown] = runs;
  const { folds } = shown.result;
  const [fold] = folds;
  const ofSelection = folderOfSelection(shown);
  const scores = await drawAll(scoreCharts(runs));
  const rewards = await rewardsSection(runs);
  const selection = readLastSelection(ofSelection);
  const shares = await drawAll([shareChart(selection, 'post'), shareChart(selection, 'claim')]);
  const maps = await mapsOf(runs);
  const items = await listedItems(ofSelection, selection);
  const one =
    runs.length + folds.length > 1
      ? `Shown: ${shown.variant}, seed ${shown.result.seed}${fold === undefined ? '' : `, ${fold.run}`}. The page of another run is written by earshot report <run> --html.`
      : '';
  const sections: PageSection[] = [
    { id: 'scores', title: 'Scores', body: scoresSection(document, scores) },
    { id: 'selection', title: 'What is retained', body: selectionSection(selection, { charts: shares, note: one }) },
    { id: 'rewards', title: 'Rewards by epoch', body: rewards.body },
    { id: 'map', title: 'Map of stances', body: mapSection(maps) },
    { id: 'items-shown', title: 'Items', body: itemsSection(items.notes, one) },
  ];
  return {
    html: renderPage({
      title: document.title,
      introduction: blocksMarkup(document.lead, document.title),
      sections,
      data: { inspector: null, items: items.items },
    }),
    pictures: picturesOf([...scores, ...shares, ...rewards.charts, ...maps]),
  };
}

function scoresSection({ sections }: ReportDocument, charts: readonly DrawnChart[]): Markup {
  return html`${charts.length === 0 ? null : html`<p>A dot a seed, the bar their mean.</p>`}
<div class="pair">${charts.map((chart) => figure(chart))}</div>
<details><summary>The numbers</summary>${pageSections({ sections }).map(({ title, body }) => html`<h3>${title}</h3>\n${body}`)}</details>`;
}

function selectionSection(
  selection: readonly LastSelectionItem[],
  { charts, note }: { charts: readonly DrawnChart[]; note: string },
): Markup {
  const counted = (kind: 'post' | 'claim') => {
    const own = selection.filter((item) => item.kind === kind);
    return `${own.filter(({ retained }) => retained).length} of ${own.length} ${kind}s`;
  };
  return html`<p>In the last epoch ${counted('post')} and ${counted('claim')} were retained. ${note}</p>
<div class="pair">${figure(charts[0], 'Stances of the machine: shares among all posts that were shown, and among the retained ones.')}
${figure(charts[1], 'Veracities of claims, by people where they gave one: the same.')}</div>`;
}

async function rewardsSection(
  runs: readonly ReadSelectorRun[],
): Promise<{ body: Markup; charts: readonly DrawnChart[] }> {
  const logged = runs.map(({ variant, result }) => {
    const { metricsPath } = RunDirectory.open(result.directory);
    return { variant, seed: result.seed, metrics: existsSync(metricsPath) ? readMetrics(metricsPath) : [] };
  });
  // Shares by class are drawn before and after instead.
  const { body, charts } = await curveFigures(logged, {
    over: 'epoch',
    skip: (metric) => /^(shown\/|retained\/\w+\/|hidden\/\w+F1$)/.test(metric),
  });
  return { charts, body: html`<p>One line a run.</p>\n${body}` };
}

/** Where events were held out in turn, each has a selection of its own, and the page shows the first. */
function folderOfSelection({ result: { directory, folds } }: ReadSelectorRun): string {
  return folds.length === 0 ? directory : join(directory, folds[0].run);
}

/** Of the first seed of every variant. */
async function mapsOf(runs: readonly ReadSelectorRun[]): Promise<(DrawnChart & { readonly variant: string })[]> {
  const own = runs.filter(({ result }) => result.seed === runs[0].result.seed);
  const charts = own.map((run, index) =>
    stanceChart(readJsonFile(join(folderOfSelection(run), stancePictureFile), stancePictureSchema), {
      name: `stances-${index + 1}`,
      variant: run.variant,
    }),
  );
  return (await drawAll(charts)).map((chart, index) => ({ ...chart, variant: own[index].variant }));
}

function mapSection(maps: readonly (DrawnChart & { readonly variant: string })[]): Markup {
  return html`<p>Two principal components of what the policies read of a post: its text, its stance and the reason. Left all posts, right the retained ones with the discarded in grey; hollow marks have a stance that is wrong.</p>
${maps.map((map) => figure(map, maps.length > 1 ? map.variant : null))}`;
}

function itemsSection(notes: readonly string[], note: string): Markup {
  const all = [...(note === '' ? [] : [note]), ...notes];
  return html`<p>Every claim and post that the last epoch showed, with the probability by which it was retained and the reason of the task model. Right and wrong are by labels that the selector does not see.</p>
${all.length === 0 ? null : html`<ul class="notes">${all.map((each) => html`<li>${each}</li>`)}</ul>`}
<noscript><p class="warning">The items are drawn by a script inside this file; allow it to run.</p></noscript>
<div id="items"></div>`;
}

/** With charts and style the page stays below 5 MB. */
const bytesAtMost = 3.6e6;

/** What a run's last epoch showed, with the texts of its threads where they can still be read; and what is missing. */
async function listedItems(
  directory: string,
  selection: readonly LastSelectionItem[],
): Promise<{ items: ListedItem[]; notes: string[] }> {
  const { texts, problem } = await textsOf(directory);
  const all = selection.map(({ threadId, explanation: reason, ...own }): ListedItem => {
    const id = 'postId' in own ? `${threadId}/${own.postId}` : threadId;
    const { kind, label, labelledBy, confidence, retainProbability, retained, right } = own;
    const said = { label, labelledBy, confidence, retainProbability, retained, right, reason };
    return { kind, id, text: texts.get(id) ?? null, ...said };
  });
  const items = thatFit(all);
  return {
    items,
    notes: [
      ...(problem === null ? [] : [`Texts are missing: ${problem}`]),
      ...(items.length === all.length
        ? []
        : [`${items.length} of ${all.length} items are listed, evenly drawn, so that the file stays below 5 MB.`]),
    ],
  };
}

/** All items, or as many as fit, evenly spaced. */
function thatFit(items: readonly ListedItem[]): ListedItem[] {
  const bytes = items.reduce((sum, item) => sum + Buffer.byteLength(JSON.stringify(item)) + 1, 0);
  if (bytes <= bytesAtMost) return [...items];
  const share = bytesAtMost / bytes;
  return items.filter((_, index) => Math.floor((index + 1) * share) > Math.floor(index * share));
}

/** By the id of the thread, and of a reply after a slash. */
async function textsOf(directory: string): Promise<{ texts: ReadonlyMap<string, string>; problem: string | null }> {
  const run = RunDirectory.open(directory);
  const { value: threads, problem } = await readable(() => {
    const experiment = run.readConfig(selectorExperimentSchema);
    return trainingThreads({ run, experiment, context: workContext() });
  });
  const texts = (threads ?? []).flatMap(({ id, posts }) =>
    posts.map((post, index) => [index === 0 ? id : `${id}/${post.id}`, post.text] as const),
  );
  return { texts: new Map(texts), problem };
}
