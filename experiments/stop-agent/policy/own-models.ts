import { join } from 'node:path';
import { AnnotationStore } from '../../../experts/annotations/annotation-store.ts';
import type { JudgementSequence } from '../../../experts/judgement-sequence.ts';
import { dryRunSummary } from '../../../experts/llm/cost/dry-run-chat-service.ts';
import type { Thread } from '../../../src/data/thread.ts';
import type { WorkContext } from '../../../src/work-context.ts';
import { experimentSchema, taskOf } from '../experiment.ts';
import { judgeByFile, recallByFile } from '../judge-for-training.ts';
import type { OpenedPolicy } from './policy-folder.ts';

interface Asking {
  threads: readonly Thread[];
  /** Folder with the cache of runs, which keeps the answers. */
  runs: string;
  maxPosts?: number;
  context: WorkContext;
}

/*
 * The language models of a policy's training, for a policy without a detector at hand.
 */

/**
 * Their judgements of every prefix of threads. Answers in the store cost nothing.
 * @throws InputError where the detector file that the training named cannot be used; ProviderError where the models fail
 */
export async function askOwnModels(
  policy: OpenedPolicy,
  asking: Asking,
): Promise<ReadonlyMap<string, JudgementSequence>> {
  return (await withStore(policy, asking, judgeByFile)).sequences;
}

/** The cost of asking them, in words; null where nothing has to be asked. */
export async function costOfOwnModels(policy: OpenedPolicy, asking: Asking): Promise<string | null> {
  const { missing, estimates } = await withStore(policy, asking, recallByFile);
  return estimates === null ? null : `${missing} prefixes to query; ${dryRunSummary(estimates)}`;
}

async function withStore<Result>(
  { manifest, definition }: OpenedPolicy,
  { threads, runs, maxPosts = definition.queries.maxPosts, context }: Asking,
  ask: (settings: Parameters<typeof judgeByFile>[0]) => Promise<Result>,
): Promise<Result> {
  const experiment = experimentSchema.parse(manifest.training.experiment);
  const { detector: options } = experiment;
  if (!('file' in options)) throw new Error('the bundle lacks the local detector of its training');
  const store = AnnotationStore.open(join(runs, 'cache', 'annotations.sqlite'));
  try {
    return await ask({ options, task: taskOf(experiment), threads, store, maxPosts, context });
  } finally {
    store.close();
  }
}
