import { RunDirectory } from '../../../checkpoints/run-directory.ts';
import type { Thread } from '../../../src/data/thread.ts';
import { InputError } from '../../../src/errors.ts';
import { workContext } from '../../../src/work-context.ts';
import { drawAll, figure, palette, picturesOf } from '../../report/page/chart.ts';
import { html, type Markup } from '../../report/page/html.ts';
import { type Page, type PageSection, renderPage } from '../../report/page/page.ts';
import { type Cell, numberCell, table } from '../../report/page/tables.ts';
import { signedInterval } from '../../report/shown-numbers.ts';
import { type PageSource, resultsOf } from '../../report/variant-results.ts';
import type { DetectorDecision } from '../decisions.ts';
import { detectorsExperimentSchema } from '../experiment.ts';
import { readItems } from '../items.ts';
import { readDetectorsResult } from '../result.ts';
import { detectorMetrics } from '../scores.ts';
import { calibrationCharts, curveChart, priceChart, scoreChart } from './detectors-charts.ts';
import { allReplies } from './detectors-report.ts';
import { type DetectorStanding, type Estimate, type Standing, standingOf } from './standing.ts';

/** The page of an experiment on detectors: scores, prices, curves over posts read, calibration, and the items they disagree on. */
export async function detectorsPage({ name, description, command, variants }: PageSource): Promise<Page> {
  const standing = standingOf(resultsOf(variants, readDetectorsResult));
  const { detectors, verdict, notes, items } = standing;
  const charts = await drawAll([scoreChart(standing), priceChart(detectors)].filter((chart) => chart !== null));
  const curves = await drawAll(allReplies(detectors).length > 1 ? [curveChart(detectors)] : []);
  const calibrations = await drawAll(calibrationCharts(detectors));
  const texts = await textsOf(variants[0].directories[0]);
  const sections: PageSection[] = [
    {
      id: 'scores',
      title: 'Scores',
      body: html`<p>Verdict: ${verdict}.</p>
${notes.map((note) => html`<p class="warning">${note}.</p>`)}
<div class="pair">${charts.map((chart) => figure(chart, chart.label))}</div>
${scoresTable(detectors)}`,
    },
    ...(curves.length === 0
      ? []
      : [{ id: 'posts-read', title: 'By posts read', body: html`${curves.map((chart) => figure(chart))}` }]),
    {
      id: 'differences',
      title: 'Differences',
      body:
        standing.differences.length === 0
          ? html`<p>There is one detector, so there is nothing to compare.</p>`
          : differencesTable(standing),
    },
    {
      id: 'calibration',
      title: 'Calibration',
      body:
        calibrations.length === 0
          ? html`<p>No answer has a probability.</p>`
          : html`<div class="pair">${calibrations.map((chart) => figure(chart, chart.label))}</div>`,
    },
    { id: 'items', title: 'Where they disagree', body: disagreements(detectors, texts) },
  ];
  return {
    html: renderPage({
      title: name,
      introduction: html`${description.trim() === '' ? null : html`<p>${description.trim()}</p>`}
<p class="facts">${items}</p>
<p class="command"><code>${command}</code></p>`,
      sections,
      data: { inspector: null, items: null },
    }),
    pictures: picturesOf([...charts, ...curves, ...calibrations]),
  };
}

function scoresTable(detectors: readonly DetectorStanding[]): Markup {
  const labels = Object.keys(detectors[0].last.f1);
  return table({
    caption: 'Means over seeds, after the most posts',
    columns: ['detector', ...detectorMetrics.map(({ title }) => title), ...labels.map((label) => `F1 ${label}`)],
    rows: detectors.map(({ variant, last }) => [
      variant,
      ...detectorMetrics.map(({ name, decimals }) => numberCell(last.values[name], decimals)),
      ...labels.map((label) => numberCell(last.f1[label])),
    ]),
  });
}

