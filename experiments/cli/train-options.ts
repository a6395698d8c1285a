import { Command, Option } from '@commander-js/extra-typings';
import { collect, indexOfShares, list, type OptionsOf, positiveInteger, seeds } from './option-values.ts';
import { maxWaitOption } from './shared-options.ts';

export type TrialOptions = OptionsOf<typeof trainOptions>;

export function trainOptions() {
  return new Command('train')
    .alias('sweep')
    .description(
      'Run an experiment: every variant, or every setting of a sweep, with every seed; test it beside the baselines, print the table.',
    )
    .argument('<experiment>', 'YAML file of an experiment or a sweep, such as experiments/recipes/quickstart.yaml')
    .option(
      '--data <path>',
      'thread file to run on; the same as --set data.threads=<path>, or data.train for a selector',
    )
    .option('--set <path=value>', 'change a setting, such as agent.imitation.alpha=0.5; may be repeated', collect, [])
    .option('--name <name>', 'name of the runs instead of that of the file')
    .option('--seeds <list>', 'seeds instead of those of the file, such as 1,2,3', seeds)
    .option('--variants <list>', 'only these variants of the file, such as paper,one-query', list)
    .option('--runs <folder>', 'where runs and their shared cache go', 'runs')
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
    .option('--restart', 'remove earlier runs of this experiment and start again')
    .option('--dry-run', 'list the trials, and run none')
    .option('--json', 'print the results as JSON instead of the table')
    .option('--no-html', 'leave out the page of the results, report.html')
    .addHelpText(
      'after',
      `
A run that was cut off (Ctrl-C, kill, power) goes on from its last checkpoint when the same command is given again, to the
same result, bit for bit, on the same backend. Finished runs are read, not repeated; those that failed are tried again.

A selector whose task models are language models has no dry run of its queries: these depend on what its policies retain. Limit it with
--set budget.requests=<count>. To go on, give the same command with a larger budget; answers are kept in <runs>/cache.

Runs with other settings or other threads stay as they are. The new ones get the names <name>-2, <name>-3, … unless you give --name or
--restart. If the detector or the annotations changed, the command stops with an error.

A setting of a sweep is named by the hash of its configuration. Settings are chosen on the development part (split.development). The
test is scored once, for the setting that leads. \`earshot options sweep\` lists what may stand in the file, and docs/how-to/sweep.md has
templates for Slurm and Kubernetes.

Examples:
  earshot train experiments/recipes/quickstart.yaml
  earshot train experiments/recipes/pheme-leave-one-event-out.yaml --data pheme.jsonl.gz --jobs 2
  earshot train my.yaml --set agent.algorithm=settled --name my-settled --seeds 1,2
  earshot sweep experiments/recipes/ratio-pareto.yaml --jobs 4
  earshot sweep my-sweep.yaml --shard $SLURM_ARRAY_TASK_ID/10
  earshot sweep my-sweep.yaml --queue redis://head:6379`,
    );
}
