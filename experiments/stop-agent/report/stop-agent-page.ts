import { drawAll, picturesOf } from '../../report/page/chart.ts';
import { html, type Markup } from '../../report/page/html.ts';
import { type Page, type PageSection, renderPage } from '../../report/page/page.ts';
import type { ReportSource } from '../../report/variant-results.ts';
import { taskOf } from '../experiment.ts';
import type { Answer } from './answer.ts';
import { answerSection } from './answer-section.ts';
import { detectorTruthMarkup } from './detector-truth.ts';
import { frontChart, frontSection } from './front.ts';
import { inspectedRuns, inspectorData, inspectorSection } from './inspector.ts';
import { plottedSystems } from './operating-points.ts';
import { readRuns } from './read-runs.ts';
import { stopsSection } from './stops.ts';
import { trainingSection } from './training.ts';

/**
 * The page of an experiment on stop agents, or of one run. It opens with the answer; then come training, stops and threads of the
 * agent and seed that are chosen, the best agent first.
 */
export async function stopAgentPage(
  { name, description, command, cache }: Omit<ReportSource, 'variants'>,
  answer: Answer,
): Promise<Page> {
  const { agents: variants } = answer;
  const runs = await readRuns(variants);
  const labels = taskOf(runs[0].experiment).labels;
  const systems = plottedSystems(variants, { command, recommended: answer.recommended });
  const [front, calls] = await drawAll([frontChart(systems, 'er'), frontChart(systems, 'calls')]);
  const training = await trainingSection(runs);
  const stops = await stopsSection(runs, labels);
  const inspected = await inspectedRuns(runs, cache);
  const inspector = inspectorData(inspected.runs, { labels });
  const { result } = runs[0];
  const seeds = [...new Set(runs.map((run) => run.result.seed))];
  const introduction = html`<p class="facts">${partName(result.part)}: ${result.systems[0].threads} threads a seed · ${variants.length === 1 ? 'one agent' : `${variants.length} agents`} · ${seeds.length === 1 ? 'seed' : 'seeds'} ${seeds.join(', ')} · labels ${labels.join(', ')}</p>
${result.part === 'test' ? null : html`<p class="warning">Decided: the development part. Choose settings here, then decide the test part once.</p>`}
${detectorTruthMarkup(answer.detectors)}
${answer.shift === null ? null : html`<p class="warning">${answer.shift}</p>`}`;
  const sections: PageSection[] = [
    { id: 'answer', title: 'Answer', body: answerSection(answer, front) },
    { id: 'front', title: 'Front', body: frontSection(variants, calls) },
    { id: 'training', title: 'Training', body: training.body },
    { id: 'stops', title: 'Where it stops', body: stops.body },
    { id: 'threads', title: 'Threads', body: inspectorSection(inspector, inspected.notes) },
    {
      id: 'run',
      title: 'What was run',
      body: html`${description.trim() === '' ? null : html`<p>${description.trim()}</p>`}<p class="command"><code>${command}</code></p>`,
    },
  ];
  const shownSeeds = seedChoices(seeds);
  return {
    html: renderPage({
      title: name,
      introduction,
      sections,
      choice: choiceForm({ agents: variants.map(({ variant }) => variant), seeds: shownSeeds }),
      data: { inspector, items: null },
    }),
    pictures: picturesOf([front, calls, ...training.charts, ...stops.charts]),
  };
}

/** All seeds first; a single one has no choice. */
function seedChoices(seeds: readonly number[]): string[] {
  return seeds.length === 1 ? [String(seeds[0])] : ['all', ...seeds.map(String)];
}

function choiceForm({ agents, seeds }: { agents: readonly string[]; seeds: readonly string[] }): Markup {
  return html`<form class="controls choice" id="choice" aria-label="Agent and seed of all below">
<label><span>Agent</span><select name="agent" autocomplete="off">${agents.map((agent) => html`<option>${agent}</option>`)}</select></label>
<label><span>Seed</span><select name="seed" autocomplete="off">${seeds.map((seed) => html`<option value="${seed}">${seed === 'all' ? 'all seeds' : seed}</option>`)}</select></label>
</form>
`;
}

function partName(part: string): string {
  return part === 'test' ? 'Test' : 'Development part';
}
