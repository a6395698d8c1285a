import { annotationRequest } from '../../experts/annotations/annotation-row.ts';
import { AnnotationStore } from '../../experts/annotations/annotation-store.ts';
import { judged } from '../../experts/asking/checked-judgement.ts';
import type { Judgement } from '../../experts/detector.ts';
import type { BudgetLimits } from '../../experts/llm/cost/budget.ts';
import type { EndpointUsage } from '../../experts/llm/cost/usage.ts';
import { judgementLabels } from '../../experts/tasks/task-file.ts';
import type { Prefix } from '../../src/data/thread.ts';
import { Random } from '../../src/tensor/random.ts';
import { type WorkContext, workContext } from '../../src/work-context.ts';
import { loadDetectorFile } from '../config/detector-file.ts';
import { checkKeys, openLive } from './judge-with-models.ts';

/** A detector on language models that judges one prefix at a time. */
export interface PrefixJudge {
  readonly name: string;
  readonly labels: readonly string[];
  /**
   * The judgement of a prefix, from the annotation store or from the models. Calls may overlap.
   * @throws ProviderError if a service failed, an answer could not be read, or the budget is spent
   */
  judge(prefix: Prefix): Promise<Judgement>;
  usage(): readonly EndpointUsage[];
  /** Waits for pending calls, because they are paid for. */
  close(): Promise<void>;
}

/**
 * Opens a detector file. All calls share one budget and one annotation store.
 * @param options.store path of the annotation store, which is created if missing
 * @throws InputError if the file or the store cannot be used
 */
export async function openPrefixJudge(options: {
  file: string;
  store: string;
  budget?: Partial<BudgetLimits>;
  retryUnreadable: boolean;
  context?: WorkContext;
}): Promise<PrefixJudge> {
  const { budget, retryUnreadable, context = workContext() } = options;
  const file = await loadDetectorFile(options.file);
  checkKeys(file.detector);
  const store = AnnotationStore.open(options.store);
  const random = Random.seeded({ seed: 0, purpose: 'waiting times' });
  const opening = openLive({ file, store, budget, context, random, retryUnreadable });
  const { service, calls, askOnce, detector } = await opening.catch((error) => {
    store.close();
    throw error;
  });
  return {
    name: file.name,
    labels: judgementLabels(file.task),
    judge(prefix) {
      const { threadId, posts } = prefix;
      const question = { ...annotationRequest({ detector, prefix }), threadId, prefixLength: posts.length };
      return askOnce(question, () => judged(detector, prefix, context.signal));
    },
    usage: () => service.usage(),
    async close() {
      await calls.settled();
      store.close();
    },
  };
}
