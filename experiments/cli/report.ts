import { Command } from 'commander';
import { InputError } from '../../src/errors.ts';
import { parseOverride } from '../config/overrides.ts';
import { openExperiment } from '../run/open-experiment.ts';
import { collect } from './option-values.ts';
import type { Terminal } from './terminal.ts';

export function reportCommand({ stdout, stderr }: Terminal): Command {
  return new Command('report')
    .description('Print the table of an experiment from its finished runs, without running anything.')
    .argument('<experiment>', 'YAML experiment file')
    .option('--runs <folder>', 'where the runs are', 'runs')
    .option('--set <path=value>', 'as given to train; may be repeated', collect, [])
    .option('--json', 'print the results as JSON instead of the table')
    .action(async (path: string, options: { runs: string; set: string[]; json?: boolean }) => {
      const { runs } = options;
      const experiment = await openExperiment({ path, overrides: options.set.map(parseOverride), runs });
      const finished = experiment.finished().length;
      if (finished === 0)
        throw new InputError(
          `no run of ${experiment.name} is finished in ${runs}; run \`earshot train ${path}\` first`,
        );
      const total = experiment.trials.length;
      const missing = total - finished;
      const command = ['earshot train', path, ...options.set.map((set) => `--set ${set}`)].join(' ');
      const { report } = experiment.writeReport(command);
      stdout.write(options.json ? `${JSON.stringify(experiment.results(), null, 2)}\n` : report);
      if (missing > 0) stderr.write(`\nearshot: ${missing} of ${total} runs are not finished yet\n`);
    });
}
