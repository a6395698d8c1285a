import type { TopLevelSpec } from 'vega-lite';
import { RunDirectory } from '../../../checkpoints/run-directory.ts';
import type { Thread } from '../../../src/data/thread.ts';
import { InputError } from '../../../src/errors.ts';
import { calibration } from '../../../src/metrics/calibration.ts';
import { workContext } from '../../../src/work-context.ts';
import { calibrationChart } from '../../report/page/calibration-chart.ts';
import { type Chart, drawAll, figure, palette, picturesOf, seriesColours } from '../../report/page/chart.ts';
import { html, type Markup } from '../../report/page/html.ts';
import { type Page, type PageSection, renderPage } from '../../report/page/page.ts';
import { type Cell, numberCell, table } from '../../report/page/tables.ts';
import { signed } from '../../report/shown-numbers.ts';
import { type PageSource, resultsOf } from '../../report/variant-results.ts';
import { type DetectorDecision, repliesInWords } from '../decisions.ts';
import { detectorsExperimentSchema } from '../experiment.ts';
import { readItems } from '../items.ts';
import { readDetectorsResult } from '../result.ts';
import { columnsOf, confidentAnswers, detectorMetrics } from '../scores.ts';
import { allReplies } from './detectors-report.ts';
import { type DetectorPoint, type DetectorStanding, type Estimate, type Standing, standingOf } from './standing.ts';

