import { basename } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Job, Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import type { TrialTask } from '../swept-kind.ts';
import type { RunGroup, TrialOutcome } from '../trial-pool.ts';
import { keyPrefix, queueName } from './connection.ts';
import { offerFiles } from './files-by-hash.ts';
import { dropParcel, fetchParcel, progressOf, sendParcel } from './run-parcel.ts';
import { jobName, jobOutcomeSchema, jobVersion, type TrialJob } from './trial-job.ts';

export interface QueueTrials {
  readonly run: RunGroup;
  close(): Promise<void>;
}

const nowhere: ReadonlyMap<string, string> = new Map();

/**
 * Runs trials with whatever workers there are. Only this process writes the folder of the sweep: it fetches the run of each
 * trial that has ended. A trial that the queue has lost (Redis was killed and had not saved) is put there again.
 */
export function queueTrials(options: {
  redis: Redis;
  /** SHA-256 of what the trials read, by path. */
  fileHashes: Readonly<Record<string, string>>;
  filesOf: (task: TrialTask) => readonly string[];
  signal: AbortSignal;
  pollMs: number;
}): QueueTrials {
  const { redis, fileHashes, filesOf, signal, pollMs } = options;
  const queue = new Queue(queueName, { connection: redis, prefix: keyPrefix });

  async function add(job: TrialJob, { jobId, directory }: { jobId: string; directory: string }): Promise<void> {
    await offerFiles(redis, job.files);
    // What an earlier sweep here has come to goes with the trial.
    if (progressOf(directory) !== null) await sendParcel(redis, { job: job.id, directory, places: nowhere });
    await queue.add('trial', job, { jobId });
  }

  async function run(task: TrialTask): Promise<TrialOutcome> {
    const { directory, runs: _, ...told } = task;
    const files = filesOf(task).map((path) => ({ path, sha256: fileHashes[path] }));
    const id = jobName({ id: basename(directory), files });
    const job: TrialJob = { version: jobVersion, task: told, id, files };
    const jobId = `${id}-${task.pauseAt ?? 'end'}`;
    // The end of an earlier attempt, such as a failure that was mended since.
    await removeEnded(await queue.getJob(jobId));
    while (!signal.aborted) {
      const queued: Job | undefined = await queue.getJob(jobId);
      const state = queued === undefined ? null : await queued.getState();
      if (queued === undefined || state === 'unknown') await add(job, { jobId, directory });
      else if (state === 'failed')
        return endOf(queued, { how: 'failed', severity: 3, message: queued.failedReason ?? 'its worker failed' });
      else if (state === 'completed') {
        const outcome = jobOutcomeSchema.parse(queued.returnvalue);
        if (outcome.how === 'failed') return endOf(queued, outcome);
        if (await fetchParcel(redis, { job: id, directory, places: nowhere })) {
          await dropParcel(redis, id);
          return endOf(queued, outcome);
        }
        // The answer is there and the run is not: the queue has lost it.
        await queued.remove();
      }
      await delay(pollMs, undefined, { signal }).catch(() => {});
    }
    return { how: 'interrupted' };
  }

  return { run: (tasks) => Promise.all(tasks.map(run)), close: () => queue.close() };
}

async function endOf(job: Job, outcome: TrialOutcome): Promise<TrialOutcome> {
  await job.remove();
  return outcome;
}

async function removeEnded(job: Job | undefined): Promise<void> {
  if (job === undefined) return;
  const state = await job.getState();
  if (state === 'failed') await job.remove();
}
