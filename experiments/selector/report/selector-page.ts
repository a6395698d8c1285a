import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readMetrics } from '../../../checkpoints/metrics-log.ts';
import { RunDirectory } from '../../../checkpoints/run-directory.ts';
import { readJsonFile } from '../../../src/json-file.ts';
import { type DrawnChart, drawAll, figure, picturesOf } from '../../report/page/chart.ts';
import { html, type Markup } from '../../report/page/html.ts';
import { curveFigures } from '../../report/page/learning-curves.ts';
import { type Page, type PageSection, renderPage } from '../../report/page/page.ts';
import type { PageSource } from '../../report/variant-results.ts';
import { type LastSelectionItem, readLastSelection } from '../last-selection-file.ts';
import { readSelectorResult } from '../result.ts';
import { listedItems } from './listed-items.ts';
import { type ReadSelectorRun, scoreCharts, scoresTable } from './selector-scores.ts';
import { shareChart } from './share-chart.ts';
import { stanceChart, stancePictureFile, stancePictureSchema } from './stance-picture.ts';

/** The page of an experiment on selectors, or of one run: scores, what is retained, rewards, the map of stances, every item. */
export async function selectorPage(source: PageSource): Promise<Page> {
  const { name, description, command, variants } = source;
  const runs = variants.flatMap(({ variant, directories }) =>
    directories.map(
      (directory): ReadSelectorRun => ({
        variant,
        directory,
        result: readSelectorResult(RunDirectory.open(directory)),
      }),
    ),
  );
  const [shown] = runs;
  const { claims, folds } = shown.result;
  const [fold] = folds;
  const ofSelection = folderOfSelection(shown);
  const scores = await drawAll(scoreCharts(runs));
  const rewards = await rewardsSection(runs);
  const selection = readLastSelection(ofSelection);
  const shares = await drawAll([shareChart(selection, 'post'), shareChart(selection, 'claim')]);
  const maps = await mapsOf(runs);
  const items = await listedItems(ofSelection, selection);
  const introduction = html`${description.trim() === '' ? null : html`<p>${description.trim()}</p>`}
<p class="facts">Claims: ${claims.labelled} labelled, ${claims.unlabelled} unlabelled, ${claims.posts} posts · seeds ${[...new Set(runs.map(({ result }) => result.seed))].join(', ')}</p>
<p class="command"><code>${command}</code></p>`;
  const one =
    runs.length + folds.length > 1
      ? `Shown: ${shown.variant}, seed ${shown.result.seed}${fold === undefined ? '' : `, ${fold.run}`}. The page of another run is written by earshot report <run> --html.`
      : '';
  const sections: PageSection[] = [
    { id: 'scores', title: 'Scores', body: scoresSection(runs, scores) },
    { id: 'selection', title: 'What is retained', body: selectionSection(selection, { charts: shares, note: one }) },
    { id: 'rewards', title: 'Rewards by epoch', body: rewards.body },
    { id: 'map', title: 'Map of stances', body: mapSection(maps) },
    { id: 'items-shown', title: 'Items', body: itemsSection(items.notes, one) },
  ];
  return {
    html: renderPage({ title: name, introduction, sections, data: { inspector: null, items: items.items } }),
    pictures: picturesOf([...scores, ...shares, ...rewards.charts, ...maps]),
  };
}

function scoresSection(runs: readonly ReadSelectorRun[], charts: readonly DrawnChart[]): Markup {
  if (charts.length === 0) return html`<p>Nothing was tested: the experiment names no <code>data.tests</code>.</p>`;
  return html`<p>A dot a seed, the bar their mean. The selector is worth its training where it stands above a random selection of the same size; the oracle and the supervised bound see what it may not.</p>
<div class="pair">${charts.map((chart) => figure(chart))}</div>
<details><summary>The numbers</summary>${scoresTable(runs)}</details>`;
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
  const logged = runs.map(({ variant, directory, result }) => {
    const { metricsPath } = RunDirectory.open(directory);
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
function folderOfSelection({ directory, result: { folds } }: ReadSelectorRun): string {
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
  return html`<p>Two principal components of what the policies read of a post: its text, its stance and the reason. Left all posts, right the retained ones with the discarded in grey; hollow marks have a stance that is wrong. A silhouette is 1 where stances stand apart, 0 where they are mixed, below 0 where posts stand nearer to another stance.</p>
${maps.map((map) => figure(map, maps.length > 1 ? map.variant : null))}`;
}

function itemsSection(notes: readonly string[], note: string): Markup {
  const all = [...(note === '' ? [] : [note]), ...notes];
  return html`<p>Every claim and post that the last epoch showed, with the probability by which it was retained and the reason of the task model. Right and wrong are by labels that the selector does not see.</p>
${all.length === 0 ? null : html`<ul class="notes">${all.map((each) => html`<li>${each}</li>`)}</ul>`}
<noscript><p class="warning">The items are drawn by a script inside this file; allow it to run.</p></noscript>
<div id="items"></div>`;
}
