import type { Terminal } from './terminal.ts';
import { trialOptions } from './trial-options.ts';

export function sweepCommand(terminal: Terminal) {
  return trialOptions(
    'sweep',
    'Run an experiment with many settings: every setting with every seed, in parallel, then one table, a conclusion and pictures.',
  )
    .argument('<file>', 'YAML sweep file, such as experiments/recipes/ratio-pareto.yaml')
    .addHelpText(
      'after',
      `
A trial is one setting with one seed; a setting is named by the hash of its configuration. Given again, the command goes on, as
\`earshot train\` does. Trials that are added to the file later join the others.

Settings are chosen on the development part (split.development). The test is scored once, for the setting that leads.

\`earshot options sweep\` lists what may stand in the file. docs/how-to/sweep.md has templates for Slurm and Kubernetes.

Examples:
  earshot sweep experiments/recipes/ratio-pareto.yaml
  earshot sweep my-sweep.yaml --data threads.jsonl --jobs 4
  earshot sweep my-sweep.yaml --shard $SLURM_ARRAY_TASK_ID/10
  earshot sweep my-sweep.yaml --queue redis://head:6379`,
    )
    .action(async (path, options) => {
      const { sweep } = await import('./train-experiment.ts');
      await sweep({ ...options, path, terminal });
    });
}
