import { drawAll, picturesOf } from '../../report/page/chart.ts';
import { html } from '../../report/page/html.ts';
import { type Page, type PageSection, renderPage } from '../../report/page/page.ts';
import { type PageSource, resultsOf } from '../../report/variant-results.ts';
import { taskOf } from '../experiment.ts';
import { readTrialResult } from '../result.ts';
import { frontChart, frontSection } from './front.ts';
import { inspectedRuns, inspectorData, inspectorSection } from './inspector.ts';
import { plottedSystems } from './operating-points.ts';
import { readRuns } from './read-runs.ts';
import { stopsSection } from './stops.ts';
import { trainingSection } from './training.ts';

/** The page of an experiment on stop agents, or of one run: front, training, stops, and every thread. */
export async function stopAgentPage(source: PageSource): Promise<Page> {
  const { name, description, command } = source;
  const variants = resultsOf(source.variants, (run) => ({
    directory: run.path,
    result: readTrialResult(run, { withIntervals: false }),
  }));
  const runs = await readRuns(variants);
  const labels = taskOf(runs[0].experiment).labels;
  const systems = plottedSystems(variants, { command });
  const fronts = await drawAll([frontChart(systems, 'er'), frontChart(systems, 'calls')]);
  const training = await trainingSection(runs);
  const stops = await stopsSection(runs, labels);
  const inspected = await inspectedRuns(runs, source.cache);
  const inspector = inspectorData(inspected.runs, { labels });
  const { result } = runs[0];
  const introduction = html`${description.trim() === '' ? null : html`<p>${description.trim()}</p>`}
<p class="facts">${partName(result.part)}: ${result.systems[0].threads} threads a seed · ${variants.length === 1 ? 'one agent' : `${variants.length} agents`} · seeds ${[...new Set(runs.map((run) => run.result.seed))].join(', ')} · labels ${labels.join(', ')}</p>
<p class="command"><code>${command}</code></p>
${result.part === 'test' ? null : html`<p class="warning">Decided: the development part. Choose settings here, then decide the test part once.</p>`}
${training.warnings.length === 0 ? null : html`<ul class="warnings">${training.warnings}</ul>`}`;
  const sections: PageSection[] = [
    { id: 'front', title: 'Front', body: frontSection(systems, fronts) },
    { id: 'training', title: 'Training', body: training.body },
    { id: 'stops', title: 'Where it stops', body: stops.body },
    { id: 'threads', title: 'Threads', body: inspectorSection(inspector, inspected.notes) },
  ];
  return {
    html: renderPage({ title: name, introduction, sections, data: { inspector, items: null } }),
    pictures: picturesOf([...fronts, ...training.charts, ...stops.charts]),
  };
}

function partName(part: string): string {
  return part === 'test' ? 'Test' : 'Development part';
}
