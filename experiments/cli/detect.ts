import { basename } from 'node:path';
import { Command, Option } from '@commander-js/extra-typings';
import { writeFileAtomically } from '../../src/atomic-file.ts';
import { loadThreads } from '../../src/data/thread-file.ts';
import { InputError, ProviderError } from '../../src/errors.ts';
import { quoted } from '../../src/shell-words.ts';
import type { PlainObject } from '../config/overrides.ts';
import { earlyDetectionReplies, type Replies } from '../detectors/decisions.ts';
import { collect, commandLineOf, list, type OptionsOf, optionValue, positiveInteger, seed } from './option-values.ts';
import { budgetOf, budgetOptions, maxWaitOption, ofModels, unreadableOptions } from './shared-options.ts';
import { printJson, proseWidth, type Terminal } from './terminal.ts';

export function detectCommand(terminal: Terminal) {
  return detectOptions().action((path, options) => {
    const { train, detector } = options;
    if (train) return detectTrain(path, { ...options, terminal });
    if (detector !== undefined) return detectWith(path, { ...options, detector, terminal });
    throw new InputError(
      'no detector is named; give --detector <file>, or --train to test the local one on these labels',
    );
  });
}

type Detecting = OptionsOf<typeof detectOptions> & { terminal: Terminal };

function detectOptions() {
  return new Command('detect')
    .description('Score detectors on labelled threads: how right they are, and how early.')
    .argument('<threads>', 'thread file, .jsonl or .jsonl.gz')
    .option('--detector <file...>', 'detector file (.yaml) or saved local detector (.json); several side by side')
    .addOption(
      new Option('--train', 'test the local detector on these labels, by cross-validation').conflicts([
        ...['detector', 'store', 'csv', 'at', 'concurrency'],
        ...ofModels,
      ]),
    )
    .addOption(
      new Option('--task <name>', 'with --train: which label is decided; that of most threads unless given').conflicts(
        'detector',
      ),
    )
    .addOption(
      new Option('--set <path=value>', 'with --train: an option of the local detector; may be repeated')
        .argParser(collect)
        .default([])
        .conflicts('detector'),
    )
    .option(
      '--store <file>',
      'annotation store that keeps the judgements; made when absent (default: that of the runs)',
    )
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
    .option('--csv <file>', 'also write each judgement beside the true label, with its text and cost, as CSV')
    .option('--runs <folder>', 'where runs and their shared cache go', 'runs')
    .option('--json', 'print the scores as JSON instead of the table')
    .option('--no-html', 'leave out the page of the results, report.html')
    .addHelpText(
      'after',
      `
The labels come from the threads: rumor, veracity, or labels.<task> and labels.<category>. Unreadable answers count as wrong.
A thread with fewer replies than --at gives is judged whole. No judgement is paid for twice. The command is an experiment of kind
detectors with one run for each detector, which replaces that of the last time. Its report has scores, paired differences, what a judgement
takes, the confusion matrix and the surest errors; its page has the transcripts (docs/how-to/compare-detectors.md).

With --train no detector is needed: the local one is trained on the threads, fold by fold, and judges those left out, after all
posts and after the first. --limit takes a number of threads, such as split.detector of an experiment.

Examples:
  earshot detect threads.jsonl --train
  earshot detect threads.jsonl --train --limit 100 --set encoder.name=universal-sentence-encoder
  earshot detect pheme-test.jsonl --detector experiments/recipes/detectors/s2mad.yaml --store judged.sqlite
  earshot detect pheme-test.jsonl --detector s2mad.yaml s2mad-no-debate.yaml s2mad-one-prompt.yaml --store judged.sqlite
  earshot detect pheme-test.jsonl --detector s2mad.yaml --at all --csv judged.csv
  earshot detect ct_dev.jsonl --detector experiments/recipes/detectors/debate-council.yaml --at all --json`,
    );
}

async function detectWith(path: string, options: Detecting & { detector: string[] }): Promise<void> {
  const { store, at, skipInvalid, seed, csv, terminal } = options;
  const { RunDirectory } = await import('../../checkpoints/run-directory.ts');
  const { detectedBy, testSizeOf } = await import('../detectors/detect.ts');
  const { judgementTable, readDetectorsResult } = await import('../detectors/result.ts');
  const { notesTo } = await import('./progress.ts');
  const { train } = await import('./train-experiment.ts');
  const { task, variants } = await detectedBy(options.detector);
  const threads = await loadThreads(path, { skipInvalid });
  const { concurrency, retryUnreadable, maxUnreadable } = options;
  const raw = {
    ...{ kind: 'detectors', task: task.config, variants, seeds: [seed], replies: at, failures: 'wrong' },
    name: nameFor(path),
    data: { threads: path, skipInvalid: skipInvalid ?? false },
    split: { test: testSizeOf(threads, { task, limit: options.limit, onNote: notesTo(terminal) }), seed: null },
    budget: budgetOf(options),
    ...(store !== undefined && { annotations: store }),
    ...(concurrency !== undefined && { concurrency }),
    ...(retryUnreadable !== undefined && { retryUnreadable }),
    ...(maxUnreadable !== undefined && { maxUnreadable }),
  };
  const command = commandLineOf(terminal.words);
  const { members } = await train({
    ...options,
    path,
    raw,
    command,
    set: [],
    keep: 'all',
    restart: true,
  });
  const results = members.map(({ name, trials: [{ directory }] }) => ({
    detector: name,
    ...readDetectorsResult(RunDirectory.open(directory)),
  }));
  if (csv !== undefined) {
    const judged = results.map(({ detector, decisions }) => ({ detector, decisions: [...decisions.values()].flat() }));
    writeFileAtomically(csv, judgementTable(judged, threads));
    terminal.stderr.write(`Judgements beside the labels: ${csv}\n`);
  }
  const failed = results.reduce((sum, result) => sum + result.failed, 0);
  const unread = results.reduce((sum, result) => sum + result.unreadable, 0);
  if (failed > 0)
    throw new ProviderError(
      `${failed} judgements could not be had and count as wrong; give the same command again to ask for them once more${unread > 0 ? `, with --retry-unreadable for the ${unread} whose answer could not be read` : ''}`,
    );
}

