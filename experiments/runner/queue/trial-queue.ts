import { type Job, Queue } from 'bullmq';
import { hashesOf } from '../../../src/content-hash.ts';
import { InputError } from '../../../src/errors.ts';
import { sleep } from '../../../src/sleep.ts';
import type { OpenedExperiment } from '../../kinds/experiment-kind.ts';
import { tellingOnce } from '../../run/failures.ts';
import { type Trial, type TrialOutcome, trialOutcomeSchema } from '../../run/trial.ts';
import type { TrialPool } from '../../run/trial-pool.ts';
import { connectQueue, keyPrefix, queueName } from './connection.ts';
import { offerFiles } from './files-by-hash.ts';
import { dropParcel, fetchParcel, progressOf, sendParcel } from './run-parcel.ts';
import { declinedSchema, type TrialJob, thisProgram, trialJobSchema, trialName } from './trial-job.ts';

const nowhere: ReadonlyMap<string, string> = new Map();

/** How often the queue is asked what has ended. */
const pollMs = 500;

/**
 * The queue at an address as what runs the trials of an experiment, with whatever workers there are. Only this process writes the folder
 * of the experiment: it fetches the run of each trial that has ended. Trials that the queue has lost (Redis was killed and had not saved)
 * are put there again.
 * @throws InputError where the trials ask language models
 */
export async function openTrialQueue(
  experiment: OpenedExperiment,
  options: { address: string; signal: AbortSignal; onNote: (line: string) => void },
): Promise<TrialPool> {
  const { address, signal, onNote } = options;
  if (experiment.members.some(({ resolved }) => resolved.asksModels))
    throw new InputError(
      '--queue cannot take trials that ask language models: budgets and answers are kept on one machine. Annotate the threads first, and run them without --queue',
    );
  const queued = await trialQueuing(experiment);
  const redis = await connectQueue(address, { onNote });
  const tellOnce = tellingOnce(onNote);
  const queue = new Queue(queueName, { connection: redis, prefix: keyPrefix });
  // A sweep that is finished already would close it while it asks for the server's version, which ends the process.
  await queue.waitUntilReady();

  async function run(trial: Trial): Promise<TrialOutcome> {
    const { directory } = trial;
    const job = trialJobSchema.parse(queued(trial));
    const { id: jobId } = job;
    // The end of an earlier attempt, such as a failure that was fixed since.
    const failed: Job | undefined = await queue.getJob(jobId);
    if ((await failed?.getState()) === 'failed') await failed?.remove();
    while (!signal.aborted) {
      const earlier: Job | undefined = await queue.getJob(jobId);
      const state = earlier === undefined ? null : await earlier.getState();
      if (earlier === undefined || state === 'unknown') {
        await offerFiles(redis, job.files);
        // What an earlier sweep here has come to.
        if (progressOf(directory) !== null) await sendParcel(redis, { job: jobId, directory, places: nowhere });
        await queue.add('trial', job, { jobId });
      } else if (state === 'failed') {
        await earlier.remove();
        const message = earlier.failedReason ?? 'its worker failed';
        return { how: 'failed', severity: 3, message };
      } else if (state === 'completed') {
        // Read once more: it may have ended after it was read.
        const outcome = trialOutcomeSchema.parse((await queue.getJob(jobId))?.returnvalue);
        const isFailed = outcome.how === 'failed';
        const isHere = !isFailed && (await fetchParcel(redis, { job: jobId, directory, places: nowhere }));
        if (isHere) await dropParcel(redis, jobId);
        await earlier.remove();
        if (isHere || isFailed) return outcome;
        // The answer is there and the run is not: the queue has lost it, and the trial begins again.
      } else {
        const { data } = declinedSchema.safeParse(earlier.progress);
        if (data !== undefined) tellOnce(data.declined);
      }
      await sleep(pollMs, signal).catch(() => {});
    }
    return { how: 'interrupted' };
  }

  return {
    run,
    async close() {
      await queue.close();
      redis.disconnect();
    },
  };
}

/** Turns a trial into one for the queue, with its files by their content. */
async function trialQueuing({ members }: OpenedExperiment): Promise<(trial: Trial) => TrialJob> {
  const hashes = await hashesOf(members.flatMap(({ resolved }) => resolved.files));
  const resolvedOf = new Map(
    members.flatMap(({ trials, resolved }) => trials.map((trial) => [trial.directory, resolved])),
  );
  const isAuto = members.some(({ resolved }) => resolved.backend === 'auto');
  // What `auto` chooses here, so that all trials are trained on it.
  const auto = isAuto ? (await (await import('../../../src/tensor/backend.ts')).selectBackend('auto')).name : null;
  return ({ directory, runs: _, ...content }) => {
    const { files: paths = [], backend: backendName = null } = resolvedOf.get(directory) ?? {};
    const files = paths.map((path) => ({ path, sha256: hashes[path] }));
    const trial = { ...content, backend: backendName === 'auto' ? auto : backendName };
    return { program: thisProgram(), trial, files, id: trialName({ trial, files }) };
  };
}
