import { Command, Option } from 'commander';
import { markdownTable } from 'markdown-table';
import { workContext } from '../../src/work-context.ts';
import type { Count, SelectionSummary } from '../selector/select-items.ts';
import { amount, budgetOf, positiveInteger } from './option-values.ts';
import type { Terminal } from './terminal.ts';

interface SelectOptions {
  out: string;
  data?: string;
  kind: 'posts' | 'claims' | 'both';
  all?: true;
  runs: string;
  budgetRequests?: number;
  budgetTokens?: number;
  budgetMoney?: number;
  json?: true;
}

export function selectCommand(terminal: Terminal): Command {
  return new Command('select')
    .description("Write the claims and posts that a run's selector retains, labelled, for others to train on.")
    .argument('<run>', 'run directory of a selector, such as runs/selector-quickstart/agent/seed-1')
    .requiredOption('--out <file>', 'file to write: .jsonl, or .jsonl.gz for gzip')
    .option('--data <threads>', "thread file to label, .jsonl or .jsonl.gz, instead of the run's training data")
    .addOption(new Option('--kind <kind>', 'what to write').choices(['posts', 'claims', 'both']).default('both'))
    .option('--all', 'write what was discarded, too, with "retained": false')
    .option('--runs <folder>', 'where the shared cache is', 'runs')
    .option(
      '--budget-requests <count>',
      'language models: send at most so many requests, those of earlier runs with the same store included',
      positiveInteger,
    )
    .option('--budget-tokens <count>', 'language models: use at most so many tokens, counted likewise', positiveInteger)
    .option(
      '--budget-money <amount>',
      "language models: spend at most so much, in the prices' currency, counted likewise",
      amount,
    )
    .option('--json', 'print the counts as JSON instead of the table')
    .addHelpText(
      'after',
      `
One JSON object a line; of each thread first the claim, then its replies in time order:
  {"kind":"claim","threadId","claim","label","labelledBy","confidence","distribution","explanation","retainProbability","retained","posts"}
  {"kind":"post","threadId","postId","claim","text","label","confidence","distribution","explanation","retainProbability","retained"}
The label of a claim is its veracity, that of a post its stance. Claims whose label the selector was given keep it
(labelledBy: human, confidence 1); distribution is what the model says. posts are the ids of the replies retained.
Nothing is drawn: the same run and data give the same file. Task models that are language models are asked about every
reply and claim; what the cache in --runs has an answer to is not asked again.

Examples:
  earshot select runs/selector-quickstart/agent/seed-1 --out selected.jsonl
  earshot select runs/mine/agent/seed-1 --data new-threads.jsonl.gz --kind posts --out stances.jsonl.gz
  earshot select runs/mine/agent/seed-1 --all --out everything.jsonl --json | jq .posts.byStance`,
    )
    .action((run: string, options: SelectOptions) => select(run, { ...options, terminal }));
}

async function select(run: string, options: SelectOptions & { terminal: Terminal }): Promise<void> {
  const { out, data = null, kind, all = false, runs, json, terminal } = options;
  const { stdout, stderr } = terminal;
  const [{ selectItems }, { stageProgress }] = await Promise.all([
    import('../selector/select-items.ts'),
    import('./progress.ts'),
  ]);
  const signal = terminal.interruptSignal();
  const { done, ...told } = stageProgress(run, terminal, { signal });
  let summary: SelectionSummary;
  try {
    summary = await selectItems({
      run,
      data,
      out,
      kind,
      all,
      runs,
      budget: budgetOf(options),
      context: workContext({ ...told, signal }),
    });
  } finally {
    done();
  }
  stdout.write(json ? `${JSON.stringify(summary, null, 2)}\n` : `${summaryTable(summary)}\n`);
  stderr.write(`\n${summary.lines} items: ${out}\n`);
}

function summaryTable({ posts, claims }: SelectionSummary): string {
  const row = (level: string, label: string, { shown, retained }: Count) => [
    level,
    label,
    String(shown),
    String(retained),
    shown === 0 ? '–' : (retained / shown).toFixed(3),
  ];
  return markdownTable(
    [
      ['level', 'class', 'shown', 'retained', 'share'],
      ...Object.entries(posts.byStance).map(([stance, count]) => row('posts', stance, count)),
      row('posts', 'all', posts),
      ...Object.entries(claims.byVeracity).map(([veracity, count]) => row('claims', veracity, count)),
      row('claims', 'all', claims),
      row('claims', 'labelled by people', claims.labelledByHuman),
    ],
    { align: ['l', 'l', 'r', 'r', 'r'] },
  );
}
