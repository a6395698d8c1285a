import { Command } from 'commander';
import { RunDirectory } from '../../checkpoints/run-directory.ts';
import { writeFileAtomically } from '../../src/atomic-file.ts';
import { InputError } from '../../src/errors.ts';
import { numbersTable } from '../report/numbers-table.ts';
import { kindOfRun } from '../run/kind-name.ts';
import type { TaskScores } from '../selector/scores.ts';
import type { evaluateSelectorRun } from '../selector/trained-selector.ts';
import type { evaluateRun } from '../stop-agent/evaluate-run.ts';
import { scoresJson } from '../stop-agent/metrics.ts';
import { systemsTable } from '../stop-agent/report/systems-table.ts';
import type { Terminal } from './terminal.ts';

export function evaluateCommand(terminal: Terminal): Command {
  return new Command('evaluate')
    .description('Test the agent or the selector of a run on another data set.')
    .argument('<run>', 'run directory, such as runs/quickstart/one-call/seed-1')
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
An agent stands beside the rules, a selector beside its task models alone. Threads that the run (or that of --detector) was
trained on are left out, known by their id and claim.

Examples:
  earshot evaluate runs/quickstart/one-call/seed-1 --data other-threads.jsonl
  earshot evaluate runs/weibo/one-call/seed-1 --data covid.jsonl --detector runs/covid/one-call/seed-1`,
    )
    .action((run: string, options: EvaluateOptions) => evaluate(run, { ...options, terminal }));
}

interface EvaluateOptions {
  data: string;
  detector?: string;
  runs: string;
  skipInvalid?: boolean;
  includeTrained?: boolean;
  out?: string;
  json?: boolean;
}

async function evaluate(run: string, options: EvaluateOptions & { terminal: Terminal }): Promise<void> {
  const { data, detector, runs, skipInvalid = false, includeTrained = false, out, json, terminal } = options;
  const { stdout, stderr } = terminal;
  const { watched } = await import('./progress.ts');
  const evaluated = await watched<{ scores: object; text: string }>(run, terminal, (context) =>
    kinds[kindOfRun(RunDirectory.open(run))]({ run, data, detector, runs, skipInvalid, includeTrained, context }),
  );
  const scores = `${JSON.stringify({ run, data, detector, ...evaluated.scores }, null, 2)}\n`;
  stdout.write(json ? scores : evaluated.text);
  if (out === undefined) return;
  writeFileAtomically(out, scores);
  stderr.write(`\nScores: ${out}\n`);
}

const kinds = {
  'stop-agent': evaluatedAgent,
  selector: evaluatedSelector,
  detectors: refuseDetectors,
};

async function refuseDetectors({ run, data }: { run: string; data: string }): Promise<never> {
  throw new InputError(
    `${run} is a run of detectors; to judge other threads with them, train the same experiment with --data ${data} and another --name, or use \`earshot detect ${data}\``,
  );
}

async function evaluatedAgent(settings: Parameters<typeof evaluateRun>[0]) {
  const { evaluateRun } = await import('../stop-agent/evaluate-run.ts');
  const { systems, ...scores } = await evaluateRun(settings);
  const judged = settings.detector === undefined ? '' : `, judged by the detector of ${settings.detector}`;
  const heading = `${scores.threads} threads of ${settings.data}${judged}; 95 % intervals by bootstrap over threads\n\n`;
  return { scores: { systems: systems.map(scoresJson), ...scores }, text: `${heading}${systemsTable(systems)}\n` };
}

async function evaluatedSelector({
  detector,
  ...settings
}: Parameters<typeof evaluateSelectorRun>[0] & { detector: string | undefined }) {
  if (detector !== undefined)
    throw new InputError(`${settings.run} is a selector, which asks no detector; leave --detector out`);
  const [{ evaluateSelectorRun }, { selectorMetrics, testScoresJson }] = await Promise.all([
    import('../selector/trained-selector.ts'),
    import('../selector/scores.ts'),
  ]);
  const { systems, ...scores } = await evaluateSelectorRun(settings);
  const headings = (task: string, items: string) => [
    ...selectorMetrics.map(({ title }, index) => (index === 0 ? `${task} ${title}` : title)),
    items,
  ];
  const cells = (task: TaskScores | null) =>
    task === null
      ? [...selectorMetrics.map(() => '–'), '–']
      : [...selectorMetrics.map(({ name }) => task.values[name].toFixed(3)), String(task.items)];
  const rows = systems.map(({ name, scores: { stance, veracity } }) => [name, ...cells(stance), ...cells(veracity)]);
  const header = ['system', ...headings('stance', 'replies'), ...headings('veracity', 'claims')];
  const table = numbersTable(header, rows);
  const json = systems.map((system) => ({ name: system.name, scores: testScoresJson(system.scores) }));
  return { scores: { systems: json, ...scores }, text: `${scores.threads} threads of ${settings.data}\n\n${table}\n` };
}
