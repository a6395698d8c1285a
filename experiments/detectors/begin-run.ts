import { join } from 'node:path';
import { RunDirectory } from '../../checkpoints/run-directory.ts';
import type { RunFacts } from '../../checkpoints/run-record.ts';
import { AnnotationStore } from '../../experts/annotations/annotation-store.ts';
import { loadJudgingTask } from '../../experts/tasks/task-file.ts';
import type { Thread } from '../../src/data/thread.ts';
import type { WorkContext } from '../../src/work-context.ts';
import { labelledThreads } from '../judging/drawn-threads.ts';
import { type ScoredTask, scoredTask } from '../judging/gold-labels.ts';
import { writeParts } from '../run/parts-file.ts';
import type { DetectorsExperiment } from './experiment.ts';
import { readItems } from './items.ts';

/** One experiment with one seed, and where its run goes. */
export interface JudgingTrial<Experiment> {
  readonly experiment: Experiment;
  readonly seed: number;
  readonly directory: string;
  /** Folder of all runs, with their cache. */
  readonly runs: string;
  readonly context: WorkContext;
}

/** What a run works on that has detectors judge threads. */
export interface BegunRun<Parts> {
  readonly run: RunDirectory;
  readonly task: ScoredTask;
  readonly parts: Parts;
  /** Threads of each part. */
  readonly sizes: Record<string, number>;
  readonly store: AnnotationStore;
}

/**
 * Begins a run on detectors, or goes on with it, and works on it; a finished run is read and left as it is.
 * @throws InputError when the directory holds a run of another config, seed or data, or the threads cannot fill the parts
 */
export async function beginRun<
  Experiment extends Pick<DetectorsExperiment, 'task' | 'data' | 'annotations'>,
  Parts extends Readonly<Record<string, readonly Thread[]>>,
>(
  { experiment, seed, directory, runs, context }: JudgingTrial<Experiment>,
  of: {
    facts: Pick<RunFacts, 'backend' | 'device'>;
    split: (labelled: readonly Thread[], task: ScoredTask) => Parts;
    readResult: (run: RunDirectory) => unknown;
    work: (begun: BegunRun<Parts>) => Promise<void>;
  },
): Promise<void> {
  const task = scoredTask(await loadJudgingTask(experiment.task));
  const { threads, hash } = await readItems(experiment, context);
  const parts = of.split(labelledThreads(threads, { task, context }), task);
  const facts = { ...of.facts, seed, hashes: { data: hash } };
  const run = RunDirectory.create(directory, { config: experiment, facts });
  if (run.isFinished()) {
    of.readResult(run);
    return;
  }
  writeParts(run, parts);
  const sizes = Object.fromEntries(Object.entries(parts).map(([part, { length }]) => [part, length]));
  const store = AnnotationStore.open(experiment.annotations ?? join(runs, 'cache', 'annotations.sqlite'));
  try {
    await of.work({ run, task, parts, sizes, store });
  } finally {
    store.close();
  }
}
