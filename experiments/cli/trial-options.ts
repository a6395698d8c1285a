import { Command, Option } from '@commander-js/extra-typings';
import { maxWaitOption } from './budget-options.ts';
import { collect, indexOfShares, positiveInteger, seeds as seedsOf } from './option-values.ts';

export const defaultRuns = 'runs';

/** The options of every command that runs trials. */
export function trialOptions(name: string, description: string) {
  return new Command(name)
    .description(description)
    .option(
      '--data <path>',
      'thread file to run on; the same as --set data.threads=<path>, or data.train for a selector',
    )
    .option('--set <path=value>', 'change a setting, such as agent.imitation.alpha=0.5; may be repeated', collect, [])
    .option('--name <name>', 'name of the runs instead of that of the file')
    .option('--seeds <list>', 'seeds instead of those of the file, such as 1,2,3', seedsOf)
    .option('--variants <list>', 'only these variants of the file, such as paper,one-query', names)
    .option('--runs <folder>', 'where runs and their shared cache go', defaultRuns)
    .option(
      '--jobs <count>',
      'processes that share the runs (default: one for each processor core, at most one for each run; just one on a GPU, and with language models, because limits of rates hold for one process)',
      positiveInteger,
    )
    .option('--shard <index/count>', 'run only this share of the trials, from 0: one job of an array', indexOfShares)
    .option(
      '--queue <address>',
      'let `earshot worker` on any machine run the trials, over a Redis such as redis://host:6379',
    )
    .addOption(
      new Option(
        '--keep <what>',
        'of finished runs: all; policies: no logs and no older checkpoints; results: no checkpoints and models either, so that a run can be scored but not decide',
      )
        .choices(['all', 'policies', 'results'])
        .default('all'),
    )
    .addOption(maxWaitOption)
    .option('--resume', 'fail if there is nothing to go on with (going on is the default)')
    .option('--restart', 'remove earlier runs of this experiment and start again')
    .option('--dry-run', 'list the trials, and run none')
    .option('--json', 'print the results as JSON instead of the table')
    .option('--no-html', 'leave out the page of the results, report.html');
}

function names(text: string): string[] {
  return text.split(',').map((name) => name.trim());
}

export type TrialOptions = ReturnType<ReturnType<typeof trialOptions>['opts']>;
