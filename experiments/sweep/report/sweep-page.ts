import { counted } from '../../../src/counted.ts';
import { figure } from '../../report/page/chart.ts';
import { html, type Markup } from '../../report/page/html.ts';
import { type PageSection, renderPage } from '../../report/page/page.ts';
import { type Cell, numberCell, table } from '../../report/page/tables.ts';
import { percent } from '../../report/shown-numbers.ts';
import { isShown } from '../../stop-agent/decisions.ts';
import { type Leader, whyNone } from '../leader.ts';
import { shortNames, shownValue } from '../plan.ts';
import { whereTrained } from '../results.ts';
import { type SeedInterval, shownInterval } from '../seed-interval.ts';
import { bestAndWorst } from '../sensitivity.ts';
import { sizeOf } from '../trials-of-plan.ts';
import { callsMetric, countsOf, notesOn, type SweepReport, settingsHeading } from './sweep-report.ts';

/**
 * The page of a sweep: the verdict, the leading setting, every setting in a table, and the pictures.
 * @param pictures SVG by file name, as `sweepPictures` draws them
 */
export function sweepPage(report: SweepReport, pictures: Readonly<Record<string, string>>): string {
  const { plan, command, rows, settings, leader } = report;
  const failed = rows.filter(({ status }) => status === 'failed');
  const where = whereTrained(rows);
  const introduction = html`${plan.description.trim() === '' ? null : html`<p>${plan.description.trim()}</p>`}
<p class="facts">${sizeOf(plan)} · ${countsOf(rows)}${where === null ? '' : ` · ${where}`}</p>
<p class="command"><code>${command}</code></p>
${
  leader?.isToldApart
    ? html`<p><b>Verdict: ${leader.verdict}.</b></p>`
    : html`<p class="warning">${leader === null ? `Nothing is recommended: ${whyNone(plan, settings)}` : `Verdict: ${leader.verdict}`}.</p>`
}`;
  const drawn = Object.entries(pictures).map(([file, svg]) => ({ file, svg, ...known[file] }));
  const sections: PageSection[] = [
    ...(leader === null
      ? []
      : [
          {
            id: 'leader',
            title: leader.isToldApart ? 'Recommended' : 'Highest, but not told apart',
            body: leaderSection(report, leader),
          },
        ]),
    { id: 'settings', title: 'Settings', body: settingsSection(report) },
    ...drawn.map(({ file, svg, title, caption }) => ({
      id: file.replace(/\.svg$/, ''),
      title,
      body: figure(
        { name: file.replace(/\.svg$/, ''), label: `${title}. Arrow keys go through the marks.`, svg },
        caption,
      ),
    })),
    ...(report.sensitivities.length === 0
      ? []
      : [{ id: 'sensitivity', title: 'Sensitivity', body: sensitivitySection(report) }]),
    ...(failed.length === 0 ? [] : [{ id: 'failed', title: 'Failed trials', body: failedSection(failed) }]),
  ];
  return renderPage({ title: plan.name, introduction, sections, data: { inspector: null, items: null } });
}

const known: Readonly<Record<string, { title: string; caption: string }>> = {
  'front.svg': {
    title: 'Front',
    caption: 'Settings and rules on the development part; the stairs are what no other system beats in both aims.',
  },
  'heat-map.svg': { title: 'Heat map', caption: 'Mean objective over two options, averaged over all others.' },
  'triangle.svg': {
    title: 'Triangle',
    caption: 'Ratio of the experts: α conservative above, β early action left, γ misleading right.',
  },
  'seeds.svg': {
    title: 'Spread over seeds',
    caption: 'A dot a seed, the bar their mean. Settings whose dots mix are not told apart.',
  },
};

function leaderSection({ plan, tested }: SweepReport, { setting, why }: Leader): Markup {
  const metrics = plan.kind.metrics.filter(({ isShown: own }) => own);
  const shown = tested.filter(({ name }) => isShown(name));
  return html`<p><b>${setting.label}</b> <code>${setting.id}</code></p>
<p>${why.join(' ')}</p>
<p>Its runs: ${setting.rows.map(({ trial }) => html`<code>trials/${trial.id}</code> (seed ${trial.seed}) `)}</p>
${table({
  caption: 'On the test, which no choice was made by',
  columns: ['system', ...metrics.map(({ title }) => title)],
  rows: shown.map(({ name, role, values }) => [
    name,
    ...metrics.map(({ name: metric, decimals }) =>
      role === 'oracle' && metric === callsMetric
        ? numberCell(null)
        : metricCell(metric, { value: values[metric] ?? null, decimals }),
    ),
  ]),
  isMarked: (row) => shown[row].role === 'learnt',
})}`;
}

function settingsSection(report: SweepReport): Markup {
  const { plan, settings, leader } = report;
  const notes = notesOn(report);
  const metrics = plan.kind.metrics.filter(({ isShown: own }) => own);
  const aim = plan.sweep.objective.maximise;
  return html`<p>On the development part: mean and 95 % interval over seeds (Student’s t, cut at what is possible). A click on a heading sorts.</p>
${table({
  caption: counted(settings.length, 'setting'),
  columns: settingsHeading(plan),
  texts: ['notes'],
  rows: settings.map((setting): Cell[] => [
    setting.id,
    ...plan.paths.map((path) => settingCell(setting.point[path])),
    numberCell(setting.objective?.seeds ?? 0, 0),
    ...(aim === null ? [] : [intervalCell(setting.objective, 3)]),
    ...metrics.map(({ name, decimals }) => metricCell(name, { value: setting.values[name], decimals })),
    notes(setting).join(', '),
  ]),
  isMarked: (row) => leader?.setting === settings[row],
})}`;
}

function sensitivitySection({ plan, sensitivities }: SweepReport): Markup {
  const names = shortNames(plan.paths);
  return html`<p>How ${plan.aim} on the development part varies with each option, averaged over all others. An option with a small share hardly matters here.</p>
${table({
  caption: 'By option',
  columns: ['option', 'best mean', 'at', 'worst mean', 'at', 'spread', 'share of variance'],
  texts: ['at'],
  rows: sensitivities.map(({ path, groups, spread, explained }) => {
    const { best, worst } = bestAndWorst(groups);
    return [
      names.get(path) ?? path,
      numberCell(best.mean),
      best.values,
      numberCell(worst.mean),
      worst.values,
      numberCell(spread),
      explained === null ? numberCell(null) : { shown: meter(explained), value: explained },
    ];
  }),
})}`;
}

/** A share as a bar and a number. */
function meter(share: number): Markup {
  return html`<span class="meter" style="--share: ${share.toFixed(3)}"></span> ${percent(share)}`;
}

function failedSection(failed: SweepReport['rows']): Markup {
  return html`<ul>${failed.map(({ trial, message }) => html`<li><code>${trial.id}</code> ${trial.label}: ${(message ?? '').split('\n')[0]}</li>`)}</ul>`;
}

/** What calls cost hardly varies over seeds; an interval would only widen the table. */
function metricCell(metric: string, { value, decimals }: { value: SeedInterval | null; decimals: number }): Cell {
  return metric === callsMetric ? numberCell(value?.mean ?? null, decimals) : intervalCell(value, decimals);
}

function intervalCell(value: SeedInterval | null, decimals: number): Cell {
  return value === null ? numberCell(null) : { shown: shownInterval(value, decimals), value: value.mean };
}

function settingCell(value: unknown): Cell {
  const shown = shownValue(value);
  return { shown, value: typeof value === 'number' ? value : shown };
}
