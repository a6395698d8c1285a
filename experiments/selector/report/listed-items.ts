import { RunDirectory } from '../../../checkpoints/run-directory.ts';
import type { Thread } from '../../../src/data/thread.ts';
import { InputError } from '../../../src/errors.ts';
import { workContext } from '../../../src/work-context.ts';
import type { ListedItem } from '../../report/page/page-data.ts';
import { selectorExperimentSchema } from '../experiment.ts';
import type { LastSelectionItem } from '../last-selection-file.ts';
import { trainingThreads } from '../open-selector-run.ts';

/** With charts and style the page stays below 5 MB. */
const bytesAtMost = 3.6e6;

/** What a run's last epoch showed, with the texts of its threads where they can still be read; and what is missing. */
export async function listedItems(
  directory: string,
  selection: readonly LastSelectionItem[],
): Promise<{ items: ListedItem[]; notes: string[] }> {
  const { texts, problem } = await textsOf(directory);
  const all = selection.map(({ kind, threadId, ...own }): ListedItem => {
    const id = 'postId' in own ? `${threadId}/${own.postId}` : threadId;
    return {
      kind,
      id,
      text: texts.get(id) ?? null,
      label: own.label,
      labelledBy: own.labelledBy,
      confidence: own.confidence,
      retainProbability: own.retainProbability,
      retained: own.retained,
      right: own.right,
      reason: own.explanation,
    };
  });
  const items = thatFit(all);
  return {
    items,
    notes: [
      ...(problem === null ? [] : [`Texts are missing: ${problem}`]),
      ...(items.length === all.length
        ? []
        : [`${items.length} of ${all.length} items are listed, evenly drawn, so that the file stays below 5 MB.`]),
    ],
  };
}

/** All items, or as many as fit, evenly spaced. */
function thatFit(items: readonly ListedItem[]): ListedItem[] {
  const bytes = items.reduce((sum, item) => sum + Buffer.byteLength(JSON.stringify(item)) + 1, 0);
  if (bytes <= bytesAtMost) return [...items];
  const share = bytesAtMost / bytes;
  return items.filter((_, index) => Math.floor((index + 1) * share) > Math.floor(index * share));
}

/** By the id of the thread, and of a reply after a slash. */
async function textsOf(directory: string): Promise<{ texts: ReadonlyMap<string, string>; problem: string | null }> {
  const run = RunDirectory.open(directory);
  let threads: readonly Thread[];
  try {
    const experiment = run.readConfig(selectorExperimentSchema);
    threads = await trainingThreads({ run, experiment, context: workContext() });
  } catch (error) {
    if (error instanceof InputError) return { texts: new Map(), problem: error.message };
    throw error;
  }
  const texts = threads.flatMap(({ id, posts }) =>
    posts.map((post, index) => [index === 0 ? id : `${id}/${post.id}`, post.text] as const),
  );
  return { texts: new Map(texts), problem: null };
}
