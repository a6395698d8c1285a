import { createReadStream, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type OpenAI from 'openai';
import { z } from 'zod';
import { makeFolder, writeFileAtomically } from '../../../src/atomic-file.ts';
import { sha256OfText } from '../../../src/content-hash.ts';
import { InputError, ProviderError } from '../../../src/errors.ts';
import { readJsonFile, writeJsonFile } from '../../../src/json-file.ts';
import { sleep } from '../../../src/sleep.ts';
import type { Random } from '../../../src/tensor/random.ts';
import { CallFailure } from '../call-failure.ts';
import { type Endpoint, secretsOf } from '../endpoint.ts';
import { providerErrorOf } from '../provider-error.ts';
import { type Environment, withoutSecrets } from '../secrets.ts';
import { endpointClient } from './endpoint-client.ts';
import { RetriesEndedError, retrySchema, withinTime, withRetries } from './retry.ts';

/** The time limit of one step, including the transfer of a whole file. */
const STEP_TIMEOUT_MS = 600_000;
const ENDED = ['completed', 'failed', 'expired', 'cancelled'];

interface RequestOptions {
  readonly signal: AbortSignal;
  readonly timeout: number;
}

export interface BatchJobOptions {
  endpoint: Endpoint;
  /** The folder of requests, state and results, created if absent. The same folder resumes the batch. */
  directory: string;
  /** Draws the jitter of waiting times. */
  random: Random;
  /** Time between two checks of the batch. */
  pollMs?: number;
  retry?: z.input<typeof retrySchema>;
  onStatus?: ((status: string) => void) | undefined;
  /** Aborting only ends the waiting: the batch continues at the endpoint, and the next run finds it. */
  signal?: AbortSignal;
  env?: Environment;
}

const jobSchema = z.object({
  id: z.string(),
  status: z.string(),
  input_file_id: z.string(),
  output_file_id: z.string().nullish(),
  error_file_id: z.string().nullish(),
  errors: z.object({ data: z.array(z.object({ message: z.string() })).nullish() }).nullish(),
});

const stateSchema = z.looseObject({
  formatVersion: z.literal(1),
  requestsHash: z.string(),
  baseURL: z.string(),
  fileId: z.string().nullable(),
  jobId: z.string().nullable(),
  job: z.unknown().describe('what the endpoint said of it last'),
});

/** The progress of a batch, written after each step, so that the next run resumes there and nothing is paid for twice. */
type JobState = z.infer<typeof stateSchema>;

const idSchema = z.object({ id: z.string() });

/** The endpoint answered nothing of a batch and charges nothing. */
export class BatchFailedError extends ProviderError {}

/**
 * Uploads the requests, creates the batch, follows it to its end and downloads its files. An earlier run's batch is
 * continued, and one that has ended is not asked for again.
 * @param text the requests, one per line
 * @throws InputError if the folder holds another batch, BatchFailedError if the endpoint answered nothing of it; the
 *   next call submits it again
 */
export async function endedBatch(text: string, options: BatchJobOptions): Promise<{ status: string; lines: string[] }> {
  const { endpoint, directory, random, pollMs = 30_000, onStatus, signal = null, env = process.env } = options;
  const policy = retrySchema.parse(options.retry ?? {});
  const secrets = secretsOf({ endpoint, env });
  const path = join(directory, 'requests.jsonl');
  const statePath = join(directory, 'batch-state.json');
  let client: Promise<OpenAI> | null = null;

  /** Runs one step with retries. */
  async function tried<T>(step: (client: OpenAI, request: RequestOptions) => Promise<T>): Promise<T> {
    client ??= endpointClient({ endpoint, env });
    const openClient = await client;
    const attempt = async (signal: AbortSignal) => {
      try {
        return await step(openClient, { signal, timeout: STEP_TIMEOUT_MS });
      } catch (error) {
        if (error instanceof z.ZodError) throw new CallFailure({ kind: 'malformed', message: z.prettifyError(error) });
        throw error;
      }
    };
    try {
      return await withRetries({
        attempt: () => withinTime({ timeoutMs: STEP_TIMEOUT_MS, signal, work: attempt }),
        ...{ policy, random, signal },
      });
    } catch (error) {
      if (!(error instanceof RetriesEndedError)) throw error;
      const { failure, attempts } = error;
      if (failure.kind !== 'not-found')
        throw providerErrorOf({ failure, attempts, endpoint, env, maxWaitMs: policy.maxWaitMs });
      throw new ProviderError(
        `endpoint ${endpoint.name} (${endpoint.baseURL}) does not have it: ${withoutSecrets(failure.message, secrets)}; ` +
          `if it has no batches, ask without them; if the batch is gone, delete ${statePath} to submit it again`,
      );
    }
  }

  let state = readState({ directory, statePath, baseURL: endpoint.baseURL, requestsHash: sha256OfText(text) });
  const advance = (change: Partial<JobState>) => {
    state = { ...state, ...change };
    writeJsonFile(statePath, state);
  };
  let job = jobSchema.safeParse(state.job).data;
  if (job === undefined || !ENDED.includes(job.status)) {
    if (state.fileId === null) {
      makeFolder(directory);
      writeFileAtomically(path, text);
      advance({ fileId: await tried((client, request) => upload(client, path, request)) });
    }
    const fileId = state.fileId ?? '';
    if (state.jobId === null) advance({ jobId: await tried((client, request) => create(client, fileId, request)) });
    const jobId = state.jobId ?? '';
    const look = () => tried(async (client, request) => jobSchema.parse(await client.batches.retrieve(jobId, request)));
    for (job = await look(); ; job = await look()) {
      onStatus?.(job.status);
      advance({ job });
      if (ENDED.includes(job.status)) break;
      await sleep(pollMs, signal);
    }
  }
  if (job.status === 'failed') {
    rmSync(statePath);
    const reasons = job.errors?.data?.map(({ message }) => message).join('; ') || 'no reason given';
    throw new BatchFailedError(
      `endpoint ${endpoint.name} (${endpoint.baseURL}) failed batch ${job.id}: ${withoutSecrets(reasons, secrets)}; it ` +
        'costs nothing: fix what that names, then give the same command again to submit it again',
    );
  }
  const lines: string[] = [];
  for (const [name, id] of Object.entries({ 'output.jsonl': job.output_file_id, 'errors.jsonl': job.error_file_id })) {
    if (!id) continue;
    const answers = await tried(async (client, request) => (await client.files.content(id, request)).text());
    // Endpoints delete their files after some weeks.
    writeFileAtomically(join(directory, name), answers);
    lines.push(...answers.split('\n').filter((line) => line.trim() !== ''));
  }
  return { status: job.status, lines };
}

async function upload(client: OpenAI, path: string, request: RequestOptions): Promise<string> {
  return idSchema.parse(await client.files.create({ file: createReadStream(path), purpose: 'batch' }, request)).id;
}

/** Looks first for an earlier batch whose response was lost, because a second one would be paid for again. */
async function create(client: OpenAI, fileId: string, request: RequestOptions): Promise<string> {
  const { data } = await client.batches.list({ limit: 100 }, request);
  const earlier = data.find(({ input_file_id }) => input_file_id === fileId);
  const body = {
    input_file_id: fileId,
    endpoint: '/v1/chat/completions' as const,
    completion_window: '24h' as const,
  };
  return idSchema.parse(earlier ?? (await client.batches.create(body, request))).id;
}

/** The state of this batch, or a new one. A folder is never resumed with different requests. */
function readState(of: { directory: string; statePath: string; baseURL: string; requestsHash: string }): JobState {
  const { directory, statePath, baseURL, requestsHash } = of;
  if (!existsSync(statePath)) return { formatVersion: 1, requestsHash, baseURL, fileId: null, jobId: null, job: null };
  const remedy = 'delete it to submit the batch again, or let the version that submitted it collect it';
  const state = readJsonFile(statePath, stateSchema, remedy);
  if (state.baseURL === baseURL && state.requestsHash === requestsHash) return state;
  throw new InputError(
    `${directory} holds batch ${state.jobId ?? '(not yet submitted)'} of other requests at ${state.baseURL}; give this ` +
      'batch a folder of its own, or delete the other one',
  );
}