/** The page of an experiment on detectors: scores, prices, curves over posts read, calibration, and the items they disagree on. */
export async function detectorsPage({ name, description, command, variants }: PageSource): Promise<Page> {
  const standing = standingOf(resultsOf(variants, readDetectorsResult));
  const { detectors, verdict, notes, items } = standing;
  const charts = await drawAll([
    scoreChart(standing),
    ...(detectors.some(({ last }) => tokensOf(last) > 0) ? [priceChart(detectors)] : []),
  ]);
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

/** Colours of detectors, in the order of the file, beyond six again from the first. */
function colours(detectors: readonly DetectorStanding[]) {
  const names = detectors.map(({ variant }) => variant);
  return { domain: names, range: names.map((_, place) => seriesColours[place % seriesColours.length]) };
}

function tokensOf({ values }: DetectorPoint): number {
  return (values.inputTokens ?? 0) + (values.outputTokens ?? 0);
}

function pointsOf(detectors: readonly DetectorStanding[]) {
  return detectors.flatMap(({ variant, points }) =>
    points.map((point) => {
      const { estimate, low, high } = point.macroF1;
      return {
        variant,
        posts: repliesInWords(point.replies),
        macroF1: estimate,
        low,
        high,
        tokens: tokensOf(point),
        isLast: point === points[points.length - 1],
        details: `${variant}, ${repliesInWords(point.replies)}\nmacro-F1 ${estimate.toFixed(3)} [${low.toFixed(3)}, ${high.toFixed(3)}]`,
      };
    }),
  );
}

const score = { type: 'quantitative', title: 'macro-F1', scale: { zero: false, padding: 8 } } as const;
const details = { field: 'details', type: 'nominal' } as const;

function scoreChart({ detectors, majority }: Standing): Chart {
  const values = pointsOf(detectors).filter(({ isLast }) => isLast);
  const y = { field: 'variant', type: 'nominal', title: null, sort: null } as const;
  const color = { field: 'variant', type: 'nominal', legend: null, scale: colours(detectors) } as const;
  return {
    name: 'scores',
    label: `Macro-F1 with 95 % intervals over seeds and items; the dashed line is always ${majority.label}.`,
    spec: {
      width: 260,
      height: { step: 24 },
      data: { values },
      layer: [
        {
          data: { values: [{ macroF1: majority.macroF1 }] },
          mark: { type: 'rule', aria: false, color: palette.grey, strokeDash: [4, 4] },
          encoding: { x: { field: 'macroF1', ...score } },
        },
        {
          mark: { type: 'rule', aria: false },
          encoding: { y, x: { field: 'low', ...score }, x2: { field: 'high' }, color },
        },
        {
          mark: { type: 'point', filled: true, size: 70, opacity: 1 },
          encoding: { y, x: { field: 'macroF1', ...score }, color, description: details },
        },
      ],
    } as TopLevelSpec,
  };
}

function priceChart(detectors: readonly DetectorStanding[]): Chart {
  const values = pointsOf(detectors).filter(({ isLast }) => isLast);
  return {
    name: 'price',
    label: 'Macro-F1 against the tokens of a judgement, read and written.',
    spec: {
      width: 260,
      height: 220,
      data: { values },
      mark: { type: 'point', filled: true, size: 90, opacity: 1 },
      encoding: {
        x: {
          field: 'tokens',
          type: 'quantitative',
          title: 'tokens of a judgement',
          scale: { type: 'symlog' },
          axis: { tickCount: 5 },
        },
        y: { field: 'macroF1', ...score },
        color: { field: 'variant', type: 'nominal', title: null, sort: null, scale: colours(detectors) },
        description: details,
      },
    } as TopLevelSpec,
  };
}

function curveChart(detectors: readonly DetectorStanding[]): Chart {
  const x = {
    field: 'posts',
    type: 'ordinal',
    title: 'read',
    sort: allReplies(detectors).map(repliesInWords),
    axis: { labelAngle: -30 },
  } as const;
  const color = { field: 'variant', type: 'nominal', title: null, sort: null, scale: colours(detectors) } as const;
  return {
    name: 'posts-read',
    label: `Macro-F1 of ${detectors.length} detectors by posts read.`,
    spec: {
      width: 560,
      height: 280,
      data: { values: pointsOf(detectors) },
      layer: [
        {
          mark: { type: 'rule', aria: false, opacity: 0.4 },
          encoding: { x, y: { field: 'low', ...score }, y2: { field: 'high' }, color },
        },
        { mark: { type: 'line', aria: false }, encoding: { x, y: { field: 'macroF1', ...score }, color } },
        {
          mark: { type: 'point', filled: true, size: 60, opacity: 1 },
          encoding: { x, y: { field: 'macroF1', ...score }, color, description: details },
        },
      ],
    } as TopLevelSpec,
  };
}

function calibrationCharts(detectors: readonly DetectorStanding[]): Chart[] {
  return detectors.flatMap(({ variant, trials, last }, place) => {
    const known = calibration(confidentAnswers(columnsOf(trials[0], last.decisions)));
    if (known === null) return [];
    const label = `${variant}: expected calibration error ${known.expectedError.toFixed(3)}.`;
    return [
      calibrationChart({
        name: `calibration-${place + 1}`,
        label,
        bins: known.bins,
        confidence: 'probability of the answer',
      }),
    ];
  });
}

function scoresTable(detectors: readonly DetectorStanding[]): Markup {
  const labels = Object.keys(detectors[0].last.f1);
  return table({
    caption: 'Means over seeds, after the most posts',
    columns: [
      { title: 'detector' },
      ...detectorMetrics.map(({ title }) => ({ title, isNumber: true })),
      ...labels.map((label) => ({ title: `F1 ${label}`, isNumber: true })),
    ],
    rows: detectors.map(({ variant, last }) => [
      variant,
      ...detectorMetrics.map(({ name, decimals }) => numberCell(last.values[name], decimals)),
      ...labels.map((label) => numberCell(last.f1[label])),
    ]),
  });
}

function differencesTable({ differences }: Standing): Markup {
  const shown = ({ estimate, low, high }: Estimate): Cell => ({
    shown: `${signed(estimate, 3)} [${signed(low, 3)}, ${signed(high, 3)}]`,
    value: estimate,
  });
  return html`<p>A paired bootstrap over seeds and the items that all judged; where the interval of macro-F1 leaves out 0, the row stands out.</p>
${table({
  caption: 'Every two detectors',
  columns: [
    { title: 'detector' },
    { title: 'minus' },
    { title: 'macro-F1', isNumber: true },
    { title: 'accuracy', isNumber: true },
    { title: 'p of macro-F1', isNumber: true },
  ],
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
  rows.sort((a, b) => b.divided - a.divided);
  return html`<p>${rows.length} of ${said[0].size} items of seed ${detectors[0].trials[0].seed}; an answer opens its reason.${problem === null ? '' : ` Texts are missing: ${problem}`}</p>
${table({
  caption:
    rows.length > itemsShown
      ? `The first ${itemsShown}, those that divide the detectors most first`
      : 'Those that divide the detectors most first',
  columns: [
    { title: 'item' },
    { title: 'text' },
    { title: 'is' },
    ...detectors.map(({ variant }) => ({ title: variant })),
  ],
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
