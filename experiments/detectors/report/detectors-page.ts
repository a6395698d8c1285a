import { RunDirectory } from '../../../checkpoints/run-directory.ts';
import { workContext } from '../../../src/work-context.ts';
import type { ReportDocument } from '../../report/document.ts';
import { type DrawnChart, drawAll, figure, palette, picturesOf } from '../../report/page/chart.ts';
import { documentPage } from '../../report/page/document-markup.ts';
import { html, type Markup } from '../../report/page/html.ts';
import type { Page } from '../../report/page/page.ts';
import { type Cell, table } from '../../report/page/tables.ts';
import { readable } from '../../report/readable.ts';
import type { ReportSource } from '../../report/variant-results.ts';
import type { DetectorDecision } from '../decisions.ts';
import { detectorsExperimentSchema } from '../experiment.ts';
import { readItems } from '../items.ts';
import { curveChart, detectorCalibrations, priceChart, scoreChart } from './detectors-charts.ts';
import { allReplies, type DetectorStanding, type Standing } from './standing.ts';

/** The page of an experiment on detectors: scores, prices, curves over posts read, calibration, and the items they disagree on. */
export async function detectorsPage(
  document: ReportDocument,
  { standing, variants }: { standing: Standing; variants: ReportSource['variants'] },
): Promise<Page> {
  const { detectors } = standing;
  const charts = await drawAll([scoreChart(standing), priceChart(detectors)].filter((chart) => chart !== null));
  const curves = await drawAll(allReplies(detectors).length > 1 ? [curveChart(detectors)] : []);
  const calibrations = await drawAll(detectorCalibrations(detectors));
  const texts = await textsOf(variants[0].directories[0]);
  const pair = (drawn: readonly DrawnChart[]) =>
    html`<div class="pair">${drawn.map((chart) => figure(chart, chart.label))}</div>`;
  return {
    html: documentPage(document, {
      above: { scores: pair(charts), 'posts-read': html`${curves.map((chart) => figure(chart))}` },
      further: [
        {
          id: 'calibration',
          title: 'Calibration',
          body: calibrations.length === 0 ? html`<p>No answer has a probability.</p>` : pair(calibrations),
        },
        { id: 'items', title: 'Where they disagree', body: disagreements(detectors, texts) },
      ],
    }),
    pictures: picturesOf([...charts, ...curves, ...calibrations]),
  };
}

const itemsShown = 300;
const longestText = 280;

/** Items of the first seed on which two detectors differ, after the most posts; those that divide them most come first. */
function disagreements(detectors: readonly DetectorStanding[], { texts, problem }: Texts): Markup {
  const said = detectors.map(({ trials, last }) => {
    const own = trials[0].decisions.get(last.replies) ?? [];
    return new Map(own.map((decision) => [decision.item, decision]));
  });
  const rows = [...said[0].keys()].flatMap((id) => {
    const decisions = said.map((own) => own.get(id));
    const wrong = decisions.filter((own) => own !== undefined && own.prediction !== own.gold).length;
    const answers = new Set(decisions.flatMap((own) => (own === undefined ? [] : [own.prediction])));
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
      wide(texts.get(id) ?? '–'),
      decisions.find((own) => own !== undefined)?.gold ?? '–',
      ...decisions.map(answerCell),
    ]),
})}`;
}

function answerCell(decision: DetectorDecision | undefined): Cell {
  if (decision === undefined) return '–';
  const { prediction: predicted, gold, probabilities, numbers, texts } = decision;
  const { explanation } = texts;
  const answer = predicted ?? (numbers.abstained ? 'abstains' : 'no answer');
  const confidence = predicted === null ? undefined : probabilities?.[predicted];
  const shown = html`<b style="color: var(${predicted === gold ? '--green' : '--wrong-bar'}, ${palette.grey})">${predicted === gold ? '✓' : '✗'} ${answer}</b>${confidence === undefined ? null : ` ${confidence.toFixed(2)}`}`;
  return explanation === '' ? shown : html`<details><summary>${shown}</summary>${wide(explanation)}</details>`;
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
  const { value, problem } = await readable(() =>
    readItems(RunDirectory.open(directory).readConfig(detectorsExperimentSchema), workContext()),
  );
  return { texts: new Map(value?.threads.map(({ id, posts }) => [id, posts[0].text])), problem };
}
