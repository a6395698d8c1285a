import { annotate } from '../../experts/annotate.ts';
import { CallJournal } from '../../experts/annotations/call-journal.ts';
import { type SharedParts, sharedPartsIn } from '../../experts/annotations/parts.ts';
import type { Detector } from '../../experts/detector.ts';
import { createDetector } from '../../experts/detectors/create-detector.ts';
import { limitedOutput } from '../../experts/detectors/output-limit.ts';
import type { ChatService } from '../../experts/llm/chat.ts';
import type { BudgetLimits } from '../../experts/llm/cost/budget.ts';
import { DryRunChatService } from '../../experts/llm/cost/dry-run-chat-service.ts';
import { LiveChatService } from '../../experts/llm/sending/live-chat-service.ts';
import { Random } from '../../src/tensor/random.ts';
import { workContext } from '../../src/work-context.ts';
import type { DetectorFile } from '../config/detector-file.ts';
import { DryRunStore } from './dry-run-store.ts';
import { judgeByBatch } from './judge-by-batch.ts';
import { annotateOptions, type Judged, type JudgeOptions } from './judge-options.ts';

export interface JudgeWithModelsOptions extends JudgeOptions {
  readonly file: DetectorFile;
}

/** Default number of judgements under way at once: high, so that the limits of the endpoints decide. */
const concurrency = 64;

/** Judges prefixes with the detector of a file, through one service for all its calls. */
export async function judgeWithModels(options: JudgeWithModelsOptions): Promise<Judged> {
  const { file, store, mode = 'live' } = options;
  if (mode === 'dry-run') {
    const { service, detector, result } = await pretend(options, 'upper');
    const lower = service.hasShorter ? (await pretend(options, 'lower')).service : service;
    return { detector, result, usage: [], estimates: service.rows(lower) };
  }
  const random = Random.seeded({ seed: 0, purpose: 'waiting times' });
  const limits: BudgetLimits = { ...file.budget, ...options.budget };
  if (mode !== 'live') {
    const create = (service: ChatService) => detectorFor(options, { service, sharedParts: undefined });
    return judgeByBatch({ ...options, create, mode, random, limits, concurrency: options.concurrency ?? concurrency });
  }
  const { service, calls, detector } = await openLive({ ...options, random });
  const usage = () => service.usage();
  const { waits } = service;
  const annotating = annotate({ ...annotateOptions(options, { detector, store, concurrency, usage, waits }), calls });
  const result = await annotating.finally(() => calls.settled());
  return { detector, result, usage: usage(), estimates: null };
}

/** The service that sends the calls of a detector, what keeps them, and the detector that makes them. */
export async function openLive(
  options: Omit<JudgeWithModelsOptions, 'threads' | 'mode'> & { readonly random: Random },
): Promise<{ service: LiveChatService; calls: CallJournal; detector: Detector }> {
  const {
    file,
    store,
    sharesParts = true,
    context = workContext(),
    random,
    maxWaitMs = file.retry.maxWaitMs,
  } = options;
  const service = new LiveChatService({
    random,
    budget: { ...file.budget, ...options.budget },
    ledger: store.ledgers.named(file.name),
    retry: { ...file.retry, maxWaitMs },
    signal: context.signal,
    capabilitiesPath: store.path === ':memory:' ? null : `${store.path}.endpoints.json`,
    onNote: context.onNote,
  });
  // A store in memory does not outlive the process.
  const calls = new CallJournal({ service, table: store.path === ':memory:' ? null : store.responses });
  const { retryUnreadable } = options;
  const sharedParts = sharesParts
    ? sharedPartsIn({ store, calls, signal: context.signal, retryUnreadable, waits: service.waits })
    : undefined;
  const detector = await detectorFor(options, { service: calls, sharedParts });
  return { service, calls, detector };
}

/** Judges without sending anything, with the answers that lead to the fewest or to the most calls. */
async function pretend(options: JudgeWithModelsOptions, bound: 'lower' | 'upper') {
  const service = new DryRunChatService({ bound });
  const store = new DryRunStore(options.store);
  const { retryUnreadable } = options;
  const sharedParts = sharedPartsIn({ store, calls: new CallJournal({ service, table: null }), retryUnreadable });
  const detector = await detectorFor(options, { service, sharedParts });
  const result = await annotate(annotateOptions(options, { detector, store, concurrency }));
  return { service, detector, result };
}

async function detectorFor(
  options: Pick<JudgeWithModelsOptions, 'file' | 'context'>,
  { service, sharedParts }: { service: ChatService; sharedParts: SharedParts | undefined },
) {
  const { file, context = workContext() } = options;
  const { maxOutputTokens: most } = file;
  const create = (through: ChatService, parts: SharedParts | undefined) =>
    createDetector({
      config: file.detector,
      task: file.task,
      service: through,
      signal: context.signal,
      sharedParts: parts,
      retry: file.retry,
    });
  if (most === null) return create(service, sharedParts);
  const output = limitedOutput({ service, most });
  // What a part may write depends on the judgement that asks for it, so it is no answer for others.
  return output.limited(await create(service instanceof DryRunChatService ? service : output.service, undefined));
}
