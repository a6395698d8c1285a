import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { makeFolder, writeFileAtomically } from '../../../src/atomic-file.ts';
import { InputError, ProviderError } from '../../../src/errors.ts';
import { readJsonFile, writeJsonFile } from '../../../src/json-file.ts';
import type { ChatMessage } from '../chat.ts';
import type { Endpoint } from '../endpoint.ts';
import { type EndpointJob, type EndpointJobOptions, endpointJob } from '../sending/endpoint-job.ts';

const ENDED = ['succeeded', 'failed', 'cancelled'];

export interface FineTuneOptions extends EndpointJobOptions {
  /** The endpoint with the base model. */
  endpoint: Endpoint;
  file: FineTuningFile;
  /** The number of epochs; null lets the endpoint choose. */
  epochs?: number | null;
}

const jobSchema = z.object({
  id: z.string(),
  status: z.string(),
  fine_tuned_model: z.string().nullish(),
  // Some endpoints send an empty object without an error.
  error: z.object({ message: z.string().nullish() }).nullish(),
});
type Job = z.infer<typeof jobSchema>;

/**
 * Uploads the file, creates a job, follows it to its end and returns the name of the new model. An earlier job for the
 * same file, model and epochs is continued, and a finished one is not repeated.
 * @throws ProviderError if the job failed
 */
export async function fineTune(options: FineTuneOptions): Promise<string> {
  const { endpoint, file, epochs = null } = options;
  const { baseURL, model } = endpoint;
  const job = { file, baseURL, model, epochs };
  const statePath = fineTuningStatePath(job);
  let state = readFineTuningState(job);
  if (state.fineTunedModel !== null) return state.fineTunedModel;
  const advance = (change: Partial<FineTuningState>) => {
    state = { ...state, ...change };
    writeJsonFile(statePath, state);
  };
  const at = await endpointJob(options, ({ kind, message }) => {
    if (kind === 'not-found')
      return (
        `does not have it: ${message}; if it has no fine-tuning, use in-context tuning or take the file elsewhere ` +
        `(createJob: false); if the job is gone, delete ${statePath} to create it again`
      );
    if (kind === 'bad-request')
      return (
        `refused to fine-tune model ${endpoint.model}: ${message}; check that this model can be fine-tuned there, and ` +
        'what the file must be like'
      );
    return null;
  });

  const fileId = state.fileId ?? (await at.upload(file.path, 'fine-tune'));
  if (state.fileId === null) advance({ fileId });
  const jobId = state.jobId ?? (await createJob(at, { fileId, model, epochs })).id;
  if (state.jobId === null) advance({ jobId });
  const modelOf = ({ status, fine_tuned_model = null }: Job) => (status === 'succeeded' ? fine_tuned_model : null);
  const ended = await at.followed(
    async (request) => jobSchema.parse(await at.client.fineTuning.jobs.retrieve(jobId, request)),
    { ended: ENDED, onLook: (job) => advance({ status: job.status, fineTunedModel: modelOf(job) }) },
  );
  const tuned = modelOf(ended);
  if (tuned !== null) return tuned;
  const { error, status } = ended;
  const reason = error?.message || (status === 'succeeded' ? 'it names no fine-tuned model' : 'no reason given');
  throw new ProviderError(
    `endpoint ${endpoint.name} (${baseURL}): fine-tuning job ${ended.id} of model ${model} ended as ${status}: ` +
      `${at.withoutSecrets(reason)}; fix the cause and delete ${statePath} to create the job again`,
  );
}

/** Looks first for an earlier job whose response was lost, because a second job would be paid for again. */
function createJob(
  { client, tried }: EndpointJob,
  { fileId, model, epochs }: { fileId: string; model: string; epochs: number | null },
): Promise<Job> {
  return tried(async (request) => {
    const latest = await client.fineTuning.jobs.list({ limit: 100 }, request);
    const earlier = latest.data.find((job) => job.training_file === fileId);
    // The older field for hyperparameters, which every compatible endpoint understands.
    const hyperparameters = epochs === null ? {} : { hyperparameters: { n_epochs: epochs } };
    return jobSchema.parse(
      earlier ?? (await client.fineTuning.jobs.create({ model, training_file: fileId, ...hyperparameters }, request)),
    );
  });
}

export interface FineTuningFile {
  readonly path: string;
  /** SHA-256 of the content, in hexadecimal. */
  readonly hash: string;
}

/**
 * Writes conversations for fine-tuning chat models: one `{"messages": […]}` per line, each ending with the answer to
 * learn. The file name contains the hash, so the same examples always give the same file.
 */
export function writeFineTuningFile(options: {
  directory: string;
  /** The first word of the file name. */
  name: string;
  conversations: readonly (readonly ChatMessage[])[];
}): FineTuningFile {
  const { directory, name, conversations } = options;
  const lines = conversations.map((messages) =>
    JSON.stringify({ messages: messages.map(({ role, content }) => ({ role, content })) }),
  );
  const text = lines.map((line) => `${line}\n`).join('');
  const hash = createHash('sha256').update(text).digest('hex');
  const path = join(directory, `${name}-${hash.slice(0, 16)}.jsonl`);
  makeFolder(directory);
  if (!existsSync(path)) writeFileAtomically(path, text);
  return { path, hash };
}

const fineTuningStateSchema = z.strictObject({
  formatVersion: z.literal(1),
  fileHash: z.string(),
  baseURL: z.string(),
  /** The base model. */
  model: z.string(),
  epochs: z.number().nullable(),
  fileId: z.string().nullable(),
  jobId: z.string().nullable(),
  /** The status that the endpoint reported last. */
  status: z.string().nullable(),
  fineTunedModel: z.string().nullable(),
});

/** The progress of a fine-tuning, written after each step, so that nothing is paid for twice. */
type FineTuningState = z.infer<typeof fineTuningStateSchema>;

interface FineTuningJob {
  readonly file: FineTuningFile;
  readonly baseURL: string;
  readonly model: string;
  readonly epochs: number | null;
}

/** The path of the state beside the file: one per base model and number of epochs. */
function fineTuningStatePath({ file, baseURL, model, epochs }: FineTuningJob): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([baseURL, model, epochs]))
    .digest('hex');
  return `${file.path.replace(/\.jsonl$/, '')}-job-${hash.slice(0, 8)}.json`;
}

/** The state of this fine-tuning, or a new one. */
function readFineTuningState(job: FineTuningJob): FineTuningState {
  const { file, baseURL, model, epochs } = job;
  const path = fineTuningStatePath(job);
  const fresh = { formatVersion: 1 as const, fileHash: file.hash, baseURL, model, epochs };
  if (!existsSync(path)) return { ...fresh, fileId: null, jobId: null, status: null, fineTunedModel: null };
  const remedy = 'check whether the endpoint has the job, and delete the file to create the job again';
  const state = readJsonFile(path, fineTuningStateSchema, remedy);
  if (state.fileHash !== file.hash || state.baseURL !== baseURL || state.model !== model || state.epochs !== epochs)
    throw new InputError(
      `${path} is the state of another fine-tuning (of ${state.model} at ${state.baseURL}); move it out of the way`,
    );
  return state;
}
