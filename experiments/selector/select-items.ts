import type { BudgetLimits } from '../../experts/llm/budget.ts';
import { selectGreedily } from '../../trainers/selector/select-greedily.ts';
import type { TrialHooks } from '../run/experiment-kind.ts';
import { checkReplies, loadSelectorThreads, selectorClaim } from './data.ts';
import { checkItemFile, writeItemFile } from './item-file.ts';
import { openSelectorRun } from './open-selector-run.ts';
import { selectedItems } from './selected-items.ts';
import { type SelectionCounts, selectionCounts } from './selection-counts.ts';
import { selectorWorkshop } from './shared.ts';

export interface SelectionSummary extends SelectionCounts {
  readonly run: string;
  /** Null: the training data of the run. */
  readonly data: string | null;
  /** Of training. */
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
  /** Also what was discarded. */
  all: boolean;
  runs: string;
  budget: Partial<BudgetLimits>;
  hooks: TrialHooks;
}): Promise<SelectionSummary> {
  const { run, data, out, kind, all, runs, budget, hooks } = options;
  checkItemFile(out);
  const workshop = selectorWorkshop({ runs });
  try {
    const { experiment, shared, training } = await openSelectorRun({ run, workshop, budget, hooks });
    const threads =
      data === null
        ? shared.data.train
        : await loadSelectorThreads(data, { data: experiment.data, onNote: hooks.onNote });
    checkReplies(threads, { name: data ?? `the run ${run}` });
    const { settings, policies, epoch } = training;
    const selections = await selectGreedily({
      settings,
      policies,
      claims: threads.map(selectorClaim),
      onProgress: (done, total) => hooks.onStage?.('selecting', done, total),
      signal: hooks.signal,
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
