import { existsSync } from 'node:fs';
import type { AnnotateProgress, AnnotateResult } from '../../experts/annotate.ts';
import { AnnotationStore } from '../../experts/annotations/annotation-store.ts';
import type { BudgetLimits } from '../../experts/llm/budget.ts';
import type { PrefixSchedule } from '../../experts/prefix-schedule.ts';
import { formatBadItem } from '../../src/data/bad-item.ts';
import { loadThreads } from '../../src/data/thread-file.ts';
import { loadDetectorFile } from '../config/detector-file.ts';
import { judgeWithModels } from './judge-with-models.ts';
import type { JudgedByModels } from './judged-by-models.ts';

export interface AnnotateWithModelsOptions {
  threads: string;
  store: string;
  /** A detector file. */
  detector: string;
  schedule: PrefixSchedule;
  maxPosts: number;
  concurrency?: number;
  skipInvalid: boolean;
  budget: Partial<BudgetLimits>;
  dryRun: boolean;
  batch: boolean;
  batchPollMs?: number;
  onCounts?: (counts: AnnotateProgress) => void;
  onNote?: (line: string) => void;
  signal?: AbortSignal;
}

export type AnnotatedWithModels = Omit<AnnotateResult, 'sequences'> &
  Pick<JudgedByModels, 'usage' | 'estimates'> & { readonly threads: number };

/** Judges the prefixes of every thread of a file with the detector of a detector file, into an annotation store. */
export async function annotateWithModels(options: AnnotateWithModelsOptions): Promise<AnnotatedWithModels> {
  const { dryRun, batch, batchPollMs, skipInvalid, onCounts, onNote, concurrency, signal } = options;
  const file = await loadDetectorFile(options.detector);
  const threads = await loadThreads(options.threads, {
    skipInvalid,
    onSkipped: (item) => onNote?.(`skipped ${formatBadItem(item)}`),
  });
  // A dry run leaves nothing behind, not even an empty store.
  const store = AnnotationStore.open(dryRun && !existsSync(options.store) ? ':memory:' : options.store);
  try {
    const { result, usage, estimates } = await judgeWithModels({
      file,
      threads,
      store,
      mode: dryRun
        ? 'dry-run'
        : batch
          ? { batchFolder: `${options.store}.batches`, ...(batchPollMs !== undefined && { pollMs: batchPollMs }) }
          : 'live',
      budget: options.budget,
      schedule: options.schedule,
      maxPosts: options.maxPosts,
      ...(concurrency !== undefined && { concurrency }),
      ...(onCounts && { onProgress: onCounts }),
      ...(onNote && { onNote }),
      ...(signal && { signal }),
    });
    const { sequences: _, ...counts } = result;
    return { threads: threads.length, ...counts, usage, estimates };
  } finally {
    store.close();
  }
}
