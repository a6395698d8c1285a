import { Command } from 'commander';
import { compareSystems } from '../stop-agent/compare-runs.ts';
import { agentName } from '../stop-agent/trial.ts';
import type { Terminal } from './terminal.ts';
import { wholeNumber } from './whole-number.ts';

export function compareCommand({ stdout }: Terminal): Command {
  return new Command('compare')
    .description('Compare two systems on the threads that both decided: paired bootstrap of macro-F1 and ER.')
    .argument('<first>', 'run directory, or a folder of runs with one seed each')
    .argument('<second>', 'the same; runs of one seed are paired with each other')
    .option('--system <name>', 'system of the first', agentName)
    .option('--second-system <name>', 'system of the second, such as "first 4 posts"', agentName)
    .option('--seed <number>', 'of the bootstrap', wholeNumber, 1)
    .option('--json', 'print the comparison as JSON')
    .addHelpText(
      'after',
      `
Examples:
  earshot compare runs/published-vs-paper/paper runs/published-vs-paper/published
  earshot compare runs/quickstart/agent runs/quickstart/agent --second-system "first 4 posts"`,
    )
    .action(
      (
        first: string,
        second: string,
        options: { system: string; secondSystem: string; seed: number; json?: boolean },
      ) => {
        const comparison = compareSystems(
          { folder: first, system: options.system },
          { folder: second, system: options.secondSystem },
          options,
        );
        if (options.json) {
          stdout.write(`${JSON.stringify(comparison, null, 2)}\n`);
          return;
        }
        const line = (name: string, { difference, low, high, pValue }: typeof comparison.er) =>
          `${name}  ${signed(difference)}  95 % [${signed(low)}, ${signed(high)}]  p = ${pValue.toFixed(4)}\n`;
        stdout.write(
          `${options.system} of ${first}\nminus ${options.secondSystem} of ${second}, ${comparison.threads} decisions paired\n\n`,
        );
        stdout.write(line('macro-F1', comparison.macroF1) + line('ER      ', comparison.er));
      },
    );
}

function signed(value: number): string {
  return `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(4)}`;
}
