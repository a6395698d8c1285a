import { Command } from '@commander-js/extra-typings';
import type { Manifest } from '../../checkpoints/policy/manifest.ts';
import { printResult, type Terminal } from './terminal.ts';

export function exportCommand(terminal: Terminal) {
  return new Command('export')
    .description(
      'Copy the policy of a run to another folder, or make one of another row of its report. Other programs load it: ONNX, Python, a policy card.',
    )
    .argument('<run>', 'run of a stop agent, such as runs/quickstart/one-query/seed-1')
    .requiredOption('--out <folder>', 'folder for the policy')
    .option(
      '--system <name>',
      'row of the run\'s report, such as "after 1 h", or best for the one that it recommends (default: the agent that was trained)',
    )
    .option('--force', 'write over an earlier policy in that folder, and over the guarantee that `calibrate` gave it')
    .option('--json', 'print what was checked as JSON')
    .addHelpText(
      'after',
      `
The copy decides its golden threads again, and its ONNX file is run on their states. A few test threads of the run, with their texts,
are part of the policy. A selector has no policy to export: what it retained is in \`last-selection.jsonl\` of its run.

Examples:
  earshot export runs/quickstart/one-query/seed-1 --out policy
  earshot export runs/quickstart/one-query/seed-1 --out policy --system "after 1 h"
  python policy/earshot_policy.py < threads.jsonl`,
    )
    .action(async (run, { out, system, force, json }) => {
      const { exportPolicy } = await import('../stop-agent/policy/export-policy.ts');
      const exported = await exportPolicy({ run, out, system, force });
      const { parity, goldenThreads, readsTexts } = exported;
      const what = `System: ${exported.system}\nGolden threads: ${goldenThreads}\n\nPolicy: ${out}`;
      if (!readsTexts)
        terminal.stderr.write(
          'earshot: the states need an encoder that cannot be exported, so earshot_policy.py decides on states, not on texts; the rest of the policy is whole\n',
        );
      printResult(terminal, { json, value: { run, out, ...exported }, text: `${parityText(parity)}\n${what}\n` });
    });
}

function parityText({ rows, batches, largestDifference }: Manifest['parity']): string {
  const counts = Object.entries(rows).map(([name, count]) => `${count} ${name}`);
  return `The ONNX file decides as the checkpoint does: ${counts.join(', ')} states in batches of ${batches.join(', ')}, scores at most ${largestDifference.toExponential(1)} apart`;
}
