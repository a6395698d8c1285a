import { createReadStream } from 'node:fs';
import type OpenAI from 'openai';
import { z } from 'zod';
import { ProviderError } from '../../../src/errors.ts';
import { sleep } from '../../../src/sleep.ts';
import type { Random } from '../../../src/tensor/random.ts';
import { CallFailure, callFailureOf } from '../call-failure.ts';
import { type Endpoint, secretsOf } from '../endpoint.ts';
import { providerErrorOf } from '../provider-error.ts';
import { type Environment, withoutSecrets } from '../secrets.ts';
import { endpointClient } from './endpoint-client.ts';
import { RetriesEndedError, retrySchema, withRetries } from './retry.ts';

/** The time limit of one step, including the transfer of a whole file. */
const STEP_TIMEOUT_MS = 600_000;

type JobRequest<T> = (request: { signal: AbortSignal; timeout: number }) => Promise<T>;

export interface EndpointJobOptions {
  endpoint: Endpoint;
  /** Draws the jitter of waiting times. */
  random: Random;
  /** Time between two checks of the job. */
  pollMs?: number;
  retry?: z.input<typeof retrySchema>;
  onStatus?: ((status: string) => void) | undefined;
  /** Aborting only ends the waiting: the job continues at the endpoint, and the next run finds it. */
  signal?: AbortSignal;
  env?: Environment;
}

/** A job that continues at an endpoint without a waiting process: a batch or a fine-tuning. */
export interface EndpointJob {
  readonly client: OpenAI;
  /** Runs one step with retries. */
  tried<T>(step: JobRequest<T>): Promise<T>;
  /** Uploads a file and returns its id. */
  upload(path: string, purpose: 'batch' | 'fine-tune'): Promise<string>;
  /** Checks the job until it has one of these statuses, and calls `onLook` after each check. */
  followed<Job extends { readonly status: string }>(
    look: JobRequest<Job>,
    options: { ended: readonly string[]; onLook: (job: Job) => void },
  ): Promise<Job>;
  /** Masks keys that a text of the endpoint quotes. */
  withoutSecrets(text: string): string;
}

const fileSchema = z.object({ id: z.string() });

/** @param advice the user's remedy for a kind of failure, after "endpoint x"; null for that of any call */
export async function endpointJob(
  options: EndpointJobOptions,
  advice: (failure: { kind: CallFailure['kind']; message: string }) => string | null,
): Promise<EndpointJob> {
  const { endpoint, random, pollMs = 30_000, onStatus, signal = null, env = process.env } = options;
  const policy = retrySchema.parse(options.retry ?? {});
  const secrets = secretsOf({ endpoint, env });
  const client = await endpointClient({ endpoint, env });

  async function attempt<T>(step: JobRequest<T>): Promise<T> {
    const timeout = AbortSignal.timeout(STEP_TIMEOUT_MS);
    try {
      return await step({
        signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
        timeout: STEP_TIMEOUT_MS,
      });
    } catch (error) {
      signal?.throwIfAborted();
      if (timeout.aborted) throw new CallFailure({ kind: 'timeout', message: `no end after ${STEP_TIMEOUT_MS} ms` });
      if (error instanceof z.ZodError) throw new CallFailure({ kind: 'malformed', message: z.prettifyError(error) });
      throw (await callFailureOf(error)) ?? error;
    }
  }

  async function tried<T>(step: JobRequest<T>): Promise<T> {
    try {
      return await withRetries({ attempt: () => attempt(step), policy, random, signal });
    } catch (error) {
      if (!(error instanceof RetriesEndedError)) throw error;
      const { failure, attempts } = error;
      const message = withoutSecrets(failure.message, secrets);
      const advised = advice({ kind: failure.kind, message });
      if (advised !== null) throw new ProviderError(`endpoint ${endpoint.name} (${endpoint.baseURL}) ${advised}`);
      throw providerErrorOf({ failure, attempts, endpoint, env, maxWaitMs: policy.maxWaitMs });
    }
  }

  return {
    client,
    tried,
    upload: (path, purpose) =>
      tried(async (request) => {
        const content = { file: createReadStream(path), purpose };
        return fileSchema.parse(await client.files.create(content, request)).id;
      }),
    async followed(look, { ended, onLook }) {
      for (;;) {
        const job = await tried(look);
        onStatus?.(job.status);
        onLook(job);
        if (ended.includes(job.status)) return job;
        await sleep(pollMs, signal);
      }
    },
    withoutSecrets: (text) => withoutSecrets(text, secrets),
  };
}