function differencesTable({ differences }: Standing): Markup {
  const shown = (of: Estimate): Cell => ({ shown: signedInterval(of), value: of.estimate });
  return html`<p>A paired bootstrap over seeds and the items that all judged; where the interval of macro-F1 leaves out 0, the row stands out.</p>
${table({
  caption: 'Every two detectors',
  columns: ['detector', 'minus', 'macro-F1', 'accuracy', 'p of macro-F1'],
  texts: ['minus'],
  rows: differences.map(({ first, second, macroF1, accuracy }) => [
    first,
    second,
    shown(macroF1),
    shown(accuracy),
    numberCell(macroF1.pValue),
  ]),
  isMarked: (row) => differences[row].macroF1.low > 0 || differences[row].macroF1.high < 0,
})}`;
}

const itemsShown = 300;
const longestText = 280;

/** Items of the first seed on which two detectors differ, after the most posts; those that divide them most come first. */
function disagreements(detectors: readonly DetectorStanding[], { texts, problem }: Texts): Markup {
  const said = detectors.map(({ trials, last }) => {
    const own = trials[0].decisions.get(last.replies) ?? [];
    return new Map(own.map((decision) => [decision.threadId, decision]));
  });
  const rows = [...said[0].keys()].flatMap((id) => {
    const decisions = said.map((own) => own.get(id));
    const wrong = decisions.filter((own) => own !== undefined && own.predicted !== own.gold).length;
    const answers = new Set(decisions.flatMap((own) => (own === undefined ? [] : [own.predicted])));
    return answers.size < 2 ? [] : [{ id, decisions, divided: Math.min(wrong, decisions.length - wrong) }];
  });
  if (rows.length === 0) return html`<p>All detectors answer alike on every item.</p>`;
  const variants = detectors.map(({ variant }) => variant);
  rows.sort((a, b) => b.divided - a.divided);
  return html`<p>${rows.length} of ${said[0].size} items of seed ${detectors[0].trials[0].seed}; an answer opens its reason.${problem === null ? '' : ` Texts are missing: ${problem}`}</p>
${table({
  caption:
    rows.length > itemsShown
      ? `The first ${itemsShown}, those that divide the detectors most first`
      : 'Those that divide the detectors most first',
  columns: ['item', 'text', 'is', ...variants],
  texts: ['text', 'is', ...variants],
  rows: rows
    .slice(0, itemsShown)
    .map(({ id, decisions }) => [
      id,
      { shown: wide(texts.get(id) ?? '–'), value: texts.get(id) ?? '' },
      decisions.find((own) => own !== undefined)?.gold ?? '–',
      ...decisions.map(answerCell),
    ]),
})}`;
}

function answerCell(decision: DetectorDecision | undefined): Cell {
  if (decision === undefined) return { shown: '–', value: '' };
  const { predicted, gold, probabilities, explanation, abstained } = decision;
  const answer = predicted ?? (abstained ? 'abstains' : 'no answer');
  const confidence = predicted === null ? undefined : probabilities?.[predicted];
  const shown = html`<b style="color: var(${predicted === gold ? '--green' : '--wrong-bar'}, ${palette.grey})">${predicted === gold ? '✓' : '✗'} ${answer}</b>${confidence === undefined ? null : ` ${confidence.toFixed(2)}`}`;
  return {
    shown: explanation === '' ? shown : html`<details><summary>${shown}</summary>${wide(explanation)}</details>`,
    value: answer,
  };
}

/** Long text in a cell, on several lines. */
function wide(text: string): Markup {
  return html`<span style="display: block; min-width: 14rem; max-width: 26rem; white-space: normal">${cut(text)}</span>`;
}

function cut(text: string): string {
  const plain = [...text.replaceAll(/\s+/gu, ' ').trim()];
  return plain.length <= longestText ? plain.join('') : `${plain.slice(0, longestText - 1).join('')}…`;
}

interface Texts {
  readonly texts: ReadonlyMap<string, string>;
  readonly problem: string | null;
}

/** Claims by thread, where the data of a run can still be read. */
async function textsOf(directory: string): Promise<Texts> {
  let threads: readonly Thread[];
  try {
    const experiment = RunDirectory.open(directory).readConfig(detectorsExperimentSchema);
    ({ threads } = await readItems(experiment, workContext()));
  } catch (error) {
    if (error instanceof InputError) return { texts: new Map(), problem: error.message };
    throw error;
  }
  return { texts: new Map(threads.map(({ id, posts }) => [id, posts[0].text])), problem: null };
}
