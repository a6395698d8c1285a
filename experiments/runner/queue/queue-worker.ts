import { hostname } from 'node:os';
import { join } from 'node:path';
import { DelayedError, type Job, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { makeFolder } from '../../../src/atomic-file.ts';
import type { BackendName } from '../../../src/tensor/backend-names.ts';
import { severityOf, tellingOnce } from '../../run/failures.ts';
import type { RunTrial, TrialOutcome } from '../../run/trial.ts';
import { keyPrefix, queueName } from './connection.ts';
import { locateFiles, relocated } from './files-by-hash.ts';
import { fetchParcel, progressOf, sendParcel } from './run-parcel.ts';
import { jobMakerSchema, type TrialJob, thisProgram, trialJobSchema } from './trial-job.ts';

export interface WorkerOptions {
  readonly redis: Redis;
  readonly run: RunTrial;
  /** @throws Error where this machine does not have it */
  readonly startBackend: (name: BackendName) => Promise<unknown>;
  readonly jobs: number;
  /** Folder for runs, and for the cache that they share. */
  readonly runs: string;
  /** A worker that was not heard of for so long is lost, and another one takes its trials. */
  readonly lostAfterMs: number;
  /** Ends after so long without a trial; null to wait for ever. */
  readonly idleMs: number | null;
  readonly signal: AbortSignal;
  readonly onNote: (line: string) => void;
}

/** Takes trials from the queue until the signal, or until there was nothing to do for long enough. */
export async function workOnQueue(options: WorkerOptions): Promise<void> {
  const { redis, jobs, lostAfterMs, idleMs, signal, onNote } = options;
  let underWay = 0;
  let onEnded = () => {};
  const onDeclined = tellingOnce(onNote);
  const worker = new Worker(
    queueName,
    async (job, token) => {
      underWay++;
      return work(job, { ...options, token, onDeclined }).finally(() => {
        underWay--;
        onEnded();
      });
    },
    {
      connection: redis,
      prefix: keyPrefix,
      concurrency: jobs,
      lockDuration: lostAfterMs,
      stalledInterval: lostAfterMs,
      // A trial goes on from its last checkpoint, so being lost often costs little.
      maxStalledCount: 1000,
    },
  );
  // A lost lock or connection; what is to be done about either is done already.
  worker.on('error', () => {});
  await new Promise<void>((resolve) => {
    let idle: NodeJS.Timeout | undefined;
    const wait = () => {
      clearTimeout(idle);
      if (idleMs !== null) idle = setTimeout(() => (underWay === 0 ? resolve() : undefined), idleMs);
    };
    onEnded = wait;
    signal.addEventListener('abort', () => resolve(), { once: true });
    wait();
    if (signal.aborted) resolve();
  });
  await worker.close();
}

async function work(
  job: Job,
  { token, onDeclined, ...options }: WorkerOptions & { token: string | undefined; onDeclined: (why: string) => void },
): Promise<TrialOutcome> {
  const { redis, run, runs, onNote } = options;
  const reason = otherProgram(job) ?? (await lackedBackend(trialJobSchema.parse(job.data), options));
  if (reason !== null) {
    const declined = `the worker on ${hostname()} leaves trials to others: ${reason}`;
    onDeclined(declined);
    await job.updateProgress({ declined });
    await job.moveToDelayed(Date.now() + declinedMs, token);
    throw new DelayedError();
  }
  const { trial, id, files } = trialJobSchema.parse(job.data);
  const { label } = trial;
  onNote(`begins ${label}`);
  try {
    makeFolder(join(runs, 'queue'));
    const directory = join(runs, 'queue', id);
    const places = await locateFiles(redis, { files, cache: join(runs, 'cache') });
    const config = z.record(z.string(), z.unknown()).parse(relocated(trial.config, places));
    const parcel = { job: id, directory, places };
    await fetchParcel(redis, parcel);
    const sending = sender(() => sendParcel(redis, parcel), directory);
    const outcome = await run({ ...trial, config, directory, runs }, { onProgress: sending.atCheckpoint });
    await sending.last();
    if (outcome.how === 'failed') {
      onNote(`failed ${label}: ${outcome.message}`);
      return outcome;
    }
    const isInterrupted = outcome.how === 'interrupted';
    if (!(await sendParcel(redis, parcel)) && !isInterrupted)
      throw new Error(`the run ${directory} changed while it was sent`);
    if (isInterrupted) {
      // Another worker may take it at once.
      await job.moveToDelayed(Date.now(), token);
      throw new DelayedError();
    }
    onNote(`${outcome.how} ${label}`);
    return outcome;
  } catch (error) {
    if (error instanceof DelayedError) throw error;
    const message = error instanceof Error ? error.message : String(error);
    onNote(`failed ${label}: ${message}`);
    return { how: 'failed', severity: severityOf(error), message };
  }
}

/** How long a trial that was declined waits for the next worker, which may be the same one. */
const declinedMs = 2000;

/** Why another worker must take the trials, so that all of a sweep are trained by the same sources; null where this one can. */
function otherProgram({ data }: Job): string | null {
  const { program } = jobMakerSchema.parse(data);
  if (program === thisProgram()) return null;
  return `it is Earshot ${thisProgram()}, and the sweep was started by ${program}; install the same on both machines`;
}

/** Why another worker must take the trials, so that all are trained on one backend; null if this one has the backend. */
async function lackedBackend(
  { trial: { backend } }: TrialJob,
  { startBackend }: Pick<WorkerOptions, 'startBackend'>,
): Promise<string | null> {
  if (backend === null) return null;
  try {
    await startBackend(backend);
    return null;
  } catch (error) {
    return `the sweep is trained on ${backend}, which does not start there (${error instanceof Error ? error.message : error}); see \`earshot doctor\`, or start the sweep with --set backend=wasm`;
  }
}

/** Sends the run whenever it has a new checkpoint, one sending at a time. */
function sender(send: () => Promise<boolean>, directory: string) {
  let sent = progressOf(directory) ?? 0;
  let sending: Promise<void> | null = null;
  return {
    atCheckpoint() {
      const now = progressOf(directory) ?? 0;
      if (sending !== null || now <= sent) return;
      sending = send()
        .then((isSent) => {
          if (isSent) sent = now;
        })
        // The next checkpoint, or the end, sends it.
        .catch(() => {})
        .finally(() => {
          sending = null;
        });
    },
    async last() {
      await sending;
    },
  };
}
