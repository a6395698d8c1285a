import { Command } from '@commander-js/extra-typings';
import { RunDirectory } from '../../checkpoints/run-directory.ts';
import { writeFileAtomically } from '../../src/atomic-file.ts';
import { kindOf } from '../kinds/kinds.ts';
import { kindOfRun } from '../run/open-run-of.ts';
import type { Terminal } from './terminal.ts';

export function evaluateCommand(terminal: Terminal) {
  return new Command('evaluate')
    .description('Test the agent or the selector of a run on another data set.')
    .argument('<run>', 'run directory, such as runs/quickstart/one-query/seed-1')
    .requiredOption('--data <path>', 'thread file; every labelled thread of it is tested that is new to the run')
    .option('--detector <run>', 'judge with the detector of this other run: the agent alone is carried over')
    .option('--runs <folder>', 'where the shared cache is', 'runs')
    .option('--skip-invalid', 'leave invalid lines out instead of stopping')
    .option('--include-trained', 'keep threads that the run was trained on; the scores then flatter it')
    .option('--out <path>', 'also write the scores there, as JSON')
    .option('--json', 'print the scores as JSON instead of the table')
    .addHelpText(
      'after',
      `
An agent stands beside the rules, a selector beside its task models alone. Threads that the run (or that of --detector) was
trained on are left out, known by their id and claim.

Examples:
  earshot evaluate runs/quickstart/one-query/seed-1 --data other-threads.jsonl
  earshot evaluate runs/weibo/one-query/seed-1 --data covid.jsonl --detector runs/covid/one-query/seed-1`,
    )
    .action(async (run, options) => {
      const { data, detector, runs, skipInvalid = false, includeTrained = false, out, json } = options;
      const { watched } = await import('./progress.ts');
      const kind = await kindOf(kindOfRun(RunDirectory.open(run)), run);
      const evaluated = await watched(run, terminal, (context) =>
        kind.evaluate({ run, data, detector, runs, skipInvalid, includeTrained, context }),
      );
      const scores = `${JSON.stringify({ run, data, detector, ...evaluated.scores }, null, 2)}\n`;
      terminal.stdout.write(json ? scores : evaluated.text);
      if (out === undefined) return;
      writeFileAtomically(out, scores);
      terminal.stderr.write(`\nScores: ${out}\n`);
    });
}
