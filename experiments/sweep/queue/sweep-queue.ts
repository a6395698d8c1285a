import { InputError } from '../../../src/errors.ts';
import type { BackendName } from '../../../src/tensor/backend-names.ts';
import type { PlainObject } from '../../config/overrides.ts';
import type { TrialPool } from '../../run/trial-pool.ts';
import type { SweepPlan } from '../plan.ts';
import type { SweepFolder } from '../sweep-folder.ts';
import { asksModels } from '../trials-of-plan.ts';
import { connectQueue } from './connection.ts';
import { queueTrials } from './queue-trials.ts';

/** How often the queue is asked what has ended. */
const pollMs = 500;

/**
 * The queue at an address as what runs the trials of a sweep.
 * @throws InputError where the trials ask language models
 */
export async function openSweepQueue(
  plan: SweepPlan,
  options: { address: string; folder: SweepFolder; signal: AbortSignal; onNote: (line: string) => void },
): Promise<TrialPool> {
  const { address, folder, signal, onNote } = options;
  if (asksModels(plan))
    throw new InputError(
      '--queue cannot take trials that ask language models: budgets and answers are kept on one machine. Annotate the threads first, and run the sweep without --queue',
    );
  const backendOf = await backendsOf(plan);
  const redis = await connectQueue(address, { onNote });
  const trials = queueTrials({
    redis,
    fileHashes: folder.fileHashes,
    filesOf: ({ config }) => plan.kind.resolve(config, plan.name).files,
    backendOf,
    signal,
    onNote,
    pollMs,
  });
  return {
    run: trials.run,
    async close() {
      await trials.close();
      redis.disconnect();
    },
  };
}

/** What each trial is to be trained on, wherever that is: `auto` is what it would be here. */
async function backendsOf({ kind, name, settings }: SweepPlan) {
  const askedBy = ({ config }: { config: PlainObject }) => kind.resolve(config, name).backend;
  const auto = settings.some(({ trials }) => askedBy(trials[0]) === 'auto')
    ? (await (await import('../../../src/tensor/backend.ts')).selectBackend('auto')).name
    : null;
  return (trial: { config: PlainObject }): BackendName | null => {
    const asked = askedBy(trial);
    return asked === 'auto' ? auto : asked;
  };
}
