import { join } from 'node:path';
import { RunDirectory } from '../../../checkpoints/run-directory.ts';
import { counted } from '../../../src/counted.ts';
import { groupBy } from '../../../src/data/group-by.ts';
import { differencesTable } from '../../report/page/differences.ts';
import { html, type Markup } from '../../report/page/html.ts';
import { type PageSection, renderPage } from '../../report/page/page.ts';
import { numberCell, table } from '../../report/page/tables.ts';
import type { ComparedSystem, Paired } from '../../run/paired-decisions.ts';
import { type Comparison, pairedDecisions } from '../compare-runs.ts';
import { readJudged } from '../decided-files.ts';
import type { Decision } from '../decisions.ts';
import { experimentSchema } from '../experiment.ts';
import { systemsOfRun } from '../result.ts';
import { inspectedRuns, inspectorData, inspectorSection } from './inspector.ts';
import { threadReader } from './read-runs.ts';

/** What a page of two systems is made from. */
export interface ComparePageSource {
  readonly compared: readonly [ComparedSystem, ComparedSystem];
  readonly comparison: Comparison;
  readonly command: string;
  /** Folder of the cache that runs share, where debates are. */
  readonly cache: string;
}

/** The page of two stop agents, or of an agent and a rule: differences with intervals, and the threads on which they differ. */
export async function comparePage({ compared, comparison, command, cache }: ComparePageSource): Promise<string> {
  const [first, second] = compared;
  const { pairs, labels } = pairedDecisions(first, second);
  const inspected = await inspectedSystems(compared, { pairs, cache });
  const [{ run }] = pairs;
  const own = pairs.filter((pair) => pair.run === run);
  const inspector = inspectorData(inspected.runs, { labels, order: 'disagreement' });
  const introduction = html`<p><b>${first.system}</b> of <code>${first.folder}</code>, minus <b>${second.system}</b> of <code>${second.folder}</code></p>
<p class="facts">${counted(comparison.threads, 'decision')} paired, of ${counted(comparison.seeds, 'seed')}</p>
<p class="command"><code>${command}</code></p>`;
  const sections: PageSection[] = [
    {
      id: 'difference',
      title: 'Difference',
      body: html`<p>First minus second, with 95 % intervals: a paired bootstrap over seeds and the threads of each. An interval that leaves out 0 is a difference that these threads show.</p>
${differencesTable('First minus second', comparison.metrics)}
${agreementTable(pairs)}`,
    },
    {
      id: 'differ',
      title: 'Where they differ',
      body: differSection(own, { labels, seed: seedOf(join(first.folder, run)) }),
    },
    { id: 'threads', title: 'Threads', body: inspectorSection(inspector, inspected.notes) },
  ];
  const title = `${first.system} against ${second.system}`;
  return renderPage({ title, introduction, sections, data: { inspector, items: null } });
}

function agreementTable(pairs: readonly Paired<Decision>[]): Markup {
  const isRight = (side: 'left' | 'right') => (pair: Paired<Decision>) => pair[side].predicted === pair[side].gold;
  const [left, right] = [isRight('left'), isRight('right')];
  const count = (matches: (pair: Paired<Decision>) => boolean) => numberCell(pairs.filter(matches).length, 0);
  return table({
    caption: 'Who is right',
    columns: ['decisions', 'threads'],
    rows: [
      ['both right', count((pair) => left(pair) && right(pair))],
      ['only the first', count((pair) => left(pair) && !right(pair))],
      ['only the second', count((pair) => !left(pair) && right(pair))],
      ['neither', count((pair) => !left(pair) && !right(pair))],
      ['the first stops earlier', count((pair) => pair.left.postsUsed < pair.right.postsUsed)],
      ['the second stops earlier', count((pair) => pair.left.postsUsed > pair.right.postsUsed)],
    ],
    isSortable: false,
  });
}

const differingShown = 300;

/** @param pairs of one seed */
function differSection(
  pairs: readonly Paired<Decision>[],
  { labels, seed }: { labels: readonly string[]; seed: number },
): Markup {
  const differing = pairs.filter(({ left, right }) => left.predicted !== right.predicted);
  if (differing.length === 0) return html`<p>They give the same answer to every thread, if not at the same post.</p>`;
  const name = (label: number) => labels[label] ?? 'not readable';
  return table({
    caption: `Seed ${seed}: ${differing.length} threads of ${pairs.length} get another answer${differing.length > differingShown ? `; the first ${differingShown}` : ''}`,
    columns: ['thread', 'is', 'first', 'at post', 'second', 'at post', 'of'],
    texts: ['is', 'first', 'second'],
    rows: differing.slice(0, differingShown).map(({ left, right }) => [
      {
        shown: html`<a href="#thread=${encodeURIComponent(left.threadId)}&amp;seed=${seed}">${left.threadId}</a>`,
        value: left.threadId,
      },
      name(left.gold),
      name(left.predicted),
      numberCell(left.postsUsed, 0),
      name(right.predicted),
      numberCell(right.postsUsed, 0),
      numberCell(left.posts, 0),
    ]),
  });
}

/** Both systems on the threads that both decided, run by run, each as the inspector shows an agent. */
async function inspectedSystems(
  compared: readonly ComparedSystem[],
  { pairs, cache }: { pairs: readonly Paired<Decision>[]; cache: string },
) {
  const read = threadReader();
  const runs: Parameters<typeof inspectedRuns>[0][number][] = [];
  for (const [run, own] of groupBy(pairs, (pair) => pair.run)) {
    const shared = new Set(own.map(({ left }) => left.threadId));
    for (const { folder, system: name } of compared) {
      const directory = join(folder, run);
      const experiment = RunDirectory.open(directory).readConfig(experimentSchema);
      const system = systemsOfRun(RunDirectory.open(directory)).find((each) => each.name === name);
      if (system === undefined) continue;
      runs.push({
        variant: folder,
        seed: seedOf(directory),
        experiment,
        directory,
        ...(await read(directory, experiment)),
        judged: readJudged(directory, experiment.evaluation.part).filter(({ threadId }) => shared.has(threadId)),
        systems: [system],
      });
    }
  }
  return inspectedRuns(runs, cache);
}

function seedOf(directory: string): number {
  return RunDirectory.open(directory).readRecord().seed;
}
