import { Command, Option } from '@commander-js/extra-typings';
import { markdownTable } from 'markdown-table';
import type { Thread } from '../../src/data/thread.ts';
import { InputError } from '../../src/errors.ts';
import type { curveOf } from '../stop-agent/calibrate.ts';
import type { OpenedPolicy } from '../stop-agent/open-policy.ts';
import { properShare } from './option-values.ts';
import { systemOption } from './system-option.ts';
import { printJson, type Terminal } from './terminal.ts';

const losses = ['disagreement', 'harm'] as const;

export function calibrateCommand(terminal: Terminal) {
  return new Command('calibrate')
    .description('Choose the threshold at which a policy stops, so that a promise about its predictions holds.')
    .argument('<policy>', 'run directory or bundle; the promise is written into it, and decide and serve keep it')
    .addOption(systemOption())
    .requiredOption(
      '--threads <path>',
      'thread file; threads that the policy learnt from or was tested on are left out',
    )
    .option('--max-disagreement <share>', 'share of threads that may lose', properShare, 0.05)
    .option('--confidence <share>', 'how sure the promise is, over the choice of these threads', properShare, 0.9)
    .addOption(
      new Option(
        '--loss <name>',
        'disagreement: another prediction than after all posts, which takes no labels; harm: wrong where it is right after all posts',
      )
        .choices(losses)
        .default('disagreement'),
    )
    .option('--curve', 'show what other promises would read, and write nothing')
    .option('--runs <folder>', 'where the shared cache is; only for a run', 'runs')
    .option('--skip-invalid', 'leave invalid lines out instead of stopping')
    .option('--json', 'print what was found as JSON')
    .addHelpText(
      'after',
      `
Fresh threads, at least 45 for the defaults, show at which threshold on the score the promise holds (Learn then
Test, arXiv:2110.01052). It is about threads like these. \`decide\`, \`serve\` and the readers of a bundle mark each thread whose claim
looks unlike them. Choose the promise before you look at the curve, or calibrate on other threads afterwards.

Examples:
  earshot calibrate runs/quickstart/one-call/seed-1 --threads fresh.jsonl
  earshot calibrate policy --threads fresh.jsonl --max-disagreement 0.1 --loss harm`,
    )
    .action((folder: string, options: CalibrateOptions) => calibrate(folder, { ...options, terminal }));
}

interface CalibrateOptions {
  system?: string;
  threads: string;
  maxDisagreement: number;
  confidence: number;
  loss: (typeof losses)[number];
  curve?: boolean;
  runs: string;
  skipInvalid?: boolean;
  json?: boolean;
}

async function calibrate(folder: string, options: CalibrateOptions & { terminal: Terminal }): Promise<void> {
  const { terminal, maxDisagreement: level, confidence, loss, curve = false, json = false } = options;
  const { stdout, stderr } = terminal;
  const [{ openPolicy }, { curveOf, keptByConfidence, promiseFor }, { promiseInWords }, { watched }] =
    await Promise.all([
      import('../stop-agent/open-policy.ts'),
      import('../stop-agent/calibrate.ts'),
      import('../../checkpoints/policy/promise.ts'),
      import('./progress.ts'),
    ]);
  const { policy, read } = await watched(folder, terminal, async (context) => {
    const policy = await openPolicy({ folder, system: options.system, runs: options.runs, context });
    const scored = await policy.score(await freshThreads(policy, { ...options, onNote: context.onNote }));
    return { policy, read: scored.map((own) => ({ ...own, gold: policy.goldOf(own.thread) })) };
  });
  const wanted = { level, confidence, loss, limits: policy.definition.limits };
  if (curve) {
    const points = curveOf(read, wanted);
    if (json) printJson(terminal, { agent: folder, loss, confidence, curve: points });
    else stdout.write(curveText(points));
    return;
  }
  const promise = await promiseFor(read, wanted);
  await policy.keep(promise);
  const byConfidence = keptByConfidence(read, wanted);
  const { shift, ...found } = promise;
  if (json) return printJson(terminal, { agent: folder, ...found, confidenceRule: byConfidence });
  const lines = [
    `${promiseInWords(promise)}.`,
    promise.threshold === 1
      ? 'No threshold below 1 keeps that, so the policy reads every thread to its end. Promise less, or give more threads.'
      : `The policy stops where its score exceeds ${promise.threshold.toPrecision(4)}, and reads ${percent(promise.er)} of the posts. ${promise.losses} of the ${promise.threads} threads lose, which shows that at most ${percent(promise.bound)} of all such threads do.`,
    ...(byConfidence === null
      ? []
      : [
          `The detector's own confidence, asked at every post, would read ${percent(byConfidence.er)} for the same promise.`,
        ]),
  ];
  stdout.write(`${lines.join('\n')}\n`);
  stderr.write(`\nThe promise is in ${folder}; decide, serve and export keep it.\n`);
}

/** Fresh threads, with labels where the loss needs them. */
async function freshThreads(
  policy: OpenedPolicy,
  options: Pick<CalibrateOptions, 'threads' | 'loss' | 'skipInvalid'> & { onNote: (line: string) => void },
): Promise<Thread[]> {
  const { threads: path, loss, skipInvalid, onNote } = options;
  const { readThreads } = await import('../../src/data/thread-file.ts');
  const fresh: Thread[] = [];
  let known = 0;
  let unlabelled = 0;
  for await (const thread of readThreads(path, { skipInvalid, onSkipped: onNote })) {
    if (policy.isKnown(thread)) known++;
    else if (loss === 'harm' && policy.goldOf(thread) === null) unlabelled++;
    else fresh.push(thread);
  }
  if (known > 0)
    onNote(`${policy.name} learnt from ${known} of these threads or was tested on them; they are left out`);
  if (unlabelled > 0) onNote(`${unlabelled} threads have no label, which --loss harm needs; they are left out`);
  if (fresh.length === 0)
    throw new InputError(
      `no thread of ${path} is left to calibrate on; give threads that ${policy.name} has never seen`,
    );
  return fresh;
}

function curveText(points: ReturnType<typeof curveOf>): string {
  const rows = points.map(({ level, kept }) => [
    percent(level),
    kept === null ? 'more threads needed' : kept.threshold.toPrecision(4),
    kept === null ? '–' : percent(kept.er),
    kept === null ? '–' : `${kept.losses} of ${kept.items}`,
  ]);
  const header = ['at most', 'threshold', 'posts read', 'threads that lose'];
  return `${markdownTable([header, ...rows], { align: ['r', 'r', 'r', 'r'] })}\n`;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
