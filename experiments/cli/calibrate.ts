import { Command, Option } from '@commander-js/extra-typings';
import type { Guarantee } from '../../checkpoints/policy/guarantee.ts';
import { counted } from '../../src/counted.ts';
import type { Thread } from '../../src/data/thread.ts';
import { InputError } from '../../src/errors.ts';
import { terminalTable } from '../report/table.ts';
import type { curveOf, curveOverSizes } from '../stop-agent/calibrate.ts';
import type { OpenedPolicy } from '../stop-agent/policy/policy-folder.ts';
import { hours, type OptionsOf, properShare } from './option-values.ts';
import { printJson, type Terminal } from './terminal.ts';

const losses = ['disagreement', 'harm', 'withdrawn', 'false-alert'] as const;
/** Losses that compare with the true label. */
const labelled: ReadonlySet<string> = new Set(['harm', 'false-alert']);

export function calibrateCommand(terminal: Terminal) {
  return calibrateOptions().action((folder, options) => calibrate(folder, { ...options, terminal }));
}

type CalibrateOptions = OptionsOf<typeof calibrateOptions>;

function calibrateOptions() {
  return new Command('calibrate')
    .description(
      'Find the threshold at which a policy stops, so that a guarantee about its predictions or its alerts holds. No labels are needed.',
    )
    .argument(
      '<policy>',
      'a policy, or an experiment or a run that has one; the guarantee is written into it, and decide and serve use it',
    )
    .requiredOption(
      '--threads <path>',
      'file of finished threads, labelled or not; those that the policy learnt from or was tested on are left out',
    )
    .option(
      '--risk-level <share>',
      'risk level: largest share of predictions that may change, or of early alerts that may be withdrawn or false',
      properShare,
      0.05,
    )
    .option('--confidence <share>', 'confidence 1 − δ, over the choice of these threads', properShare, 0.9)
    .addOption(
      new Option(
        '--loss <name>',
        'disagreement: another prediction than after all posts; harm, which takes labels: wrong where it is right after all posts; of alerts before the end, withdrawn: not raised after all posts; false-alert, which takes labels',
      )
        .choices(losses)
        .default(undefined, 'withdrawn for a policy with alerts, else disagreement'),
    )
    .option(
      '--quiet <hours>',
      'a thread with a post so shortly before the newest of the file may go on, and is left out; 0 keeps all (default: 99% of the pauses within threads are shorter)',
      hours,
    )
    .option('--curve', 'show what other risk levels and more threads would read, and write nothing')
    .option('--dry-run', 'language models: count queries, tokens and cost, and send nothing')
    .option('--runs <folder>', 'language models: where the cache with their answers is', 'runs')
    .option('--skip-invalid', 'leave invalid lines out instead of stopping')
    .option('--json', 'print what was found as JSON')
    .addHelpText(
      'after',
      `
A folder of old, finished threads is enough: the prediction at the stop is compared with the one after all posts (Learn then Test,
arXiv:2110.01052). The defaults take at least 45 threads, or with alerts at least 97 early ones; with more, the policy may stop earlier. The guarantee is about threads like
these: \`decide\`, \`serve\` and the readers of a bundle mark each thread whose claim looks unlike them, and \`monitor\` checks it on audits.
Choose the risk level before you look at the curve, or calibrate on other threads afterwards.

Examples:
  earshot calibrate runs/quickstart --threads old.jsonl
  earshot calibrate policy --threads old.jsonl --risk-level 0.1 --loss harm
  earshot calibrate runs/debated --threads old.jsonl --dry-run   # what a language model would cost`,
    );
}

async function calibrate(folder: string, options: CalibrateOptions & { terminal: Terminal }): Promise<void> {
  const { terminal, riskLevel: level, confidence, curve = false, json = false } = options;
  const { stdout, stderr } = terminal;
  const { openPolicy } = await import('../stop-agent/policy/policy-folder.ts');
  const { curveOf, curveOverSizes, keptByConfidence, guaranteeFor } = await import('../stop-agent/calibrate.ts');
  const { scoreThreads } = await import('../stop-agent/scored-thread.ts');
  const { guaranteeInWords } = await import('../../checkpoints/policy/guarantee.ts');
  const { guaranteeInBundle } = await import('../../checkpoints/policy/write-bundle.ts');
  const { goldName, taskOfLabel } = await import('../../src/data/task.ts');
  const { watched } = await import('./progress.ts');
  const { policy, loss, cost, read } = await watched(folder, terminal, async (context) => {
    const policy = await openPolicy(folder);
    const loss = options.loss ?? (policy.definition.task.alerts === undefined ? 'disagreement' : 'withdrawn');
    const threads = await freshThreads(policy, { ...options, loss, onNote: context.onNote });
    const asking = { threads, runs: options.runs, context };
    const models = policy.hasDetector ? null : await import('../stop-agent/policy/own-models.ts');
    const cost = (await models?.costOfOwnModels(policy, asking)) ?? null;
    if (cost !== null) context.onNote(cost);
    if (options.dryRun) return { policy, loss, cost, read: null };
    const sequences = await models?.askOwnModels(policy, asking);
    const scored = await scoreThreads(threads, { policy, sequences });
    const task = taskOfLabel(policy.manifest.task);
    const read = scored.map((thread) => ({ ...thread, gold: goldName(task, thread.thread) }));
    return { policy, loss, cost, read };
  });
  if (read === null) {
    if (json) printJson(terminal, { agent: folder, dryRun: true, cost });
    return void stderr.write('Nothing was sent, and no guarantee was written.\n');
  }
  const { limits, task } = policy.definition;
  const terms = { level, confidence, loss, limits, alerts: task.alerts };
  if (curve) {
    const points = curveOf(read, terms);
    const sizes = curveOverSizes(read, terms);
    if (json) printJson(terminal, { agent: folder, loss, confidence, curve: points, sizes });
    else stdout.write(`${curveText(points, loss)}\n${sizesText(sizes)}`);
    return;
  }
  const guarantee = await guaranteeFor(read, terms);
  await guaranteeInBundle(policy.folder, guarantee);
  const byConfidence = keptByConfidence(read, terms);
  const { claims: _, calibratedOn: __, ...rest } = guarantee;
  if (json) return printJson(terminal, { agent: folder, ...rest, confidenceRule: byConfidence });
  const lines = [
    `${guaranteeInWords(guarantee)}.`,
    guarantee.threshold === 1
      ? 'No threshold below 1 keeps that, so the policy reads every thread to its end. Allow more (--risk-level), or give more threads.'
      : `The policy stops where its score exceeds ${guarantee.threshold.toPrecision(4)}. ${foundInWords(guarantee)}`,
    ...(byConfidence === null
      ? []
      : [
          `The detector's own confidence, queried at every post, would read ${percent(byConfidence.er)} for the same guarantee.`,
        ]),
  ];
  stdout.write(`${lines.join('\n')}\n`);
  stderr.write(`\nThe guarantee is in ${policy.folder}; decide, serve and export use it.\n`);
}

