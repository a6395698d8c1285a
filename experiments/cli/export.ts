import { Command } from 'commander';
import { workContext } from '../../src/work-context.ts';
import { exportRun } from '../stop-agent/export.ts';
import type { Terminal } from './terminal.ts';

export function exportCommand({ stdout, stderr }: Terminal): Command {
  return new Command('export')
    .description('Write the agent of a run as a bundle that other programs load: ONNX, weights, Python, a policy card.')
    .argument('<run>', 'run directory of a stop agent, such as runs/quickstart/agent/seed-1')
    .requiredOption('--out <folder>', 'a new folder for the bundle')
    .option('--data <path>', "where the run's thread file is now (default: where it was at the training)")
    .option('--runs <folder>', 'where the shared cache is', 'runs')
    .option('--json', 'print what was checked as JSON')
    .addHelpText(
      'after',
      `
The ONNX file is held against the checkpoint on golden, random and extreme states, in batches of several sizes. Where they
differ, nothing is written. A few test threads of the run, with their texts, become part of the bundle.

Example:
  earshot export runs/quickstart/agent/seed-1 --out policy
  python policy/earshot_policy.py < threads.jsonl`,
    )
    .action(async (run: string, { out, data, runs, json }: ExportOptions) => {
      const context = workContext({ onNote: (line) => stderr.write(`earshot: ${line}\n`) });
      const exported = await exportRun({ run, out, data: data ?? null, runs, context });
      const { parity, goldenThreads, readsTexts } = exported;
      if (!readsTexts)
        stderr.write(
          'earshot: the states need an encoder that cannot be exported, so earshot_policy.py decides on states, not on texts; the rest of the bundle is whole\n',
        );
      const rows = Object.entries(parity.rows).map(([name, count]) => `${count} ${name}`);
      const text = `The ONNX file decides as the checkpoint does: ${rows.join(', ')} states in batches of ${parity.batches.join(', ')}, probabilities at most ${parity.largestDifference.toExponential(1)} apart\nGolden threads: ${goldenThreads}\n\nBundle: ${out}\n`;
      stdout.write(json ? `${JSON.stringify({ run, out, ...exported }, null, 2)}\n` : text);
    });
}

interface ExportOptions {
  out: string;
  data?: string;
  runs: string;
  json?: boolean;
}
