import { Command } from '@commander-js/extra-typings';
import { collect } from './option-values.ts';
import type { Terminal } from './terminal.ts';

export function reportCommand(terminal: Terminal) {
  return new Command('report')
    .description(
      'Print the report of an experiment from its finished runs, or write its page, without running anything.',
    )
    .argument('<experiment>', 'YAML file of an experiment or a sweep, a run, or a folder such as runs/quickstart')
    .option('--runs <folder>', 'where the runs and the shared cache are', 'runs')
    .option('--set <path=value>', 'as given to train; may be repeated', collect, [])
    .option('--json', 'print the results as JSON instead of the report')
    .option('--html', 'write the results as a page: one file that opens in any browser, without a network')
    .option('--open', 'write the page and open it in the browser')
    .option(
      '--out <file>',
      'where the page goes (default: report.html beside the runs); the charts go beside it as SVG',
    )
    .addHelpText(
      'after',
      `
The page opens with the conclusion. It shows macro-F1 against posts read and queries, what the agents predict, the training, and every test
thread post by post. It holds the texts of the threads where their file can still be read: check who may see it.
docs/how-to/read-a-report.md explains it.

A sweep's page has its conclusion and table, the front, the heat map, and how much each option matters.

Examples:
  earshot report experiments/recipes/quickstart.yaml
  earshot report experiments/recipes/quickstart.yaml --html
  earshot report runs/quickstart/one-query/seed-1 --html --out one-query.html
  earshot report runs/ratio-pareto --open`,
    )
    .action(async (path, options) => {
      const { showReport } = await import('./show-report.ts');
      await showReport(path, { ...options, terminal });
    });
}
