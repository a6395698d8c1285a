import { createReadStream, existsSync } from 'node:fs';
import type OpenAI from 'openai';
import { z } from 'zod';
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

interface RequestOptions {
  readonly signal: AbortSignal;
  readonly timeout: number;
}

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

const stateSchema = z.looseObject({
  formatVersion: z.literal(1),
  baseURL: z.string(),
  fileId: z.string().nullable(),
  jobId: z.string().nullable(),
  job: z.unknown().describe('what the endpoint said of it last'),
});

/** The progress of a job, written after each step, so that the next run resumes there and nothing is paid for twice. */
type JobState = z.infer<typeof stateSchema>;

/** A job that continues at an endpoint without a waiting process: a batch or a fine-tuning. */
export interface EndpointJob<Job, Body> {
  readonly file: { readonly path: string; readonly purpose: 'batch' | 'fine-tune' };
  /** Writes the file, before it is uploaded. */
  readonly write?: () => void;
  readonly statePath: string;
  /** Tells this job from others. It is part of the state. */
  readonly subject: Readonly<Record<string, string | number | null>>;
  /** The remedy for a damaged state. */
  readonly remedy: string;
  /** The message for a state of another job. */
  readonly describeOther: (state: JobState) => string;
  readonly resource: (client: OpenAI) => {
    list(query: { limit: number }, options: RequestOptions): PromiseLike<{ readonly data: readonly unknown[] }>;
    create(body: Body, options: RequestOptions): PromiseLike<unknown>;
    retrieve(id: string, options: RequestOptions): PromiseLike<unknown>;
  };
  readonly body: (fileId: string) => Body;
  /** The field of a job that names its file. */
  readonly fileField: string;
  readonly schema: z.ZodType<Job>;
  /** The statuses of a job that has ended. */
  readonly ended: readonly string[];
  /** The user's remedy for a kind of failure, after "endpoint x"; null for that of any call. */
  readonly advice: (failure: { kind: CallFailure['kind']; message: string }) => string | null;
}

const idSchema = z.object({ id: z.string() });
const fieldsSchema = z.record(z.string(), z.unknown());

/**
 * Uploads a job's file, creates the job and follows it to its end. An earlier run's job is continued, and one that has
 * ended is not asked for again.
 * @throws InputError if the state is another job's
 */
export async function endedJob<Job extends { readonly id: string; readonly status: string }, Body>(
  options: EndpointJobOptions,
  of: EndpointJob<Job, Body>,
) {
  const { endpoint, random, pollMs = 30_000, onStatus, signal = null, env = process.env } = options;
  const policy = retrySchema.parse(options.retry ?? {});
  const secrets = secretsOf({ endpoint, env });
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
      const advised = of.advice({ kind: failure.kind, message: withoutSecrets(failure.message, secrets) });
      if (advised !== null) throw new ProviderError(`endpoint ${endpoint.name} (${endpoint.baseURL}) ${advised}`);
      throw providerErrorOf({ failure, attempts, endpoint, env, maxWaitMs: policy.maxWaitMs });
    }
  }

  let state = readState(of, endpoint);
  const advance = (change: Partial<JobState>) => {
    state = { ...state, ...change };
    writeJsonFile(of.statePath, state);
  };
  let job = of.schema.safeParse(state.job).data;
  if (job === undefined || !of.ended.includes(job.status)) {
    if (state.fileId === null) of.write?.();
    const fileId = state.fileId ?? (await tried((client, request) => upload(client, of.file, request)));
    if (state.fileId === null) advance({ fileId });
    const jobId = state.jobId ?? (await tried((client, request) => create(client, { of, fileId }, request)));
    if (state.jobId === null) advance({ jobId });
    const look = () =>
      tried(async (client, request) => of.schema.parse(await of.resource(client).retrieve(jobId, request)));
    for (job = await look(); ; job = await look()) {
      onStatus?.(job.status);
      advance({ job });
      if (of.ended.includes(job.status)) break;
      await sleep(pollMs, signal);
    }
  }
  return {
    job,
    download: (id: string) => tried(async (client, request) => (await client.files.content(id, request)).text()),
    /** Masks keys that a text of the endpoint quotes. */
    withoutSecrets: (text: string) => withoutSecrets(text, secrets),
  };
}

async function upload(
  client: OpenAI,
  { path, purpose }: EndpointJob<unknown, unknown>['file'],
  request: RequestOptions,
): Promise<string> {
  const file = createReadStream(path);
  return idSchema.parse(await client.files.create({ file, purpose }, request)).id;
}

/** Looks first for an earlier job whose response was lost, because a second job would be paid for again. */
async function create<Body>(
  client: OpenAI,
  { of, fileId }: { of: EndpointJob<unknown, Body>; fileId: string },
  request: RequestOptions,
): Promise<string> {
  const resource = of.resource(client);
  const { data } = await resource.list({ limit: 100 }, request);
  const earlier = data.find((each) => fieldsSchema.safeParse(each).data?.[of.fileField] === fileId);
  return idSchema.parse(earlier ?? (await resource.create(of.body(fileId), request))).id;
}

/** The state of this job, or a new one. */
function readState(
  {
    statePath,
    subject,
    remedy,
    describeOther,
  }: Pick<EndpointJob<unknown, unknown>, 'statePath' | 'subject' | 'remedy' | 'describeOther'>,
  { baseURL }: Endpoint,
): JobState {
  const fresh = { formatVersion: 1 as const, ...subject, baseURL, fileId: null, jobId: null, job: null };
  if (!existsSync(statePath)) return fresh;
  const state = readJsonFile(statePath, stateSchema, remedy);
  if (state.baseURL !== baseURL || Object.entries(subject).some(([name, value]) => state[name] !== value))
    throw new InputError(describeOther(state));
  return state;
}
