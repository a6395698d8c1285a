import { text as wholeText } from 'node:stream/consumers';
import { Command } from '@commander-js/extra-typings';
import type { AnnotateProgress } from '../../experts/asking/annotation-tally.ts';
import { type PrefixSchedule, prefixScheduleSchema } from '../../experts/prefix-schedule.ts';
import { InputError } from '../../src/errors.ts';
import { isDetectorFile } from '../config/is-detector-file.ts';
import type { JudgingMode } from '../judging/judge-options.ts';
import { amount, type OptionsOf, optionValue, positiveInteger, refuseOptions } from './option-values.ts';
import { budgetOf, budgetOptions, maxWaitMsOf, maxWaitOption, ofModels, unreadableOptions } from './shared-options.ts';
import { hasScreen, Interrupted, printResult, type Terminal } from './terminal.ts';

interface AnnotateCommandOptions extends Flags {
  terminal: Terminal;
}

export function annotateCommand(terminal: Terminal) {
  return annotateOptions().action(async (threads, flags) => {
    if (threads !== '-') return annotateFile(threads, { ...flags, terminal });
    refuseOptions(flags, ['batch', 'schedule', 'limit'], 'is for files of threads, and - judges one text');
    if (!isDetectorFile(flags.detector)) refuseModelOptions(flags);
    await annotateText({ ...flags, terminal });
  });
}

type Flags = OptionsOf<typeof annotateOptions>;

function annotateOptions() {
  return new Command('annotate')
    .description('Judge every prefix of every thread of a file with a detector, into an annotation store.')
    .argument(
      '<threads>',
      'thread file, .jsonl or .jsonl.gz; - judges the text of standard input and prints the judgement',
    )
    .option(
      '--store <file>',
      'annotation store (SQLite) that the judgements go to; made when absent (default: annotations.sqlite, or none for -)',
    )
    .requiredOption(
      '--detector <file>',
      'saved local detector (.json), such as that of a run, or a detector file (.yaml) for language models',
    )
    .option('--schedule <which>', 'prefixes judged: every (default), step:<posts> or geometric:<factor>', schedule)
    .option('--limit <count>', 'only the first so many threads of the file', positiveInteger)
    .option('--max-posts <count>', 'posts of a thread that are judged', positiveInteger, 500)
    .option(
      '--concurrency <count>',
      'judgements under way at the same time (default: 1, or 64 with language models)',
      positiveInteger,
    )
    .option('--dry-run', 'language models: count calls, tokens and cost, and send nothing')
    .addOption(budgetOptions.requests)
    .addOption(budgetOptions.tokens)
    .addOption(budgetOptions.money)
    .addOption(maxWaitOption)
    .addOption(unreadableOptions.retry)
    .addOption(unreadableOptions.most)
    .option('--batch', 'language models: ask through batches, for about half the price and within a day')
    .option('--batch-poll <seconds>', 'time between looks at a batch', amount)
    .option('--skip-invalid', 'leave invalid lines out instead of stopping')
    .option('--json', 'print the counts as JSON')
    .addHelpText(
      'after',
      `
A language model is queried once for each judgement. Judgements in the store are not queried again, so the same command
resumes after Ctrl-C, a crash or a full disk. Several processes may fill one store. A local detector costs nothing, so it judges
all prefixes again, and the store keeps the first judgement of each. A judgement holds until the next judged prefix.
An answer that cannot be read is a failure: it is counted, and its text is kept (earshot annotations unreadable). Only
--retry-unreadable queries it again.

Examples:
  echo "The bridge is gone!" | earshot annotate - --detector experiments/recipes/detectors/single-prompt.yaml
  earshot annotate threads.jsonl --store judged.sqlite --detector runs/quickstart/one-query/seed-1/policy/detector.json
  earshot annotate threads.jsonl --store judged.sqlite --detector mine.json --schedule geometric:1.5 --max-posts 200
  earshot annotate threads.jsonl --store judged.sqlite --detector experiments/recipes/detectors/s2mad.yaml --dry-run
  earshot annotate threads.jsonl --store judged.sqlite --detector experiments/recipes/detectors/s2mad.yaml --limit 5
  earshot annotate threads.jsonl --store judged.sqlite --detector experiments/recipes/detectors/s2mad.yaml --budget-money 5
  earshot annotate threads.jsonl --store judged.sqlite --detector experiments/recipes/detectors/single-prompt.yaml --batch
  earshot annotations stats judged.sqlite`,
    );
}

