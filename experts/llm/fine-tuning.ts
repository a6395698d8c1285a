import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { makeFolder, writeFileAtomically } from '../../src/atomic-file.ts';
import { ProviderError } from '../../src/errors.ts';
import type { ChatMessage } from './chat.ts';
import type { Endpoint } from './endpoint.ts';
import { type EndpointJobOptions, endedJob } from './sending/endpoint-job.ts';

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

/**
 * Uploads the file, creates a job, follows it to its end and returns the name of the new model. An earlier job for the
 * same file, model and epochs is continued, and a finished one is not repeated.
 * @throws ProviderError if the job failed
 */
export async function fineTune(options: FineTuneOptions): Promise<string> {
  const { endpoint, file, epochs = null } = options;
  const { baseURL, model } = endpoint;
  const subject = createHash('sha256')
    .update(JSON.stringify([baseURL, model, epochs]))
    .digest('hex');
  const statePath = `${file.path.replace(/\.jsonl$/, '')}-job-${subject.slice(0, 8)}.json`;
  const { job, withoutSecrets } = await endedJob(options, {
    file: { path: file.path, purpose: 'fine-tune' },
    statePath,
    subject: { fileHash: file.hash, model, epochs },
    remedy: 'check whether the endpoint has the job, and delete the file to create the job again',
    describeOther: (state) =>
      `${statePath} is the state of another fine-tuning (of ${state.model} at ${state.baseURL}); move it out of the way`,
    resource: ({ fineTuning }) => fineTuning.jobs,
    body: (fileId) => ({
      model,
      training_file: fileId,
      // The older field for hyperparameters, which every compatible endpoint understands.
      ...(epochs !== null && { hyperparameters: { n_epochs: epochs } }),
    }),
    fileField: 'training_file',
    schema: jobSchema,
    ended: ENDED,
    advice({ kind, message }) {
      if (kind === 'not-found')
        return (
          `does not have it: ${message}; if it has no fine-tuning, use in-context tuning or take the file elsewhere ` +
          `(createJob: false); if the job is gone, delete ${statePath} to create it again`
        );
      if (kind === 'bad-request')
        return (
          `refused to fine-tune model ${model}: ${message}; check that this model can be fine-tuned there, and what ` +
          'the file must be like'
        );
      return null;
    },
  });
  const { id, status, error, fine_tuned_model } = job;
  if (status === 'succeeded' && fine_tuned_model) return fine_tuned_model;
  const reason = error?.message || (status === 'succeeded' ? 'it names no fine-tuned model' : 'no reason given');
  throw new ProviderError(
    `endpoint ${endpoint.name} (${baseURL}): fine-tuning job ${id} of model ${model} ended as ${status}: ` +
      `${withoutSecrets(reason)}; fix the cause and delete ${statePath} to create the job again`,
  );
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
