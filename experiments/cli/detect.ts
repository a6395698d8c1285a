import { Command, InvalidArgumentError, Option } from '@commander-js/extra-typings';
import { loadThreads } from '../../src/data/thread-file.ts';
import { InputError } from '../../src/errors.ts';
import { earlyDetectionReplies, type Replies } from '../detectors/decisions.ts';
import type { DetectorEvaluation } from '../detectors/detect.ts';
import { numbersTable } from '../report/numbers-table.ts';
import { budgetOf, budgetOptions, maxWaitMsOf, maxWaitOption, unreadableOptions } from './budget-options.ts';
import { collect, type OptionsOf, positiveInteger, seed } from './option-values.ts';
import { printJson, type Terminal } from './terminal.ts';

export function detectCommand(terminal: Terminal) {
  return detectOptions().action((path, options) => detectIn(path, { ...options, terminal }));
}

type DetectCommandOptions = OptionsOf<typeof detectOptions>;

function detectOptions() {
  return new Command('detect')
    .description('Score detectors on labelled threads: how right they are, and how early.')
    .argument('<threads>', 'thread file, .jsonl or .jsonl.gz')
    .option('--detector <file...>', 'detector file (.yaml) or saved local detector (.json); several side by side')
    .addOption(
      new Option('--train', 'test the local detector on these labels, by cross-validation').conflicts([
        'detector',
        'store',
        'at',
        'budgetRequests',
        'budgetTokens',
        'budgetMoney',
        'maxWait',
        'concurrency',
        'retryUnreadable',
        'maxUnreadable',
      ]),
    )
    .option('--task <name>', 'with --train: which label is decided; that of most threads unless given')
    .option('--set <path=value>', 'with --train: an option of the local detector; may be repeated', collect, [])
    .option('--store <file>', 'annotation store that keeps the judgements; made when absent')
    .option('--limit <count>', 'only so many labelled threads, drawn with each label in proportion', positiveInteger)
    .option('--seed <number>', 'seed of that draw', seed, 1)
    .option('--at <replies>', 'replies seen, such as 0,10,all; 0 is the claim alone', replies, earlyDetectionReplies)
    .addOption(budgetOptions.requests)
    .addOption(budgetOptions.tokens)
    .addOption(budgetOptions.money)
    .addOption(maxWaitOption)
    .option('--concurrency <count>', 'judgements under way at the same time', positiveInteger)
    .addOption(unreadableOptions.retry)
    .addOption(unreadableOptions.most)
    .option('--skip-invalid', 'leave invalid lines out instead of stopping')
    .option('--json', 'print the scores as JSON instead of the table')
    .addHelpText(
      'after',
      `
The labels come from the threads: rumor, veracity, or labels.<task> and labels.<category>. What cannot be read counts as wrong.
A thread with fewer replies than asked for is judged whole. With --store nothing is paid for twice. Intervals, paired differences,
seeds and a page come from an experiment of kind detectors (docs/how-to/compare-detectors.md).

With --train no detector is needed: the local one is trained on the threads, fold by fold, and judges those left out, after all
posts and after the first. --limit takes as many as the detector of an experiment gets (split.detector).

Examples:
  earshot detect threads.jsonl --train
  earshot detect threads.jsonl --train --limit 100 --set encoder.name=universal-sentence-encoder
  earshot detect pheme-test.jsonl --detector experiments/recipes/detectors/s2mad.yaml --store judged.sqlite
  earshot detect pheme-test.jsonl --detector s2mad.yaml s2mad-no-debate.yaml s2mad-one-prompt.yaml --store judged.sqlite
  earshot detect ct_dev.jsonl --detector experiments/recipes/detectors/debate-council.yaml --at all --json`,
    );
}

async function detectIn(path: string, options: DetectCommandOptions & { terminal: Terminal }): Promise<void> {
  const { train, task, set, detector } = options;
  if (train) return (await import('./detect-train.ts')).detectTrain(path, options);
  const [needless] = [task === undefined ? '' : `--task ${task}`, ...set.map((each) => `--set ${each}`)].filter(
    Boolean,
  );
  if (needless !== undefined) throw new InputError(`${needless} is for --train; a detector that exists has its own`);
  if (detector === undefined)
    throw new InputError(
      'no detector is named; give --detector <file>, or --train to test the local one on these labels',
    );
  return detectWith(path, { ...options, detector });
}

