import { Command } from '@commander-js/extra-typings';
import type { Parity } from '../../checkpoints/policy/parity.ts';
import { RunDirectory } from '../../checkpoints/run-directory.ts';
import { InputError } from '../../src/errors.ts';
import { workContext } from '../../src/work-context.ts';
import { kindOf } from '../kinds/kinds.ts';
import { kindOfRun } from '../run/open-run-of.ts';
import { systemOption } from './system-option.ts';
import { printResult, type Terminal } from './terminal.ts';

export function exportCommand(terminal: Terminal) {
  return new Command('export')
    .description(
      'Write a policy of a run, learnt or a rule, as a bundle that other programs load: ONNX, Python, a policy card.',
    )
    .argument('<run>', 'run directory of a stop agent, such as runs/quickstart/one-query/seed-1')
    .requiredOption('--out <folder>', 'folder for the bundle')
    .addOption(systemOption())
    .option('--force', 'write over an earlier bundle in that folder, and over the guarantee that `calibrate` gave it')
    .option('--data <path>', "where the run's thread file is now (default: where it was at the training)")
    .option('--runs <folder>', 'where the shared cache is', 'runs')
    .option('--json', 'print what was checked as JSON')
    .addHelpText(
      'after',
      `
The ONNX file is held against the checkpoint on golden, random and extreme states, in batches of several sizes. Where they
differ, nothing is written. A few test threads of the run, with their texts, become part of the bundle. A selector is applied with
\`earshot select\`, not exported.

Examples:
  earshot export runs/quickstart/one-query/seed-1 --out policy
  earshot export runs/quickstart/one-query/seed-1 --out policy --system "after 1 h"
  python policy/earshot_policy.py < threads.jsonl`,
    )
    .action(async (run, { out, system, data, runs, force, json }) => {
      const context = workContext({ onNote: (line) => terminal.stderr.write(`earshot: ${line}\n`) });
      const opened = RunDirectory.open(run);
      const problem = (await kindOf(kindOfRun(opened), run)).exportProblem(run);
      if (problem !== null) throw new InputError(problem);
      const { exportRun } = await import('../stop-agent/export/export-run.ts');
      const exported = await exportRun({ run, out, system, data: data ?? null, runs, force, context });
      const { parity, goldenThreads, readsTexts } = exported;
      const what = `System: ${exported.system}\nGolden threads: ${goldenThreads}\n\nBundle: ${out}`;
      if (!readsTexts)
        context.onNote(
          'the states need an encoder that cannot be exported, so earshot_policy.py decides on states, not on texts; the rest of the bundle is whole',
        );
      printResult(terminal, { json, value: { run, out, ...exported }, text: `${parityText(parity)}\n${what}\n` });
    });
}

function parityText({ rows, batches, largestDifference }: Parity): string {
  const counts = Object.entries(rows).map(([name, count]) => `${count} ${name}`);
  return `The ONNX file decides as the checkpoint does: ${counts.join(', ')} states in batches of ${batches.join(', ')}, scores at most ${largestDifference.toExponential(1)} apart`;
}
