import { Command } from '@commander-js/extra-typings';
import { counted } from '../../src/counted.ts';
import { present } from '../../src/present.ts';
import { printJson, proseWidth, type Terminal } from './terminal.ts';

export function runsCommand(terminal: Terminal) {
  return new Command('runs')
    .description('List the experiments and sweeps of a folder of runs, each with its conclusion.')
    .argument('[folder]', 'where the runs are', 'runs')
    .option('--json', 'print the list as JSON')
    .addHelpText(
      'after',
      `
The conclusion is that of the last report, which train and sweep write at their end and report writes again.

Examples:
  earshot runs
  earshot runs runs --json | jq -r '.[] | select(.recommended) | .recommended'`,
    )
    .action((folder, options) => list(folder, { ...options, terminal }));
}

async function list(folder: string, { json, terminal }: { json?: true; terminal: Terminal }): Promise<void> {
  const { stdout } = terminal;
  const [{ listRuns }, { wrapped }] = await Promise.all([
    import('../runner/list-runs.ts'),
    import('../report/terminal-text.ts'),
  ]);
  const listed = listRuns(folder);
  if (json) return printJson(terminal, listed);
  if (listed.length === 0) stdout.write(`No runs in ${folder}.\n`);
  for (const { name, finished, failed, unfinished, failure, conclusion, recommended } of listed) {
    const state = present([
      finished > 0 && `${counted(finished, 'run')} finished`,
      failed > 0 && `${failed} failed`,
      unfinished > 0 && `${unfinished} not finished`,
    ]);
    const lines = present([
      failure !== null && `Failed: ${failure}`,
      conclusion ?? 'no report yet; `earshot report` writes the report of finished runs',
      recommended !== null && `Go on with ${recommended}`,
    ]);
    stdout.write(`${name}: ${state.join(', ')}\n`);
    for (const line of lines)
      stdout.write(`  ${wrapped(line, { width: proseWidth(terminal) - 2 }).replaceAll('\n', '\n  ')}\n`);
  }
}
