import { Command, Option } from 'commander';
import { serveTrials } from '../sweep/trial-process.ts';
import type { Terminal } from './terminal.ts';

export function workerCommand(terminal: Terminal): Command {
  return new Command('worker')
    .description('Take trials of sweeps from a queue, run them, and send their runs back.')
    .addOption(new Option('--parent', 'run trials for the process that started this one').hideHelp())
    .action(() => serveTrials(terminal.interruptSignal()));
}
