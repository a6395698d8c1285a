import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { join } from 'node:path';
import type OpenAI from 'openai';
import { z } from 'zod';
import { makeFolder, writeFileAtomically } from '../../../src/atomic-file.ts';
import { InputError, ProviderError } from '../../../src/errors.ts';
import { readJsonFile, writeJsonFile } from '../../../src/json-file.ts';
import { sleep } from '../../../src/sleep.ts';
import type { Random } from '../../../src/tensor/random.ts';
import { batchForm, completionBody } from '../answers/request-form.ts';
import { type Endpoint, secretsOf } from '../endpoint.ts';
import { type Environment, withoutSecrets } from '../secrets.ts';
import { endpointClient, endpointSteps, type TryStep } from '../sending/endpoint-client.ts';
import type { retrySchema } from '../sending/retry.ts';
import { type BatchItem, type BatchOutcome, batchOutcomes } from './batch-outcome.ts';

/** OpenAI's limits for one batch. */
const MOST_REQUESTS = 50_000;
const MOST_BYTES = 200_000_000;
const ENDED = ['completed', 'failed', 'expired', 'cancelled'];

export interface BatchOptions {
  endpoint: Endpoint;
  items: readonly BatchItem[];
  /** Holds the requests, the state and the results; created when absent. The same folder resumes the batch. */
  directory: string;
  /** Draws the jitter of waiting times. */
  random: Random;
  pollMs?: number | undefined;
  retry?: z.input<typeof retrySchema> | undefined;
  onStatus?: ((status: string) => void) | undefined;
  /** Aborting only stops the waiting: the batch goes on at the endpoint, and the next run collects it. */
  signal?: AbortSignal | undefined;
  env?: Environment | undefined;
}

interface Session {
  readonly client: OpenAI;
  readonly directory: string;
  readonly tried: TryStep;
}

const fileSchema = z.object({ id: z.string() });
const batchSchema = z.object({
  id: z.string(),
  status: z.string(),
  input_file_id: z.string(),
  output_file_id: z.string().nullish(),
  error_file_id: z.string().nullish(),
  errors: z.object({ data: z.array(z.object({ message: z.string() })).nullish() }).nullish(),
});
type Batch = z.infer<typeof batchSchema>;

/**
 * Writes the requests, submits them, waits and collects the answers; usually for half the price and within a day.
 * @throws InputError where the folder holds another batch, ProviderError where the endpoint failed the batch
 */
export async function runBatch(options: BatchOptions): Promise<Map<string, BatchOutcome>> {
  const { endpoint, items, directory, pollMs = 30_000, onStatus, signal } = options;
  const text = batchText({ endpoint, items });
  const requestsHash = createHash('sha256').update(text).digest('hex');
  let state = readBatchState({ directory, requestsHash, baseURL: endpoint.baseURL });
  const advance = (change: Partial<BatchState>) => {
    state = { ...state, ...change };
    writeBatchState({ directory, state });
  };
  const session = await sessionOf(options);

  makeFolder(directory);
  if (state.inputFileId === null) {
    writeFileAtomically(requestsPath(directory), text);
    advance({ inputFileId: await upload(session) });
  }
  if (state.batchId === null && state.inputFileId !== null)
    advance({ batchId: (await submit({ session, inputFileId: state.inputFileId })).id });
  const batchId = state.batchId ?? '';
  let batch = await retrieve({ session, batchId });
  for (;;) {
    onStatus?.(batch.status);
    advance({ status: batch.status });
    if (ENDED.includes(batch.status)) break;
    await sleep(pollMs, signal ?? null);
    batch = await retrieve({ session, batchId });
  }
  if (batch.status === 'failed') throw failedBatch({ batch, options });
  return batchOutcomes({ items, lines: await download({ session, batch }), status: batch.status });
}

/**
 * A batch as JSON Lines, one request a line.
 * @throws InputError where ids repeat or the batch is too large
 */
export function batchText(options: { endpoint: Endpoint; items: readonly BatchItem[] }): string {
  const { endpoint, items } = options;
  const seen = new Set<string>();
  for (const { customId } of items) {
    if (seen.has(customId))
      throw new InputError(`two requests of a batch have the custom id ${JSON.stringify(customId)}; make them unique`);
    seen.add(customId);
  }
  const text = items
    .map(({ customId, request }) => {
      const body = completionBody({ request, form: batchForm(request) });
      return `${JSON.stringify({ custom_id: customId, method: 'POST', url: '/v1/chat/completions', body })}\n`;
    })
    .join('');
  const bytes = Buffer.byteLength(text);
  if (items.length === 0 || items.length > MOST_REQUESTS || bytes > MOST_BYTES)
    throw new InputError(
      `a batch for endpoint ${endpoint.name} has ${items.length} requests and ${bytes} bytes; it must have 1 to ` +
        `${MOST_REQUESTS} requests and at most ${MOST_BYTES} bytes: split it`,
    );
  return text;
}

