import { Command } from '@commander-js/extra-typings';
import { writeFileAtomically } from '../../src/atomic-file.ts';
import { terminalTable } from '../report/table.ts';
import { refuseInputAsOutput } from './shared-options.ts';
import type { Terminal } from './terminal.ts';

export function evaluateCommand(terminal: Terminal) {
  return new Command('evaluate')
    .description('Test the agent of a run on another data set.')
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
The agent stands beside the rules. Threads that the run (or that of --detector) was trained on are left out, known by their id
and claim. Selectors and detectors are tested on other data by their experiments (data.tests, data.threads).

Examples:
  earshot evaluate runs/quickstart/one-query/seed-1 --data other-threads.jsonl
  earshot evaluate runs/weibo/one-query/seed-1 --data covid.jsonl --detector runs/covid/one-query/seed-1`,
    )
    .action(async (run, options) => {
      const { data, detector, skipInvalid = false, includeTrained = false, out, json } = options;
      if (out !== undefined) refuseInputAsOutput({ out, inputs: [data] });
      const { evaluateRun } = await import('../stop-agent/evaluate-run.ts');
      const { scoresJson } = await import('../stop-agent/metrics.ts');
      const { evaluationTable } = await import('../stop-agent/report/systems-table.ts');
      const { watched } = await import('./progress.ts');
      const { systems, ...counts } = await watched(run, terminal, (context) =>
        evaluateRun({ ...options, run, skipInvalid, includeTrained, context }),
      );
      const value = { run, data, detector, systems: systems.map(scoresJson), ...counts };
      const scores = `${JSON.stringify(value, null, 2)}\n`;
      const judged = detector === undefined ? '' : `, judged by the detector of ${detector}`;
      const heading = `${counts.threads} threads of ${data}${judged}; 95% intervals by bootstrap over threads`;
      terminal.stdout.write(json ? scores : `${heading}\n\n${terminalTable(evaluationTable(systems))}\n`);
      if (out === undefined) return;
      writeFileAtomically(out, scores);
      terminal.stderr.write(`\nScores: ${out}\n`);
    });
}