/** Judges the text of standard input, and prints the label, the reason and what that took. */
async function annotateText(options: AnnotateCommandOptions): Promise<void> {
  const { detector, dryRun = false, json, terminal } = options;
  const { dryRunSummary } = await import('../../experts/llm/cost/dry-run-chat-service.ts');
  const { usageSummary } = await import('../../experts/llm/cost/usage.ts');
  const { openJudge } = await import('../judging/judge.ts');
  const { judgeText } = await import('../judging/judge-text.ts');
  const { judgementOf } = await import('./print-annotated.ts');
  const { watched } = await import('./progress.ts');
  if (hasScreen(terminal)) terminal.stderr.write('earshot: reads the text from standard input; Ctrl-D ends it\n');
  const text = (await wholeText(terminal.stdin)).trim();
  if (text === '')
    throw new InputError(
      `standard input holds no text; give one, as in: echo "…" | earshot annotate - --detector ${detector}`,
    );
  const judge = await openJudge(detector);
  const judged = await watched('text', terminal, (context) =>
    judgeText({
      ...options,
      judge,
      text,
      mode: dryRun ? 'dry-run' : 'live',
      budget: budgetOf(options),
      context: { ...context, maxWaitMs: maxWaitMsOf(options) },
    }),
  );
  const { usage, estimates } = judged;
  if (estimates !== null)
    return printResult(terminal, {
      json,
      value: { detector, dryRun, estimates },
      text: `${dryRunSummary(estimates)}\nNothing was sent.\n`,
    });
  const judgement = judgementOf(judged, { terminal });
  const { label, probabilities, explanation } = judgement;
  const shares = Object.entries(probabilities ?? {}).map(([name, value]) => `${name} ${value.toFixed(2)}`);
  const cost = usage.length > 0 ? usageSummary(usage) : 'nothing was sent';
  printResult(terminal, {
    json,
    value: { detector, ...judgement, sent: usage },
    text: [
      `Label: ${label ?? 'none'}${shares.length > 0 ? ` (${shares.join(', ')})` : ''}`,
      ...(explanation === '' ? [] : [`Reason: ${explanation}`]),
      `Cost: ${cost}`,
      '',
    ].join('\n'),
  });
}

async function annotateFile(threads: string, options: AnnotateCommandOptions): Promise<void> {
  const { detector, store = 'annotations.sqlite', skipInvalid = false } = options;
  if (!isDetectorFile(detector)) refuseModelOptions(options);
  const { annotateThreads } = await import('../judging/annotate-threads.ts');
  const { printAnnotated } = await import('./print-annotated.ts');
  const { watched } = await import('./progress.ts');
  let counts: AnnotateProgress | null = null;
  const annotated = await watched(threads, options.terminal, (context) =>
    annotateThreads({
      ...options,
      threads,
      store,
      skipInvalid,
      budget: budgetOf(options),
      mode: modeOf({ ...options, store }),
      onCounts: (now) => {
        counts = now;
      },
      context: { ...context, maxWaitMs: maxWaitMsOf(options) },
    }).catch((error) => {
      throw context.signal.aborted ? new Interrupted(stoppedAt(counts, { ...options, store })) : error;
    }),
  );
  printAnnotated(annotated, { ...options, store });
}

function modeOf({ store, dryRun, batch, batchPoll }: AnnotateCommandOptions & { store: string }): JudgingMode {
  if (dryRun) return 'dry-run';
  if (!batch) return 'live';
  return { batchFolder: `${store}.batches`, pollMs: batchPoll === undefined ? undefined : 1000 * batchPoll };
}

function refuseModelOptions(options: Flags): void {
  const local = `${options.detector} is a local detector, which costs nothing`;
  refuseOptions(
    options,
    ['dryRun', 'batch', ...ofModels],
    `is for language models, and ${local}; leave it out, or give a detector file (.yaml)`,
  );
}

/** Says how far an interrupted command came. */
function stoppedAt(
  counts: AnnotateProgress | null,
  { store, dryRun }: AnnotateCommandOptions & { store: string },
): string {
  if (dryRun) return 'stopped before everything was counted; nothing was sent';
  if (counts === null) return 'stopped before the first judgement';
  return `stopped with ${counts.cached + counts.asked} of ${counts.total} prefixes judged, all kept in ${store}`;
}

const schedule = optionValue((text): PrefixSchedule | null => {
  const [, name, value] = /^([^:]*)(?::(.+))?$/.exec(text) ?? [];
  const number = value === undefined ? {} : { [name === 'step' ? 'posts' : 'factor']: Number(value) };
  return prefixScheduleSchema.safeParse({ name, ...number }).data ?? null;
}, 'Write it as every, step:5 (1 post, then every fifth) or geometric:1.5 (longer by half each time).');
