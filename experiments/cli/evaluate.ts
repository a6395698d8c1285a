import { Command } from 'commander';
import { markdownTable } from 'markdown-table';
import { RunDirectory } from '../../checkpoints/run-directory.ts';
import { writeFileAtomically } from '../../src/atomic-file.ts';
import { systemsTable } from '../report/systems-table.ts';
import { runKind } from '../run/run-kind.ts';
import type { TaskScores } from '../selector/evaluate-selector.ts';
import { evaluateSelectorRun } from '../selector/evaluate-selector-run.ts';
import { evaluateRun } from '../stop-agent/evaluate-run.ts';
import { interruptSignal } from './interrupt.ts';
import { stageProgress } from './progress.ts';

export function evaluateCommand(): Command {
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
    .action(evaluate);
}

interface EvaluateOptions {
  data: string;
  runs: string;
  skipInvalid?: boolean;
  out?: string;
  json?: boolean;
}

async function evaluate(run: string, { data, runs, skipInvalid = false, out, json }: EvaluateOptions): Promise<void> {
  const progress = stageProgress(run);
  const { onStage, onNote } = progress;
  const settings = { run, data, runs, skipInvalid, onStage, onNote, signal: interruptSignal() };
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
  process.stdout.write(json ? scores : evaluated.text);
  if (out === undefined) return;
  writeFileAtomically(out, scores);
  process.stderr.write(`\nScores: ${out}\n`);
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
