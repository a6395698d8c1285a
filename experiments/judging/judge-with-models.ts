import { annotate } from '../../experts/annotate.ts';
import { type AskOnce, askOnceIn } from '../../experts/asking/ask-once.ts';
import { CallJournal } from '../../experts/asking/call-journal.ts';
import type { Detector } from '../../experts/detector.ts';
import type { DetectorConfig } from '../../experts/detectors/create-detector.ts';
import { createDetector } from '../../experts/detectors/create-detector.ts';
import { limitedOutput } from '../../experts/detectors/output-limit.ts';
import type { ChatService } from '../../experts/llm/chat.ts';
import type { BudgetLimits } from '../../experts/llm/cost/budget.ts';
import { DryRunChatService } from '../../experts/llm/cost/dry-run-chat-service.ts';
import { credentialsOf, type Endpoint, endpointSchema } from '../../experts/llm/endpoint.ts';
import { LiveChatService } from '../../experts/llm/sending/live-chat-service.ts';
import type { RetryPolicy } from '../../experts/llm/sending/retry.ts';
import { Random } from '../../src/tensor/random.ts';
import { type WorkContext, workContext } from '../../src/work-context.ts';
import type { DetectorFile } from '../config/detector-file.ts';
import { isPlainObject } from '../config/overrides.ts';
import { DryRunStore } from './dry-run-store.ts';
import { judgeByBatch } from './judge-by-batch.ts';
import { annotateOptions, type Judged, type JudgeOptions } from './judge-options.ts';

export interface JudgeWithModelsOptions extends JudgeOptions {
  readonly file: DetectorFile;
}

/** Default number of judgements at a time; high, so that the limits of the endpoints decide. */
const concurrency = 64;

/** Judges prefixes with the detector of a file, through one service for all its calls. */
export async function judgeWithModels(options: JudgeWithModelsOptions): Promise<Judged> {
  const { file, store, mode = 'live' } = options;
  if (mode === 'dry-run') {
    const { service, detector, result } = await pretend(options, 'upper');
    const lower = service.hasShorter ? (await pretend(options, 'lower')).service : service;
    return { detector, result, usage: [], estimates: service.rows(lower) };
  }
  checkKeys(file.detector);
  const random = Random.seeded({ seed: 0, purpose: 'waiting times' });
  const limits: BudgetLimits = { ...file.budget, ...options.budget };
  if (mode !== 'live') {
    const create = (service: ChatService) => detectorFor(options, { service, askOnce: undefined });
    return judgeByBatch({ ...options, create, mode, random, limits, concurrency: options.concurrency ?? concurrency });
  }
  const { service, calls, detector } = await openLive({ ...options, random });
  const usage = () => service.usage();
  const { waits } = service;
  const annotating = annotate({ ...annotateOptions(options, { detector, store, concurrency, usage, waits }), calls });
  const result = await annotating.finally(() => calls.settled());
  return { detector, result, usage: usage(), estimates: null };
}

/** Opens the service, the journal of calls, and the detector that makes the calls. */
export async function openLive(
  options: Omit<JudgeWithModelsOptions, 'threads' | 'mode'> & { readonly random: Random },
): Promise<{ service: LiveChatService; calls: CallJournal; askOnce: AskOnce; detector: Detector }> {
  const { file, store, context = workContext(), random } = options;
  // A store in memory does not outlive the process: shared parts in it would only hide what a judgement took.
  const outlives = store.path !== ':memory:';
  const service = new LiveChatService({
    random,
    budget: { ...file.budget, ...options.budget },
    ledger: store.ledgers.named(file.name),
    retry: retryOf(file, context),
    signal: context.signal,
    onNote: context.onNote,
  });
  const calls = new CallJournal({ service, table: outlives ? store.responses : null });
  const { retryUnreadable } = options;
  const askOnce = askOnceIn({ store, calls, signal: context.signal, retryUnreadable, waits: service.waits });
  const detector = await detectorFor(options, { service: calls, askOnce: outlives ? askOnce : undefined });
  return { service, calls, askOnce, detector };
}

/** Judges without sending anything, under the answers that lead to the fewest or the most calls. */
async function pretend(options: JudgeWithModelsOptions, bound: 'lower' | 'upper') {
  const service = new DryRunChatService({ bound });
  const store = new DryRunStore(options.store);
  const { retryUnreadable } = options;
  const askOnce = askOnceIn({ store, retryUnreadable });
  const detector = await detectorFor(options, { service, askOnce });
  const result = await annotate(annotateOptions(options, { detector, store, concurrency }));
  return { service, detector, result };
}

async function detectorFor(
  { file, context = workContext() }: Pick<JudgeWithModelsOptions, 'file' | 'context'>,
  { service, askOnce }: { service: ChatService; askOnce: AskOnce | undefined },
) {
  const { maxOutputTokens: most } = file;
  const create = (through: ChatService, parts: AskOnce | undefined) =>
    createDetector({
      config: file.detector,
      task: file.task,
      service: through,
      signal: context.signal,
      askOnce: parts,
      retry: retryOf(file, context),
    });
  if (most === null) return create(service, askOnce);
  const output = limitedOutput({ service, most });
  // What a part may write depends on the judgement that asks for it, so it is no answer for others.
  return output.limited(await create(service instanceof DryRunChatService ? service : output.service, undefined));
}

/** How a file repeats requests, to models and to services with evidence. */
function retryOf({ retry }: DetectorFile, { maxWaitMs }: WorkContext): RetryPolicy {
  return { ...retry, maxWaitMs: maxWaitMs ?? retry.maxWaitMs };
}

const unnamedSchema = endpointSchema.partial({ name: true });

/**
 * Checks the keys of all endpoints before the first call, because a debate whose judge lacks a key has already paid for
 * its debaters.
 * @throws InputError for an unset environment variable
 */
export function checkKeys(config: DetectorConfig): void {
  for (const endpoint of usedEndpoints(config)) credentialsOf({ endpoint, env: process.env });
}

/** Endpoints stand beside a model, or under the model's name in `endpoints`, which may hold unused ones. */
function usedEndpoints(value: unknown, named: Readonly<Record<string, unknown>> = {}, name = ''): Endpoint[] {
  if (typeof value === 'string') return Object.hasOwn(named, value) ? usedEndpoints(named[value], {}, value) : [];
  if (Array.isArray(value)) return value.flatMap((each) => usedEndpoints(each, named));
  if (!isPlainObject(value)) return [];
  const parsed = unnamedSchema.safeParse(value).data;
  if (parsed !== undefined) return [{ ...parsed, name: parsed.name ?? (name || new URL(parsed.baseURL).host) }];
  const { endpoints = named, ...others } = value;
  return Object.values(others).flatMap((each) => usedEndpoints(each, isPlainObject(endpoints) ? endpoints : named));
}