function foundInWords({ loss, threads, alerts, losses: lost, bound }: Guarantee): string {
  const early = `Of the ${threads} calibration threads ${alerts} raise an alert before their end, and ${lost} of these`;
  return {
    disagreement: `In ${lost} of the ${threads} calibration threads the prediction would change, which shows that it does in at most ${percent(bound)} of all such threads.`,
    harm: `In ${lost} of the ${threads} calibration threads the prediction is wrong at the stop and right after all posts, which shows that it is in at most ${percent(bound)} of all such threads.`,
    withdrawn: `${early} would be withdrawn after all posts.`,
    'false-alert': `${early} are false.`,
  }[loss];
}

/** Finished threads that are new to the policy, each once, with labels if the loss needs them. */
async function freshThreads(
  policy: OpenedPolicy,
  options: Pick<CalibrateOptions, 'threads' | 'skipInvalid' | 'quiet'> & {
    loss: Guarantee['loss'];
    onNote: (line: string) => void;
  },
): Promise<Thread[]> {
  const { threads: path, loss, skipInvalid, quiet = null, onNote } = options;
  const { readThreads } = await import('../../src/data/thread-file.ts');
  const { calibrationThreads } = await import('../stop-agent/calibration-threads.ts');
  const { goldName, taskOfLabel } = await import('../../src/data/task.ts');
  const task = taskOfLabel(policy.manifest.task);
  const fresh: Thread[] = [];
  const familiar: Thread[] = [];
  let unlabelled = 0;
  for await (const thread of readThreads(path, { skipInvalid, onSkipped: onNote })) {
    if (await policy.isFamiliar(thread)) familiar.push(thread);
    else if (labelled.has(loss) && goldName(task, thread) === null) unlabelled++;
    else fresh.push(thread);
  }
  const { threads, duplicates, unfinished, quietHours } = calibrationThreads(fresh, {
    familiar,
    quietHours: quiet,
  });
  const leftOut = (count: number, which: string) => {
    if (count > 0) onNote(`left out: ${counted(count, 'thread')} ${which}`);
  };
  leftOut(familiar.length, `that ${policy.folder} learnt from or was tested on`);
  leftOut(unlabelled, `without a label, which --loss ${loss} needs`);
  leftOut(duplicates, 'with the claim of another one');
  leftOut(
    unfinished,
    `with a post in the last ${quietHours?.toFixed(1)} h of the file, to which more may come (--quiet 0 keeps them)`,
  );
  if (threads.length === 0)
    throw new InputError(
      `no thread of ${path} is left to calibrate on; give finished threads${labelled.has(loss) ? ' with labels' : ''} that ${policy.folder} has never seen`,
    );
  return [...threads];
}

/** The column heading of a loss. */
const lossHeadings = {
  disagreement: 'predictions that change',
  harm: 'predictions that are wrong only early',
  withdrawn: 'early alerts that are withdrawn',
  'false-alert': 'early alerts that are false',
} as const;

function curveText(points: ReturnType<typeof curveOf>, loss: keyof typeof lossHeadings): string {
  const rows = points.map(({ level, kept }) => [
    percent(level),
    kept === null ? 'more threads needed' : kept.threshold.toPrecision(4),
    kept === null ? '–' : percent(kept.er),
    kept === null ? '–' : `${kept.losses} of ${kept.items}`,
  ]);
  const heading = ['at most', 'threshold', 'posts read', lossHeadings[loss]];
  return `${terminalTable({ heading, rows })}\n`;
}

function sizesText(sizes: ReturnType<typeof curveOverSizes>): string {
  const rows = sizes.map(({ threads, er }) => [String(threads), percent(er)]);
  return `What this guarantee would read with other numbers of threads, by resampling these:\n\n${terminalTable({ heading: ['threads', 'posts read'], rows })}\n`;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)}%`;
}
