import { type AnnotateOptions, annotate } from '../../experts/annotate.ts';
import type { AnnotationStore } from '../../experts/annotations/annotation-store.ts';
import { KeptCalls, type KeptParts } from '../../experts/annotations/kept-calls.ts';
import { createDetector } from '../../experts/detectors/create-detector.ts';
import type { BudgetLimits } from '../../experts/llm/budget.ts';
import type { ChatService } from '../../experts/llm/chat.ts';
import { DryRunChatService } from '../../experts/llm/dry-run-chat-service.ts';
import type { Environment } from '../../experts/llm/endpoint.ts';
import { LiveChatService } from '../../experts/llm/live-chat-service.ts';
import type { Thread } from '../../src/data/thread.ts';
import { Random } from '../../src/tensor/random.ts';
import type { DetectorFile } from '../config/detector-file.ts';
import { DryRunStore } from './dry-run-store.ts';
import { type BatchMode, judgeByBatch } from './judge-by-batch.ts';
import { annotateOptions, type JudgedByModels } from './judged-by-models.ts';

/** `live` asks, `dry-run` counts what would be asked, a batch hands it in and waits. */
export type JudgingMode = 'live' | 'dry-run' | BatchMode;

export interface JudgeWithModelsOptions {
  file: DetectorFile;
  threads: readonly Thread[];
  store: AnnotationStore;
  mode?: JudgingMode;
  /** Limits that take the place of the file's. */
  budget?: Partial<BudgetLimits>;
  /** Whether parts that prefixes share are kept in the store, too; otherwise the judgements count their usage. */
  keepsParts?: boolean;
  schedule?: AnnotateOptions['schedule'];
  maxPosts?: number;
  concurrency?: number;
  onProgress?: AnnotateOptions['onProgress'];
  onNote?: (line: string) => void;
  signal?: AbortSignal;
  env?: Environment;
}

/** Judges prefixes with the detector of a file, through one service for all its calls. */
export async function judgeWithModels(options: JudgeWithModelsOptions): Promise<JudgedByModels> {
  const { file, store, mode = 'live' } = options;
  if (mode === 'dry-run') {
    const service = new DryRunChatService();
    const pretending = new DryRunStore(store);
    const keptParts = new KeptCalls({ service, store: pretending, table: null });
    const detector = await detectorFor(options, service, keptParts);
    const result = await annotate(annotateOptions(options, { detector, store: pretending }));
    return { detector, result, usage: [], estimates: service.rows() };
  }
  const random = Random.seeded({ seed: 0, purpose: 'waiting times' });
  if (mode !== 'live') {
    const create = (service: ChatService) => detectorFor(options, service, undefined);
    return judgeByBatch({ ...options, create, mode, random, limits: limitsOf(options) });
  }
  const { signal, env, keepsParts = true } = options;
  const service = new LiveChatService({
    random,
    budget: limitsOf(options),
    retry: file.retry,
    ...(signal && { signal }),
    ...(env && { env }),
  });
  const calls = new KeptCalls({ service, store, table: keepsCalls(options) ? store.keptCalls : null });
  const detector = await detectorFor(options, calls, keepsParts ? calls : undefined);
  const annotating = annotate({ ...annotateOptions(options, { detector, store }), calls });
  const result = await annotating.finally(() => calls.settled());
  if (result.stopped === null) calls.forgetUnreadable();
  return { detector, result, usage: service.usage(), estimates: null };
}

/** Not where a call is a judgement, which would be written twice, nor where nothing outlives the process. */
function keepsCalls({ file: { detector, task }, store }: JudgeWithModelsOptions): boolean {
  const isOneCall = detector.name === 'single-prompt' && detector.samples === 1 && task.labels !== undefined;
  return !isOneCall && store.path !== ':memory:';
}

function limitsOf({ file, budget }: JudgeWithModelsOptions): BudgetLimits {
  return { ...file.budget, ...budget };
}

function detectorFor(options: JudgeWithModelsOptions, service: ChatService, keptParts: KeptParts | undefined) {
  const { file, signal, env } = options;
  return createDetector({
    config: file.detector,
    task: file.task,
    service,
    keptParts,
    signal,
    env,
  });
}
