import type { Terminal } from './terminal.ts';
import { trialOptions } from './trial-options.ts';

export function trainCommand(terminal: Terminal) {
  return trialOptions(
    'train',
    'Run an experiment: train every variant with every seed, test it beside the baselines, print the table.',
  )
    .argument('<experiment>', 'YAML experiment file, such as experiments/recipes/quickstart.yaml')
    .addHelpText(
      'after',
      `
A run that was cut off (Ctrl-C, kill, power) goes on from its last checkpoint when the same command is given again, to the
same result, bit for bit, on the same backend. Finished runs are read, not repeated; those that failed are tried again.

A selector whose task models are language models has no dry run of its queries: these depend on what its policies retain. Limit it with
--set budget.requests=<count>. To go on, give the same command with a larger budget; answers are kept in <runs>/cache.

Runs with other settings or other threads stay as they are. The new ones get the names <name>-2, <name>-3, … unless you give --name or
--restart. If the detector or the annotations changed, the command stops with an error.

Examples:
  earshot train experiments/recipes/quickstart.yaml
  earshot train experiments/recipes/pheme-leave-one-event-out.yaml --data pheme.jsonl.gz --jobs 2
  earshot train my.yaml --seeds 1,2,3,4,5
  earshot train my.yaml --set agent.algorithm=settled --name my-settled --seeds 1,2`,
    )
    .action(async (path, options) => {
      const { train } = await import('./train-experiment.ts');
      await train({ ...options, path, terminal });
    });
}
