import { createReadStream } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type OpenAI from 'openai';
import { z } from 'zod';
import { ProviderError } from '../../../src/errors.ts';
import type { Random } from '../../../src/tensor/random.ts';
import { apiKeyOf, type Environment, withoutKey } from '../api-key.ts';
import type { Endpoint } from '../endpoint.ts';
import { endpointClient } from '../endpoint-client.ts';
import { endpointSteps, type TryStep } from '../endpoint-steps.ts';
import type { retrySchema } from '../retry.ts';
import type { FineTuningFile } from './fine-tuning-file.ts';
import {
  type FineTuningState,
  fineTuningStatePath,
  readFineTuningState,
  writeFineTuningState,
} from './fine-tuning-state.ts';

const ENDED = ['succeeded', 'failed', 'cancelled'];

export interface FineTuneOptions {
  /** Its model is the one that is tuned. */
  endpoint: Endpoint;
  file: FineTuningFile;
  /** Null: the endpoint's choice. */
  epochs?: number | null;
  /** Draws the jitter of waiting times. */
  random: Random;
  pollMs?: number;
  retry?: z.input<typeof retrySchema>;
  onStatus?: (status: string) => void;
  /** Aborting stops waiting; the job goes on at the endpoint and the next run finds it. */
  signal?: AbortSignal;
  env?: Environment;
}

const fileSchema = z.object({ id: z.string() });
const jobSchema = z.object({
  id: z.string(),
  status: z.string(),
  fine_tuned_model: z.string().nullish(),
  // Some endpoints send an empty object while all is well.
  error: z.object({ message: z.string().nullish() }).nullish(),
});
type Job = z.infer<typeof jobSchema>;

/**
 * Hands the file in, creates a job, follows it to its end and returns the name of the new model. What was begun earlier
 * for the same file, model and epochs is gone on with, and one that has ended is not asked for again.
 */
export async function fineTune(options: FineTuneOptions): Promise<string> {
  const { endpoint, file, epochs = null, random, pollMs = 30_000, retry = {}, onStatus, signal = null } = options;
  const { env = process.env } = options;
  const { baseURL, model } = endpoint;
  const task = { file, baseURL, model, epochs };
  const statePath = fineTuningStatePath(task);
  let state = readFineTuningState(task);
  if (state.fineTunedModel !== null) return state.fineTunedModel;
  const advance = (change: Partial<FineTuningState>) => {
    state = { ...state, ...change };
    writeFineTuningState({ path: statePath, state });
  };
  const client = endpointClient({ endpoint, env });
  const tried = endpointSteps({
    endpoint,
    random,
    retry,
    signal,
    env,
    advice: ({ kind, said }) => {
      if (kind === 'not-found')
        return (
          `does not have it: ${said}; if it has no fine-tuning, use in-context tuning or take the file elsewhere ` +
          `(createJob: false); if the job is gone, delete ${statePath} to create it anew`
        );
      if (kind === 'bad-request')
        return (
          `refused to fine-tune model ${endpoint.model}: ${said}; check that this model can be fine-tuned there, and ` +
          'what the file must be like'
        );
      return null;
    },
  });

  const fileId = state.fileId ?? (await upload({ client, tried, file }));
  if (state.fileId === null) advance({ fileId });
  const jobId = state.jobId ?? (await createJob({ client, tried, fileId, model, epochs })).id;
  if (state.jobId === null) advance({ jobId });
  for (;;) {
    const job = await tried(async (request) => jobSchema.parse(await client.fineTuning.jobs.retrieve(jobId, request)));
    onStatus?.(job.status);
    const fineTunedModel = job.status === 'succeeded' ? (job.fine_tuned_model ?? null) : null;
    advance({ status: job.status, fineTunedModel });
    if (fineTunedModel !== null) return fineTunedModel;
    if (ENDED.includes(job.status)) throw failedJob({ job, endpoint, env, statePath });
    await delay(pollMs, undefined, signal ? { signal } : {}).catch((error: unknown) => {
      signal?.throwIfAborted();
      throw error;
    });
  }
}

async function upload(options: { client: OpenAI; tried: TryStep; file: FineTuningFile }): Promise<string> {
  const { client, tried, file } = options;
  const uploaded = await tried(async (request) => {
    const content = { file: createReadStream(file.path), purpose: 'fine-tune' } as const;
    return fileSchema.parse(await client.files.create(content, request));
  });
  return uploaded.id;
}

/** Looks first whether an earlier attempt came through whose answer was lost: two jobs would be paid for twice. */
function createJob(options: {
  client: OpenAI;
  tried: TryStep;
  fileId: string;
  model: string;
  epochs: number | null;
}): Promise<Job> {
  const { client, tried, fileId, model, epochs } = options;
  return tried(async (request) => {
    const latest = await client.fineTuning.jobs.list({ limit: 100 }, request);
    const earlier = latest.data.find((job) => job.training_file === fileId);
    // The older place of the hyperparameters, which every compatible endpoint knows.
    const hyperparameters = epochs === null ? {} : { hyperparameters: { n_epochs: epochs } };
    return jobSchema.parse(
      earlier ?? (await client.fineTuning.jobs.create({ model, training_file: fileId, ...hyperparameters }, request)),
    );
  });
}

function failedJob(options: { job: Job; endpoint: Endpoint; env: Environment; statePath: string }): ProviderError {
  const { job, endpoint, env, statePath } = options;
  const reason =
    job.error?.message || (job.status === 'succeeded' ? 'it names no fine-tuned model' : 'no reason given');
  const said = withoutKey({ text: reason, key: apiKeyOf({ endpoint, env }), endpoint });
  return new ProviderError(
    `endpoint ${endpoint.name} (${endpoint.baseURL}): fine-tuning job ${job.id} of model ${endpoint.model} ended as ` +
      `${job.status}: ${said}; mend the cause and delete ${statePath} to create the job anew`,
  );
}