function nameFor(path: string): string {
  return `detect-${basename(path)
    .replace(/\.jsonl(\.gz)?$/i, '')
    .replaceAll(/[^\w.-]+/g, '-')}`;
}

const replies = optionValue((text): Replies[] | null => {
  const counts = list(text);
  if (!counts.every((part) => part === 'all' || /^\d+$/.test(part))) return null;
  return counts.map((part) => (part === 'all' ? part : Number(part)));
}, 'Write it as 0,10,20,all: numbers of replies, all for whole threads.');

const whatToDo =
  'label more threads, above all of the rarer labels, or try a sentence encoder (docs/how-to/choose-an-encoder.md)';

/** Cross-validates the local detector on the labels of a file. */
async function detectTrain(path: string, options: Detecting): Promise<void> {
  const { set, limit, seed, skipInvalid, json, terminal } = options;
  const { stdout, stderr } = terminal;
  const { taskIn } = await import('../../src/data/classes-of-labels.ts');
  const { describeThreads } = await import('../../src/data/describe.ts');
  const { wrapped } = await import('../report/terminal-text.ts');
  const { terminalTable } = await import('../report/table.ts');
  const { checkedConfig } = await import('../config/config-problems.ts');
  const { mergeDeep, parseOverride } = await import('../config/overrides.ts');
  const { localDetectorOptionsSchema } = await import('../../experts/detectors/local/train-local-detector.ts');
  const { foundIn, labelCommandFor, readsTimes } = await import('../init/found-threads.ts');
  const { labelsHelp, learningCurveInWords } = await import('../stop-agent/learning-curve.ts');
  const { crossValidate } = await import('../judging/cross-validate.ts');
  const truths = await import('../stop-agent/report/detector-truth.ts');
  const { watched } = await import('./progress.ts');
  const overrides = set.map(parseOverride).reduce<PlainObject>(mergeDeep, {});
  const checked = (input: PlainObject) =>
    checkedConfig({
      schema: localDetectorOptionsSchema,
      input,
      wrong: "the local detector's options (--set) are wrong",
    });
  checked(overrides);
  const { task, heldOut, curve, isWhole } = await watched(path, terminal, async (context) => {
    const threads = await loadThreads(path, { skipInvalid, onSkipped: context.onNote });
    const task =
      options.task === undefined ? foundIn(threads, path).tasks[0].task : taskIn(threads, { name: options.task, path });
    const labelled = Math.min(limit ?? Infinity, threads.filter((thread) => task.goldLabel(thread) !== null).length);
    const timing = readsTimes({ ...describeThreads(threads), labelled });
    const detector = checked(timing ? { timing, ...overrides } : overrides);
    const isWhole = threads.every((thread) => task.goldLabel(thread) !== null);
    return { task, isWhole, ...(await crossValidate({ threads, task, limit, seed, detector, context })) };
  });
  if (json) return printJson(terminal, { threads: path, task: task.name, seed, heldOut, learningCurve: curve });
  const truth = truths.detectorTruth([heldOut], { whatToDo });
  const conclusion = truth.problem ?? 'The detector tells the labels apart better than guessing.';
  const width = proseWidth(terminal);
  const fairness = truths.testedInWords(truth);
  stdout.write(
    `The local detector, cross-validated over ${heldOut.threads} threads labelled for ${task.name}\n\n${fairness === '' ? '' : `${wrapped(fairness, { width })}\n\n`}` +
      `${terminalTable(truths.detectorTruthTable(truth))}\n\n${wrapped(conclusion, { width })}\n${curve.length > 1 ? `\n${wrapped(learningCurveInWords(curve), { width })}\n` : ''}`,
  );
  const more = labelsHelp(curve) && !isWhole ? `      npx ${labelCommandFor(path, task.name)} # more labels\n` : '';
  stderr.write(`\nNext: npx earshot init ${quoted(path)}\n${more}`);
}
