import { createHash } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { makeFolder, writeFileAtomically } from '../../../src/atomic-file.ts';
import { InputError, ProviderError } from '../../../src/errors.ts';
import { readJsonFile, writeJsonFile } from '../../../src/json-file.ts';
import { batchForm, completionBody } from '../answers/request-form.ts';
import type { Endpoint } from '../endpoint.ts';
import { type EndpointJob, type EndpointJobOptions, endpointJob } from '../sending/endpoint-job.ts';
import { type BatchItem, type BatchOutcome, batchOutcomes } from './batch-outcome.ts';

/** OpenAI's limits for one batch. */
const MOST_REQUESTS = 50_000;
const MOST_BYTES = 200_000_000;
const ENDED = ['completed', 'failed', 'expired', 'cancelled'];

export interface BatchOptions extends EndpointJobOptions {
  items: readonly BatchItem[];
  /** The folder of requests, state and results, created if absent. The same folder resumes the batch. */
  directory: string;
}

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
 * @throws InputError if the folder holds another batch, BatchFailedError if the endpoint answered nothing of it; the
 *   next call submits it again
 */
export async function runBatch(options: BatchOptions): Promise<Map<string, BatchOutcome>> {
  const { endpoint, items, directory } = options;
  const text = batchText({ endpoint, items });
  const requestsHash = createHash('sha256').update(text).digest('hex');
  let state = readBatchState({ directory, requestsHash, baseURL: endpoint.baseURL });
  const advance = (change: Partial<BatchState>) => {
    state = { ...state, ...change };
    writeJsonFile(batchStatePath(directory), state);
  };
  const job = await endpointJob(options, ({ kind, message }) =>
    kind === 'not-found'
      ? `does not have it: ${message}; if it has no batches, ask without them; if the batch is gone, delete ` +
        `${batchStatePath(directory)} to submit it again`
      : null,
  );

  makeFolder(directory);
  if (state.inputFileId === null) {
    writeFileAtomically(requestsPath(directory), text);
    advance({ inputFileId: await job.upload(requestsPath(directory), 'batch') });
  }
  if (state.batchId === null && state.inputFileId !== null)
    advance({ batchId: (await submit(job, state.inputFileId)).id });
  const batchId = state.batchId ?? '';
  const batch = await job.followed(
    async ({ signal }) => batchSchema.parse(await job.client.batches.retrieve(batchId, { signal })),
    { ended: ENDED, onLook: ({ status }) => advance({ status }) },
  );
  if (batch.status === 'failed') {
    rmSync(batchStatePath(directory));
    throw failedBatch({ batch, endpoint, job });
  }
  return batchOutcomes({ items, lines: await download({ job, batch, directory }), status: batch.status });
}

/** Writes a batch as JSON Lines, one request per line. @throws InputError if ids repeat or the batch is too large */
export function batchText({ endpoint, items }: { endpoint: Endpoint; items: readonly BatchItem[] }): string {
  const ids = new Set<string>();
  for (const { customId } of items) {
    if (ids.has(customId))
      throw new InputError(`two requests of a batch have the custom id ${JSON.stringify(customId)}; make them unique`);
    ids.add(customId);
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

/** Looks first for an earlier submission whose response was lost, because a second batch would be paid for again. */
function submit({ client, tried }: EndpointJob, inputFileId: string): Promise<Batch> {
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

/** Saves the files beside the requests, because endpoints delete theirs after some weeks. */
async function download(options: { job: EndpointJob; batch: Batch; directory: string }): Promise<string[]> {
  const { job, batch, directory } = options;
  const { client, tried } = job;
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

/** The endpoint answered nothing of a batch and charges nothing. */
export class BatchFailedError extends ProviderError {}

function failedBatch({
  batch,
  endpoint,
  job,
}: {
  batch: Batch;
  endpoint: Endpoint;
  job: EndpointJob;
}): BatchFailedError {
  const reasons = batch.errors?.data?.map(({ message }) => message).join('; ') || 'no reason given';
  const text = job.withoutSecrets(reasons);
  return new BatchFailedError(
    `endpoint ${endpoint.name} (${endpoint.baseURL}) failed batch ${batch.id}: ${text}; it costs nothing: fix what that names, then ` +
      'give the same command again to submit it again',
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
  /** The status that the endpoint reported last. */
  status: z.string().nullable(),
});

/** The progress of a batch, written after each step, so that the next run resumes there. */
type BatchState = z.infer<typeof batchStateSchema>;

function batchStatePath(directory: string): string {
  return join(directory, 'batch-state.json');
}

/** The state of this batch in the folder, or a new one. */
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
