import { join } from 'node:path';
import { RunDirectory } from '../../../checkpoints/run-directory.ts';
import type { Thread } from '../../../src/data/thread.ts';
import { present } from '../../../src/present.ts';
import { readable, type VariantResults } from '../../report/kind-report.ts';
import type { ListedItem } from '../../report/page/page-data.ts';
import type { Block, ReportSection } from '../../report/report.ts';
import { percent } from '../../report/shown-numbers.ts';
import type { Table } from '../../report/table.ts';
import { readParts, threadsOfItems } from '../../run/parts-file.ts';
import { loadSelectorData } from '../data.ts';
import { type LastSelectionItem, readLastSelection } from '../epoch-record.ts';
import { selectorExperimentSchema } from '../experiment.ts';
import type { SelectorResult } from '../result.ts';

type Results = readonly VariantResults<SelectorResult>[];

/** Sections that only a page has: what is retained, and every item. */
export async function selectorPages(results: Results): Promise<ReportSection[]> {
  const [{ variant, trials }] = results;
  const [result] = trials;
  const { folds, seed } = result;
  const folder = folderOfSelection(result);
  const selection = readLastSelection(folder);
  const { items, notes } = await listedItems(folder, selection);
  const fold = folds.length === 0 ? '' : `, ${folds[0].run}`;
  const only =
    results.length + trials.length + folds.length > 2 &&
    `Shown: ${variant}, seed ${seed}${fold}. \`earshot report <run> --html\` writes the page of another run.`;
  return [
    {
      id: 'selection',
      title: 'What is retained',
      blocks: present<Block>([
        only,
        shareTable(selection, { kind: 'post', what: 'stance' }),
        shareTable(selection, { kind: 'claim', what: 'veracity' }),
        'Shares are of all that the last epoch showed, and of what was retained. Stances are weak labels; veracities are gold labels where there are any.',
      ]),
    },
    {
      id: 'items-shown',
      title: 'Items',
      blocks: [
        'Every claim and post that the last epoch showed, with the probability by which it was retained and the reason of the task model. Right and wrong are by labels that the selector does not see.',
        ...notes,
        { script: 'items', data: items },
      ],
    },
  ];
}

/** How each class stands among the items that were shown, and among those that were retained. */
export function shareTable(
  selection: readonly LastSelectionItem[],
  { kind, what }: { kind: 'post' | 'claim'; what: string },
): Table {
  const shown = selection.filter((item) => item.kind === kind);
  const retained = shown.filter((item) => item.retained);
  const cell = (items: readonly LastSelectionItem[], of: number) =>
    `${items.length} (${percent(items.length / Math.max(1, of))})`;
  const labelled = (items: readonly LastSelectionItem[], label: string) => items.filter((item) => item.label === label);
  const labels = [...new Set(shown.map(({ label }) => label))].sort();
  return {
    heading: [`${what} of ${kind}s`, 'shown', 'retained'],
    rows: [
      ...labels.map((label) => [
        label,
        cell(labelled(shown, label), shown.length),
        cell(labelled(retained, label), retained.length),
      ]),
      ['all', String(shown.length), cell(retained, shown.length)],
    ],
  };
}

/** Where events were held out in turn, each has a selection of its own, and the page shows the first. */
function folderOfSelection({ directory, folds }: SelectorResult): string {
  return folds.length === 0 ? directory : join(directory, folds[0].run);
}

/** With charts and style the page stays below 5 MB. */
const bytesAtMost = 3.6e6;

/** Items of a run's last epoch, with the texts of their threads if these can still be read, and a note on missing ones. */
async function listedItems(
  directory: string,
  selection: readonly LastSelectionItem[],
): Promise<{ items: ListedItem[]; notes: string[] }> {
  const { value: training, problem } = await readable(() => trainingThreads(RunDirectory.open(directory)));
  const missing = problem ?? training?.missing;
  // By the id of the thread, and of a reply after a slash.
  const texts = new Map(
    (training?.threads ?? []).flatMap(({ id, posts }) =>
      posts.map((post, index) => [index === 0 ? id : `${id}/${post.id}`, post.text] as const),
    ),
  );
  const all = selection.map(({ threadId, ...item }): ListedItem => {
    const id = 'postId' in item ? `${threadId}/${item.postId}` : threadId;
    return { ...item, id, text: texts.get(id) ?? null };
  });
  const bytes = all.reduce((sum, item) => sum + Buffer.byteLength(JSON.stringify(item)) + 1, 0);
  const share = Math.min(1, bytesAtMost / bytes);
  const items = all.filter((_, index) => Math.floor((index + 1) * share) > Math.floor(index * share));
  return {
    items,
    notes: present([
      missing && `Texts are missing: ${missing}`,
      items.length < all.length &&
        `${items.length} of ${all.length} items are listed, evenly drawn, so that the file stays below 5 MB.`,
    ]),
  };
}

/** The training threads of a run that are as they were, and what is missing. @throws InputError for an unreadable file */
async function trainingThreads(run: RunDirectory): Promise<{ threads: readonly Thread[]; missing: string | null }> {
  const experiment = run.readConfig(selectorExperimentSchema);
  const { data } = experiment;
  const noted = readParts(run).train;
  // Known by their hashes, so the files of the tests are not needed.
  const onlyTrain = { ...data, tests: {}, heldOutEvents: [], stancePretraining: null };
  const { train } = await loadSelectorData({ ...experiment, data: onlyTrain });
  const { present: threads, missing } = threadsOfItems(noted, train);
  if (missing.length === 0) return { threads, missing: null };
  const ids = [...missing.slice(0, 5).map(({ id }) => id), ...(missing.length > 5 ? ['…'] : [])].join(', ');
  const source = data.train ?? 'the planted threads';
  return {
    threads,
    missing: `${missing.length} training threads of ${run.path} are missing or were changed since (${ids}), in ${source}`,
  };
}
