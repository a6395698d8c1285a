import { Command } from 'commander';
import { writeFileAtomically } from '../../src/atomic-file.ts';
import { evaluateRun } from '../evaluate-run.ts';
import { systemsTable } from '../report/systems-table.ts';
import { interruptSignal } from './interrupt.ts';
import { stageProgress } from './progress.ts';

export function evaluateCommand(): Command {
  return new Command('evaluate')
    .description('Test the agent and the detector of a finished run on another data set, beside the rules.')
    .argument('<run>', 'run directory, such as runs/quickstart/agent/seed-1')
    .requiredOption('--data <path>', 'thread file; every labelled thread of it is tested')
    .option('--runs <folder>', 'where the shared cache is', 'runs')
    .option('--skip-invalid', 'leave invalid lines out instead of stopping')
    .option('--out <path>', 'also write the scores there, as JSON')
    .option('--json', 'print the scores as JSON instead of the table')
    .addHelpText(
      'after',
      `
Threads that the run was trained on are not left out: give other data, or the table flatters the agent.

Example:
  earshot evaluate runs/quickstart/agent/seed-1 --data other-threads.jsonl`,
    )
    .action(
      async (
        run: string,
        options: { data: string; runs: string; skipInvalid?: boolean; out?: string; json?: boolean },
      ) => {
        const progress = stageProgress(run);
        const evaluation = await evaluateRun({
          run,
          data: options.data,
          runs: options.runs,
          skipInvalid: options.skipInvalid ?? false,
          onStage: progress.onStage,
          onNote: progress.onNote,
          signal: interruptSignal(),
        });
        progress.done();
        const json = `${JSON.stringify({ run, data: options.data, ...evaluation }, null, 2)}\n`;
        const heading = `${evaluation.threads} threads of ${options.data}; 95 % intervals by bootstrap over threads\n\n`;
        process.stdout.write(options.json ? json : `${heading}${systemsTable(evaluation.systems)}\n`);
        if (options.out === undefined) return;
        writeFileAtomically(options.out, json);
        process.stderr.write(`\nScores: ${options.out}\n`);
      },
    );
}
