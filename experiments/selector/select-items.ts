import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { BudgetLimits } from '../../experts/llm/cost/budget.ts';
import { makeFolder, writeFileAtomically } from '../../src/atomic-file.ts';
import { InputError } from '../../src/errors.ts';
import type { WorkContext } from '../../src/work-context.ts';
import { selectGreedily } from '../../trainers/selector/select-greedily.ts';
import { checkReplies, loadSelectorThreads, selectorClaim } from './data.ts';
import { openSelectorRun, trainingThreads } from './open-selector-run.ts';
import { type SelectionCounts, selectedItems, selectionCounts } from './selected-items.ts';
import { selectorWorkshop } from './shared.ts';

export interface SelectionSummary extends SelectionCounts {
  readonly run: string;
  /** Null: the training data of the run. */
  readonly data: string | null;
  /** Epochs that the selector was trained for. */
  readonly epochs: number;
  readonly threads: number;
  readonly out: string;
  readonly lines: number;
}

/**
 * Labels the claims and posts of the data of a run, or of other data, with its trained selector and writes what it retains,
 * for others to train on. Nothing is drawn: the same run and data give the same bytes.
 */
export async function selectItems(options: {
  run: string;
  /** A thread file; null: the training data of the run. */
  data: string | null;
  out: string;
  kind: 'posts' | 'claims' | 'both';
  /** Whether discarded items are written, too. */
  all: boolean;
  runs: string;
  budget: Partial<BudgetLimits>;
  context: WorkContext;
}): Promise<SelectionSummary> {
  const { run, data, out, kind, all, runs, budget, context } = options;
  checkItemFile(out);
  const workshop = selectorWorkshop({ runs });
  try {
    const opened = await openSelectorRun({ run, workshop, budget, context });
    const { experiment, training } = opened;
    const threads =
      data === null
        ? await trainingThreads({ ...opened, context })
        : await loadSelectorThreads(data, { data: experiment.data, onNote: context.onNote });
    checkReplies(threads, { name: data ?? `the run ${run}` });
    const { settings, policies, epoch } = training;
    const selections = await selectGreedily({
      settings,
      policies,
      claims: threads.map(selectorClaim),
      onProgress: (done, total) => context.onProgress('selecting', done, total),
      signal: context.signal,
    });
    const humanLabels = new Map(settings.claims.map(({ threadId, label }) => [threadId, label]));
    const selected = threads.map((thread, index) =>
      selectedItems({ thread, selection: selections[index], humanLabel: humanLabels.get(thread.id) ?? null }),
    );
    const items = selected.flatMap(({ claim, posts }) => [
      ...(kind === 'posts' ? [] : [claim]),
      ...(kind === 'claims' ? [] : posts),
    ]);
    const written = all ? items : items.filter(({ retained }) => retained);
    writeItemFile(out, written);
    return {
      run,
      data,
      epochs: epoch,
      threads: threads.length,
      out,
      lines: written.length,
      ...selectionCounts({
        claims: selected.map(({ claim }) => claim),
        posts: selected.flatMap(({ posts }) => posts),
      }),
    };
  } finally {
    workshop.close();
  }
}

/** Checks that the file can be written before the hours of work that fill it. */
function checkItemFile(path: string): void {
  if (!/\.jsonl(\.gz)?$/.test(path))
    throw new InputError(`--out ${path}: the name must end in .jsonl, or in .jsonl.gz for gzip`);
  makeFolder(dirname(path));
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory())
    throw new InputError(`--out ${path} is a directory; give the name of a file`);
}

/** Writes one item a line, gzipped if the name ends in `.gz`. The same items give the same bytes. */
function writeItemFile(path: string, items: readonly unknown[]): void {
  const text = items.map((item) => `${JSON.stringify(item)}\n`).join('');
  writeFileAtomically(path, path.endsWith('.gz') ? gzipSync(text) : text);
}
