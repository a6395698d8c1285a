import { join } from 'node:path';
import { AnnotationStore } from '../../experts/annotations/annotation-store.ts';
import { type JudgingTask, judgingTaskOf, loadJudgingTask } from '../../experts/tasks/task-file.ts';
import { taskOfLabel } from '../../src/data/task.ts';
import type { WorkContext } from '../../src/work-context.ts';
import { cachedDetector, openDetectorCache } from '../judging/cached-detector.ts';
import { labelledThreads } from '../judging/drawn-threads.ts';
import { type ScoredTask, scoredTask } from '../judging/gold-labels.ts';
import { type Judge, judgeBy, judgeByModels, openJudgeOf } from '../judging/judge.ts';
import { writeDecisions } from '../run/decisions-file.ts';
import { writeParts } from '../run/parts-file.ts';
import type { DetectorsExperiment } from './experiment.ts';
import { type ItemParts, readItems, splitItems } from './items.ts';
import { type JudgedItems, judgeItems } from './judge-items.ts';
import { detectorsResult } from './result.ts';

/** One experiment with one seed, and where its run goes. */
interface DetectorTrial {
  readonly experiment: DetectorsExperiment;
  readonly seed: number;
  readonly directory: string;
  /** Folder of all runs, with their cache. */
  readonly runs: string;
  readonly context: WorkContext;
}

/**
 * One run: judges its items and writes what the detector said of each. A finished run is left as it is; one that was cut off
 * finds what was answered in the annotation store.
 * @throws InputError when the directory holds a run of another config, seed or data, or the threads cannot fill the parts
 * @throws ProviderError when judgements failed, a budget or an endpoint ended; what was answered is kept
 */
export async function runDetectorTrial(trial: DetectorTrial): Promise<void> {
  const { experiment, seed, directory, runs, context } = trial;
  const task = scoredTask(await judgingTask(experiment));
  const { threads, hash } = await readItems(experiment, context);
  const parts = splitItems(labelledThreads(threads, { task, context }), { experiment, seed, task });
  const run = detectorsResult.unfinished(directory, { config: experiment, facts: { seed, hashes: { data: hash } } });
  if (run === null) return;
  writeParts(run, parts);
  const store = AnnotationStore.open(experiment.annotations ?? join(runs, 'cache', 'annotations.sqlite'));
  try {
    const judge = await judgeOf(trial, { task, parts });
    const judged: JudgedItems[] = [];
    const names = judgedParts(experiment);
    for (const part of names) {
      const items = await judgeItems(judge, { experiment, part, threads: parts[part], store, context });
      writeDecisions(run.path, items.decisions, part);
      judged.push(items);
    }
    const sum = (name: 'asked' | 'cached' | 'failed' | 'unreadable') =>
      judged.reduce((total, { result }) => total + result[name], 0);
    detectorsResult.write(run, {
      seed,
      task: task.name,
      labels: [...task.labels],
      categories: task.categories === null ? null : [...task.categories],
      parts: names,
      threads: Object.fromEntries(Object.entries(parts).map(([part, { length }]) => [part, length])),
      asked: sum('asked'),
      cached: sum('cached'),
      failed: sum('failed'),
      unreadable: sum('unreadable'),
      spent: judged.flatMap(({ usage }) =>
        usage.map(({ endpoint, model, requests, cost }) => ({ endpoint, model, requests, cost })),
      ),
    });
  } finally {
    store.close();
  }
}

function judgedParts({ evaluation, split }: DetectorsExperiment): ('test' | 'development')[] {
  if (evaluation.part === 'development') return ['development'];
  return split.development === 0 ? ['test'] : ['development', 'test'];
}

/** The detector of an experiment, ready to judge; a local one is trained, unless it lies in the cache of the runs. */
async function judgeOf(
  { experiment, seed, runs, context }: DetectorTrial,
  { task, parts }: { task: ScoredTask; parts: Pick<ItemParts, 'train'> },
): Promise<Judge> {
  const { name, detector, endpoints, budget, retry, maxOutputTokens } = experiment;
  if (detector.name === 'local') {
    const { name: _, ...options } = detector;
    const { selectBackend } = await import('../../src/tensor/backend.ts');
    await selectBackend('auto');
    const cache = openDetectorCache(join(runs, 'cache'));
    const settings = { options, task: taskOfLabel(task), seed, cache, context };
    return judgeBy(await cachedDetector(settings, parts.train), { name: 'local', task });
  }
  if (detector.name !== 'file')
    return judgeByModels({
      detector:
        'endpoints' in detector ? { ...detector, endpoints: { ...endpoints, ...detector.endpoints } } : detector,
      task: await judgingTask(experiment),
      budget,
      retry,
      maxOutputTokens,
      prices: {},
      // One budget for all detectors of the experiment.
      name,
      path: name,
    });
  return openJudgeOf(detector.file, task);
}

function judgingTask({ task }: DetectorsExperiment): Promise<JudgingTask> | JudgingTask {
  return typeof task === 'string' ? loadJudgingTask(task) : judgingTaskOf({ name: task.label, labels: task.classes });
}
