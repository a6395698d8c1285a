import { availableParallelism } from 'node:os';
import { Command, Option } from '@commander-js/extra-typings';
import type { StartTrials } from '../run/trials-here.ts';
import { amount, positiveInteger } from './option-values.ts';
import { Interrupted, type Terminal } from './terminal.ts';

export function workerCommand(terminal: Terminal) {
  return new Command('worker')
    .description('Take trials from a queue, run them, and send their runs back.')
    .requiredOption(
      '--queue <address>',
      'Redis that `--queue` of `earshot train` and `earshot sweep` puts trials on, such as redis://host:6379',
    )
    .option('--runs <folder>', 'where runs and their cache go on this machine', 'runs')
    .option(
      '--jobs <count>',
      'trials that run at the same time, each in a process (default: one for each processor core)',
      positiveInteger,
    )
    .option(
      '--lost-after <seconds>',
      'how long a worker may be silent before another takes its trials; the same for all workers of a queue',
      amount,
      30,
    )
    .option('--idle <seconds>', 'end after so long without a trial (default: wait for ever)', amount)
    .addOption(
      new Option('--parent', 'run trials for the process that started this one').hideHelp().implies({ queue: '' }),
    )
    .addHelpText(
      'after',
      `
A worker reads data files from the same path if their hash is right, and otherwise from the queue. It sends its runs at every
checkpoint, so another worker can resume them. Ctrl-C saves, and leaves the trials to others. All trials of an experiment are
trained by the same sources on the same backend: a worker with other sources or another backend leaves them and prints why.

Anyone who can write to the queue decides what its workers run. Keep it in a private network, or use rediss:// and a password.

Examples:
  earshot worker --queue redis://head:6379
  earshot worker --queue redis://head:6379 --jobs 4 --idle 600`,
    )
    .action(async (options) => {
      const { queue, runs, jobs = availableParallelism(), lostAfter, idle } = options;
      if (options.parent) {
        const { serveTrials } = await import('../run/trial-process.ts');
        return serveTrials({ start, signal: terminal.interruptSignal(null) }, terminal);
      }
      // Not loaded by the processes of a local experiment.
      const { connectQueue } = await import('../runner/queue/connection.ts');
      const { workOnQueue } = await import('../runner/queue/queue-worker.ts');
      const { trialProcesses } = await import('../run/trial-pool.ts');
      const { notesTo } = await import('./progress.ts');
      const onNote = notesTo(terminal);
      const redis = await connectQueue(queue, { onNote });
      const signal = terminal.interruptSignal();
      const pool = trialProcesses({ jobs, signal, onNote });
      onNote(`waiting for trials, ${jobs} at a time`);
      try {
        const idleMs = idle === undefined ? null : idle * 1000;
        await workOnQueue({
          redis,
          run: pool.run,
          startBackend: async (name) => (await import('../../src/tensor/backend.ts')).selectBackend(name),
          jobs,
          runs,
          lostAfterMs: lostAfter * 1000,
          idleMs,
          signal,
          onNote,
        });
      } finally {
        await pool.close();
        redis.disconnect();
      }
      if (signal.aborted) throw new Interrupted('stopped');
    });
}

/** Training code is loaded with the first trial. */
const start: StartTrials = async (first, callbacks) =>
  (await import('../kinds/kinds.ts')).startTrials(first, callbacks);
