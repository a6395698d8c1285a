import { existsSync } from 'node:fs';
import { readMetrics } from '../../../checkpoints/metrics-log.ts';
import { RunDirectory } from '../../../checkpoints/run-directory.ts';
import { type DrawnChart, drawAll, figure } from '../../report/page/chart.ts';
import { html, type Markup } from '../../report/page/html.ts';
import { curveCharts } from '../../report/page/learning-curves.ts';
import type { ReadRun } from './read-runs.ts';
import { trainingWarnings } from './training-warnings.ts';

/** What the runs logged while they learnt, and what looks wrong in it. */
export async function trainingSection(
  runs: readonly ReadRun[],
): Promise<{ body: Markup; warnings: Markup[]; charts: readonly DrawnChart[] }> {
  const logged = runs.map(({ variant, directory, result, agent }) => {
    const { metricsPath } = RunDirectory.open(directory);
    const metrics = existsSync(metricsPath) ? readMetrics(metricsPath) : [];
    const { mostCommonStop } = result.systems.find(({ name }) => name === agent.name)!;
    const atFirst = result.stopsAtFirstPost.conservative ?? 0;
    const found = trainingWarnings({ metrics, mostCommonStop, demonstrationsAtFirstPost: atFirst });
    return { variant, seed: result.seed, metrics, found };
  });
  const several = runs.length > 1;
  const warnings = logged.flatMap(({ variant, seed, found }) =>
    found.map(
      ({ what, advice }) =>
        html`<li>${several ? html`<b>${variant}, seed ${seed}.</b> ` : null}${what} <span class="advice">${advice}</span></li>`,
    ),
  );
  const curves = curveCharts(logged, { over: 'iteration' });
  const charts = await drawAll(curves);
  const variants = [...new Set(runs.map(({ variant }) => variant))];
  return {
    warnings,
    charts,
    body: html`<p>One line a run. ${
      warnings.length === 0
        ? 'None of the usual troubles was found: no collapse, no overwhelming discriminator, no divergence.'
        : html`What looks wrong is said at the top of the page.`
    }</p>
${variants.length > 1 ? legendOf(variants) : null}
<div class="grid">${charts.map((chart, index) => html`<div><h3>${curves[index].title}</h3>${figure(chart, curves[index].meaning)}</div>`)}</div>`,
  };
}

/** Which colour of the curves is which variant. */
export function legendOf(variants: readonly string[]): Markup {
  return html`<p class="legend">${variants.map((variant, index) => html`<span class="series-${index % 6}">${variant}</span>`)}</p>`;
}
