import { existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { annotate } from '../../experts/annotate.ts';
import { AnnotationStore } from '../../experts/annotations/annotation-store.ts';
import { CallJournal } from '../../experts/asking/call-journal.ts';
import type { Detector } from '../../experts/detector.ts';
import { batchForm, completionBody } from '../../experts/llm/answers/request-form.ts';
import { type BatchItem, type BatchOutcome, batchesOf, runBatch } from '../../experts/llm/batch.ts';
import type { ChatRequest, ChatService } from '../../experts/llm/chat.ts';
import { type BudgetLimits, checkPrices } from '../../experts/llm/cost/budget.ts';
import { DryRunChatService } from '../../experts/llm/cost/dry-run-chat-service.ts';
import { addedSpending, type CountedSpending, nothingSpent } from '../../experts/llm/cost/ledger.ts';
import { UsageTally } from '../../experts/llm/cost/usage.ts';
import type { Endpoint } from '../../experts/llm/endpoint.ts';
import { BudgetSpentError, CannotAskError } from '../../experts/llm/failures.ts';
import { BatchFailedError } from '../../experts/llm/sending/batch-job.ts';
import { sha256 } from '../../src/content-hash.ts';
import { InputError, ProviderError } from '../../src/errors.ts';
import { readJsonLines } from '../../src/json-file.ts';
import type { Random } from '../../src/tensor/random.ts';
import { type WorkContext, workContext } from '../../src/work-context.ts';
import type { DetectorFile } from '../config/detector-file.ts';
import { DryRunStore } from './dry-run-store.ts';
import { annotateOptions, type BatchMode, type Judged, type JudgeOptions } from './judge-options.ts';

interface JudgeByBatchOptions extends JudgeOptions {
  readonly file: DetectorFile;
  readonly mode: BatchMode;
  readonly concurrency: number;
  readonly create: (service: ChatService) => Promise<Detector>;
  readonly limits: BudgetLimits;
  readonly random: Random;
}

/**
 * Asks through batches in three passes: the first collects the requests, the second runs the batches, and the third
 * judges with the batches' answers. A batch that an earlier process submitted is collected first.
 */
export async function judgeByBatch(options: JudgeByBatchOptions): Promise<Judged> {
  const { file, mode, store, create, concurrency, context = workContext() } = options;
  refuseDebates(file);
  const asking = collectingService();
  const collecting = await create(asking);
  const { name, version, options: settings } = collecting;
  const folder = join(mode.batchFolder, `${name}-${sha256({ name, version, settings }).slice(0, 16)}`);
  const handedIn = handedInBefore(folder);
  const empty = AnnotationStore.open(':memory:');
  try {
    // A killed process may have stored some answers of a batch already; that batch still asks for them.
    const pretending = new DryRunStore(handedIn.length > 0 ? empty : store);
    const quietly = { ...options, onCounts: undefined, context: workContext({ signal: context.signal }) };
    await annotate(annotateOptions(quietly, { detector: collecting, store: pretending, concurrency }));
  } finally {
    empty.close();
  }
  const ledger = { name: file.name, batch: folder };
  if (handedIn.length === 0) store.ledgers.reserveBatch({ ...ledger, most: checkedCosts(options, asking) });

  const batches = handedIn.length > 0 ? handedIn.map((ids) => asking.items(ids)) : batchesOf(asking.items());
  const { outcomes, failures } = await run(batches, { ...options, folder, context });
  if (batches.length > 0 && failures.length === batches.length) {
    store.ledgers.releaseBatch(ledger);
    renameSync(folder, freePath(`${folder}-failed`));
    throw failures[0];
  }
  const replay = replayingService(outcomes);
  const calls = new CallJournal({ service: replay, table: store.path === ':memory:' ? null : store.responses });
  const detector = await create(calls);
  const annotating = annotate({ ...annotateOptions(options, { detector, store, concurrency }), calls });
  const result = await annotating.finally(() => calls.settled());
  store.ledgers.settleBatch({ ...ledger, took: replay.spending() });
  // The next run asks again for whatever failed, so it must not find these answers.
  if (batches.length > 0) renameSync(folder, freePath(`${folder}-collected`));
  return { detector, result, usage: replay.usage(), estimates: null };
}

/** Runs batches at the same time. A failed batch gives its problem to every request. */
async function run(
  batches: readonly (readonly BatchItem[])[],
  { folder, file, mode, random, context }: JudgeByBatchOptions & { folder: string; context: WorkContext },
): Promise<{ outcomes: Map<string, BatchOutcome>; failures: readonly BatchFailedError[] }> {
  const failures: BatchFailedError[] = [];
  const answered = await Promise.all(
    batches.map((items, index) =>
      runBatch({
        endpoint: endpointOf(items, folder),
        items,
        directory: join(folder, `part-${index + 1}`),
        random,
        retry: file.retry,
        onStatus: (status) =>
          context.onNote(`batch ${index + 1} of ${batches.length}, ${items.length} requests: ${status}`),
        pollMs: mode.pollMs,
        signal: context.signal,
      }).catch((error) => {
        if (!(error instanceof BatchFailedError)) throw error;
        failures.push(error);
        return new Map(items.map(({ customId }) => [customId, { problem: error.message }]));
      }),
    ),
  );
  return { outcomes: new Map(answered.flatMap((outcomes) => [...outcomes])), failures };
}

const requestSchema = z.looseObject({ custom_id: z.string() });

/** The ids of each batch in the folder, in the order of its requests. */
function handedInBefore(folder: string): string[][] {
  const batches: string[][] = [];
  for (;;) {
    const path = join(folder, `part-${batches.length + 1}`, 'requests.jsonl');
    if (!existsSync(path)) return batches;
    batches.push(readJsonLines(path, requestSchema).map((line) => line.custom_id));
  }
}

function endpointOf(items: readonly BatchItem[], folder: string): Endpoint {
  if (items.length === 0)
    throw new InputError(
      `${folder} holds a batch of which nothing belongs to these threads; judge the threads it was made for, or delete it`,
    );
  return items[0].request.endpoint;
}

function refuseDebates({ detector, path }: DetectorFile): void {
  if (detector.name === 'single-prompt' && detector.samples === 1) return;
  const why =
    detector.name === 'single-prompt'
      ? `asks ${detector.samples} times for each judgement`
      : 'asks one model after the other, each about what the others said';
  throw new InputError(
    `${path}: ${detector.name} ${why}, and a batch answers within a day: leave --batch out, or use single-prompt with one sample`,
  );
}

/** @throws BudgetSpentError if the batch could cost more than the budget */
function checkedCosts(
  { limits, store, file }: JudgeByBatchOptions,
  asking: ReturnType<typeof collectingService>,
): CountedSpending {
  for (const { request } of asking.items()) checkPrices({ limits, endpoint: request.endpoint });
  const most = asking.estimates
    .rows()
    .map(({ inputTokens, outputTokensAtMost, costAtMost }) => {
      return { requests: 0, tokens: inputTokens + outputTokensAtMost, money: costAtMost };
    })
    .reduce(addedSpending, { ...nothingSpent, requests: asking.items().length });
  const spent = store.ledgers.list().find(({ name }) => name === file.name) ?? nothingSpent;
  for (const unit of ['requests', 'tokens', 'money'] as const) {
    const limit = limits[unit];
    const inWords = (amount: number) =>
      unit === 'money' ? `${amount.toPrecision(4)} of money` : `${Math.ceil(amount)} ${unit}`;
    if (limit !== null && spent[unit] + most[unit] > limit)
      throw new BudgetSpentError(
        `the batch may take ${inWords(most[unit])}, but the budget allows ${limit}` +
          `${spent[unit] > 0 ? ` and ${inWords(spent[unit])} are spent or reserved` : ''}; nothing was sent: raise the ` +
          'budget, or judge fewer prefixes (--max-posts, --schedule)',
      );
  }
  return most;
}

/** Records each call once and answers with an invented one. */
function collectingService() {
  const estimates = new DryRunChatService({ isBatch: true });
  const requests = new Map<string, ChatRequest>();
  return {
    estimates,
    chat(request: ChatRequest) {
      // The signal belongs to a judgement that is over by the time the batch is sent.
      const { signal: _, ...call } = request;
      requests.set(idOf(request), call);
      return estimates.chat(request);
    },
    items(ids: Iterable<string> = requests.keys()): BatchItem[] {
      return [...ids].flatMap((customId) => {
        const request = requests.get(customId);
        return request === undefined ? [] : [{ customId, request }];
      });
    },
  };
}

/** Answers with what a batch brought, and counts it. */
function replayingService(outcomes: ReadonlyMap<string, BatchOutcome>) {
  const tally = new UsageTally();
  return {
    async chat(request: ChatRequest) {
      const outcome = outcomes.get(idOf(request));
      if (outcome === undefined)
        throw new CannotAskError(
          'it was not in the batch that was collected; give the same command again for another one',
        );
      const { endpoint } = request;
      tally.addRequest(endpoint);
      if ('problem' in outcome) throw new ProviderError(`endpoint ${endpoint.name}, in the batch: ${outcome.problem}`);
      const { usage: tokens, response } = outcome.answer;
      const { model } = response ?? {};
      tally.addTokens({ endpoint, tokens, isEstimated: false, isAnswer: true, model, isBatch: true });
      return outcome.answer;
    },
    usage: () => tally.rows(),
    spending: (): CountedSpending =>
      tally
        .rows()
        .map(({ requests, inputTokens, outputTokens, cost }) => {
          return { requests, tokens: inputTokens + outputTokens, money: cost };
        })
        .reduce(addedSpending, nothingSpent),
  };
}

/** A hash of the call, equal in every process. */
function idOf(request: ChatRequest): string {
  const body = completionBody({ request, form: batchForm(request) });
  return sha256({ baseURL: request.endpoint.baseURL, body, sampleIndex: request.sampleIndex ?? 0 });
}

function freePath(path: string): string {
  for (let number = 1; ; number++) if (!existsSync(`${path}-${number}`)) return `${path}-${number}`;
}