async function sessionOf(options: BatchOptions): Promise<Session> {
  const { endpoint, random, directory, retry = {}, signal = null, env = process.env } = options;
  const tried = endpointSteps({
    endpoint,
    random,
    retry,
    signal,
    env,
    advice: ({ kind, said }) =>
      kind === 'not-found'
        ? `does not have it: ${said}; if it has no batches, ask without them; if the batch is gone, delete ` +
          `${batchStatePath(directory)} to submit it again`
        : null,
  });
  return { client: await endpointClient({ endpoint, env }), directory, tried };
}

async function upload(session: Session): Promise<string> {
  const { client, directory, tried } = session;
  const file = await tried(async (request) => {
    const content = { file: createReadStream(requestsPath(directory)), purpose: 'batch' } as const;
    return fileSchema.parse(await client.files.create(content, request));
  });
  return file.id;
}

/**
 * First looks for an earlier attempt that succeeded but whose response was lost: a second batch would be paid for
 * again.
 */
function submit(options: { session: Session; inputFileId: string }): Promise<Batch> {
  const { session, inputFileId } = options;
  const { client, tried } = session;
  return tried(async ({ signal }) => {
    const latest = await client.batches.list({ limit: 100 }, { signal });
    const earlier = latest.data.find((batch) => batch.input_file_id === inputFileId);
    return batchSchema.parse(
      earlier ??
        (await client.batches.create(
          { input_file_id: inputFileId, endpoint: '/v1/chat/completions', completion_window: '24h' },
          { signal },
        )),
    );
  });
}

function retrieve(options: { session: Session; batchId: string }): Promise<Batch> {
  const { session, batchId } = options;
  return session.tried(async ({ signal }) =>
    batchSchema.parse(await session.client.batches.retrieve(batchId, { signal })),
  );
}

/** Saves the files beside the requests, since endpoints delete theirs after some weeks. */
async function download(options: { session: Session; batch: Batch }): Promise<string[]> {
  const { session, batch } = options;
  const { client, directory, tried } = session;
  const lines: string[] = [];
  for (const [name, id] of [
    ['output.jsonl', batch.output_file_id],
    ['errors.jsonl', batch.error_file_id],
  ] as const) {
    if (!id) continue;
    const text = await tried(async ({ signal }) => (await client.files.content(id, { signal })).text());
    writeFileAtomically(join(directory, name), text);
    lines.push(...text.split('\n').filter((line) => line.trim() !== ''));
  }
  return lines;
}

function failedBatch(options: { batch: Batch; options: BatchOptions }): ProviderError {
  const { batch } = options;
  const { endpoint, directory, env = process.env } = options.options;
  const reasons = batch.errors?.data?.map(({ message }) => message).join('; ') || 'no reason given';
  const text = withoutSecrets(reasons, secretsOf({ endpoint, env }));
  return new ProviderError(
    `endpoint ${endpoint.name} (${endpoint.baseURL}) failed batch ${batch.id}: ${text}; fix the requests and delete ` +
      `${batchStatePath(directory)} to submit it again`,
  );
}

function requestsPath(directory: string): string {
  return join(directory, 'requests.jsonl');
}

const batchStateSchema = z.strictObject({
  formatVersion: z.literal(1),
  /** SHA-256 of the requests, so that a folder is never resumed with different ones. */
  requestsHash: z.string(),
  baseURL: z.string(),
  inputFileId: z.string().nullable(),
  batchId: z.string().nullable(),
  /** As last reported by the endpoint. */
  status: z.string().nullable(),
});

/** How far a batch has got. Written after each step, so that the next run goes on from there. */
type BatchState = z.infer<typeof batchStateSchema>;

function batchStatePath(directory: string): string {
  return join(directory, 'batch-state.json');
}

/** The state of this batch in the folder, or a fresh one. */
function readBatchState(options: { directory: string; requestsHash: string; baseURL: string }): BatchState {
  const { directory, requestsHash, baseURL } = options;
  const path = batchStatePath(directory);
  if (!existsSync(path))
    return { formatVersion: 1, requestsHash, baseURL, inputFileId: null, batchId: null, status: null };
  const state = readJsonFile(path, batchStateSchema, 'delete it to submit the batch again');
  if (state.requestsHash !== requestsHash || state.baseURL !== baseURL)
    throw new InputError(
      `${directory} holds batch ${state.batchId ?? '(not yet submitted)'} of other requests at ${state.baseURL}; ` +
        'give this batch a folder of its own, or delete the other one',
    );
  return state;
}

function writeBatchState(options: { directory: string; state: BatchState }): void {
  writeJsonFile(batchStatePath(options.directory), options.state);
}
