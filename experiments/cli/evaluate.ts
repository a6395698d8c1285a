import { Command } from 'commander';
import { markdownTable } from 'markdown-table';
import { RunDirectory } from '../../checkpoints/run-directory.ts';
import { writeFileAtomically } from '../../src/atomic-file.ts';
import { systemsTable } from '../report/systems-table.ts';
import { runKind } from '../run/run-kind.ts';
import type { TaskScores } from '../selector/evaluate-selector.ts';
import { evaluateSelectorRun } from '../selector/evaluate-selector-run.ts';
import { evaluateRun } from '../stop-agent/evaluate-run.ts';
import { stageProgress } from './progress.ts';
import type { Terminal } from './terminal.ts';

export function evaluateCommand(terminal: Terminal): Command {
  return new Command('evaluate')
    .description('Test the agent or the selector of a run on another data set.')
    .argument('<run>', 'run directory, such as runs/quickstart/agent/seed-1')
    .requiredOption('--data <path>', 'thread file; every labelled thread of it is tested')
    .option('--runs <folder>', 'where the shared cache is', 'runs')
    .option('--skip-invalid', 'leave invalid lines out instead of stopping')
    .option('--out <path>', 'also write the scores there, as JSON')
    .option('--json', 'print the scores as JSON instead of the table')
    .addHelpText(
      'after',
      `
An agent stands beside the rules, a selector beside its task models alone. Threads that the run was trained on are not left
out: give other data, or the table flatters it.

Example:
  earshot evaluate runs/quickstart/agent/seed-1 --data other-threads.jsonl`,
    )
    .action((run: string, options: EvaluateOptions) => evaluate(run, { ...options, terminal }));
}

interface EvaluateOptions {
  data: string;
  runs: string;
  skipInvalid?: boolean;
  out?: string;
  json?: boolean;
}

async function evaluate(run: string, options: EvaluateOptions & { terminal: Terminal }): Promise<void> {
  const { data, runs, skipInvalid = false, out, json, terminal } = options;
  const { stdout, stderr } = terminal;
  const progress = stageProgress(run, terminal);
  const { onStage, onNote } = progress;
  const settings = { run, data, runs, skipInvalid, onStage, onNote, signal: terminal.interruptSignal() };
  let evaluated: { scores: object; text: string };
  try {
    evaluated =
      runKind(RunDirectory.open(run)) === 'selector'
        ? await evaluatedSelector(settings)
        : await evaluatedAgent(settings);
  } finally {
    progress.done();
  }
  const scores = `${JSON.stringify({ run, data, ...evaluated.scores }, null, 2)}\n`;
  stdout.write(json ? scores : evaluated.text);
  if (out === undefined) return;
  writeFileAtomically(out, scores);
  stderr.write(`\nScores: ${out}\n`);
}

async function evaluatedAgent(settings: Parameters<typeof evaluateRun>[0]) {
  const scores = await evaluateRun(settings);
  const heading = `${scores.threads} threads of ${settings.data}; 95 % intervals by bootstrap over threads\n\n`;
  return { scores, text: `${heading}${systemsTable(scores.systems)}\n` };
}

async function evaluatedSelector(settings: Parameters<typeof evaluateSelectorRun>[0]) {
  const scores = await evaluateSelectorRun(settings);
  const cells = (task: TaskScores | null) =>
    task === null ? ['–', '–', '–'] : [task.macroF1.toFixed(3), task.microF1.toFixed(3), String(task.items)];
  const table = markdownTable(
    [
      ['system', 'stance macro-F1', 'micro-F1', 'replies', 'veracity macro-F1', 'micro-F1', 'claims'],
      ...scores.systems.map(({ name, scores: { stance, veracity } }) => [name, ...cells(stance), ...cells(veracity)]),
    ],
    { align: ['l', 'r', 'r', 'r', 'r', 'r', 'r'] },
  );
  return { scores, text: `${scores.threads} threads of ${settings.data}\n\n${table}\n` };
}