async function detectWith(
  path: string,
  options: DetectCommandOptions & { detector: string[]; terminal: Terminal },
): Promise<void> {
  const { detector, store, at, skipInvalid, json, terminal } = options;
  const { stdout } = terminal;
  const [{ usageSummary }, { detect }, scores, { failureOf }, { watched }] = await Promise.all([
    import('../../experts/llm/cost/usage.ts'),
    import('../detectors/detect.ts'),
    import('../detectors/scores.ts'),
    import('./print-annotated.ts'),
    import('./progress.ts'),
  ]);
  const evaluations = await watched(path, terminal, async (context) => {
    const threads = await loadThreads(path, { skipInvalid, onSkipped: context.onNote });
    return detect({
      ...options,
      threads,
      detectors: detector,
      replies: at,
      budget: budgetOf(options),
      maxWaitMs: maxWaitMsOf(options),
      context,
    });
  });
  if (json) printJson(terminal, { threads: path, evaluations });
  else {
    const usage = evaluations.flatMap((evaluation) => evaluation.usage);
    const kept = store === undefined ? '' : `Annotations: ${store}\n`;
    stdout.write(
      `${detectionTable(evaluations, scores)}\n\n${supportLine(evaluations)}\n${usageSummary(usage)}\n${kept}`,
    );
  }
  const failures = evaluations.flatMap((evaluation) => evaluation.failures);
  const unreadable = evaluations.reduce((sum, evaluation) => sum + evaluation.unreadable, 0);
  if (failures.length > 0) throw failureOf({ failures, unreadable, terminal, consequence: ' and count as wrong' });
}

function detectionTable(
  evaluations: readonly DetectorEvaluation[],
  { detectorMetrics }: Pick<typeof import('../detectors/scores.ts'), 'detectorMetrics'>,
): string {
  const all = evaluations.flatMap(({ detector, at }) => at.map((scores) => ({ detector, ...scores })));
  // Money, calibration and the like have a column where anybody knows of any.
  const shown = detectorMetrics.filter(({ name }) => name !== 'macroF1' && all.some(({ values }) => values[name]));
  const labels = Object.keys(all[0].byLabel);
  return numbersTable(
    [
      'detector',
      'replies',
      'items',
      'macro-F1',
      ...labels.map((label) => `F1 ${label} (P, R)`),
      ...shown.map(({ title }) => title),
    ],
    all.map(({ detector, replies: seen, items, macroF1, macroF1Interval: { low, high }, byLabel, values }) => [
      detector,
      String(seen),
      String(items),
      `${macroF1.toFixed(3)} [${low.toFixed(3)}, ${high.toFixed(3)}]`,
      ...labels.map((label) => {
        const { precision, recall, f1 } = byLabel[label];
        return `${f1.toFixed(3)} (${precision.toFixed(2)}, ${recall.toFixed(2)})`;
      }),
      ...shown.map(({ name, decimals }) => values[name]?.toFixed(decimals) ?? '–'),
    ]),
  );
}

/** The same for every detector. */
function supportLine([{ at }]: readonly DetectorEvaluation[]): string {
  const supports = Object.entries(at[0].byLabel).map(([label, { support }]) => ({ label, support }));
  const absent = supports.filter(({ support }) => support === 0).map(({ label }) => label);
  const warning = absent.length === 0 ? '' : `; no thread is ${absent.join(' or ')}, whose F1 of 0 counts in macro-F1`;
  return `Support: ${supports.map(({ label, support }) => `${label} ${support}`).join(', ')}${warning}`;
}

function replies(text: string): Replies[] {
  const counts = text.split(',').map((part) => part.trim());
  if (!counts.every((part) => part === 'all' || /^\d+$/.test(part)))
    throw new InvalidArgumentError('Write it as 0,10,20,all: numbers of replies, all for whole threads.');
  return counts.map((part) => (part === 'all' ? part : Number(part)));
}
