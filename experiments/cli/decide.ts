import { statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { setImmediate as immediate } from 'node:timers/promises';
import { Command, Option } from '@commander-js/extra-typings';
import type { Thread } from '../../src/data/thread.ts';
import { readThreads, threadsOfStream } from '../../src/data/thread-file.ts';
import { InputError, ProviderError } from '../../src/errors.ts';
import { quoted } from '../../src/shell-words.ts';
import { type WorkContext, workContext } from '../../src/work-context.ts';
import type { PrefixJudge } from '../judging/judge-single-prefixes.ts';
import { shareWork } from '../run/line-processes.ts';
import type { ThreadDecision } from '../stop-agent/decide.ts';
import type { OpenedPolicy } from '../stop-agent/policy/policy-folder.ts';
import { type OptionsOf, positiveInteger, refuseOptions } from './option-values.ts';
import {
  auditOptions,
  budgetOf,
  budgetOptions,
  maxWaitMsOf,
  maxWaitOption,
  ofBudget,
  unreadableOptions,
} from './shared-options.ts';
import type { Terminal } from './terminal.ts';

export function decideCommand(terminal: Terminal) {
  return decideOptions().action((threads = '-', options) => {
    if (options.detector === undefined)
      refuseOptions(options, [...ofBudget, 'retryUnreadable'], 'is for language models; name them with --detector');
    return decide(threads === '-' ? null : threads, { ...options, terminal });
  });
}

type DecideOptions = OptionsOf<typeof decideOptions>;

function decideOptions() {
  return new Command('decide')
    .description('Decide threads with a policy. They need no labels; one line of JSON per thread.')
    .argument('[threads]', 'thread file; without one, or with -, lines of standard input are decided as they arrive')
    .requiredOption(
      '--policy <folder>',
      'a policy, or an experiment or a run that has one, such as runs/quickstart; what `earshot export` made, too',
    )
    .option('--include-trained', 'keep threads that the policy learnt from, known by their id and claim')
    .option('--skip-invalid', 'leave invalid lines out instead of stopping')
    .option('--detector <file>', "detector file (.yaml) of language models, in place of the policy's own detector")
    .option('--store <path>', "annotation store of that detector's judgements; made when absent", 'annotations.sqlite')
    .addOption(unreadableOptions.retry)
    .addOption(budgetOptions.requests)
    .addOption(budgetOptions.tokens)
    .addOption(budgetOptions.money)
    .addOption(maxWaitOption)
    .addOption(auditOptions.share)
    .addOption(auditOptions.file)
    .addOption(auditOptions.seed)
    .addOption(auditOptions.queries)
    .addOption(
      new Option(
        '--jobs <count>',
        'processes that decide threads (default: one for each core where the file is large, or one with --detector or --audit, whose queries one process counts); the output is the same with any number',
      )
        .argParser(positiveInteger)
        .conflicts(['detector', 'audit']),
    )
    .addHelpText(
      'after',
      `
Each line holds the post at which the policy stops, the time of that post, and why the policy stops (threshold, deadline, or the end
of the thread). It also holds the score at each post up to there, the share of the thread that was read (earliness), the detector's
prediction, and the number of queries. With "stopped": false, the thread ended first, and further posts may change the decision. After
\`calibrate\`, the policy stops by its guarantee. outOfDistribution compares the claim with those of the calibration threads. Without a
guarantee, it compares with the training threads.

Examples:
  earshot decide threads.jsonl --policy runs/quickstart > decisions.jsonl
  earshot decide threads.jsonl --policy runs/quickstart/one-query/seed-1
  tail -f threads.jsonl | earshot decide --policy policy
  earshot decide threads.jsonl --policy policy --audit 10%  # then: earshot monitor policy audits.jsonl
  earshot decide threads.jsonl --policy policy --detector experiments/recipes/detectors/s2mad.yaml --budget-requests 1000`,
    );
}

/** Threads whose predictions are waited for at the same time. */
const threadsAtOnce = 64;

async function decide(path: string | null, options: DecideOptions & { terminal: Terminal }): Promise<void> {
  const { includeTrained = false, skipInvalid, terminal } = options;
  const { stdin, stdout, stderr } = terminal;
  const note = (line: string) => stderr.write(`earshot: ${line}\n`);
  // Calls under way are paid for and are waited for; without any, Ctrl-C may end the waiting for a next line at once.
  const stopping =
    options.detector === undefined ? {} : { signal: terminal.interruptSignal('waiting for what was asked') };
  const context = workContext({ onNote: note, maxWaitMs: maxWaitMsOf(options), ...stopping });
  const { openPolicy } = await import('../stop-agent/policy/policy-folder.ts');
  const { threadDecider } = await import('../stop-agent/decide.ts');
  const { manyFlagged } = await import('../../checkpoints/policy/out-of-distribution.ts');
  const isCounted = options.detector !== undefined || options.audit !== undefined;
  const jobs = isCounted ? 1 : (options.jobs ?? jobsFor(path));
  const judge = await judgeOf(options, context);
  try {
    const policy = await openPolicy(options.policy, { judge });
    if (!policy.hasDetector)
      note(
        `${policy.folder} has no detector of its own, so decisions come without a prediction; name one with --detector${trainedWith(policy)}`,
      );
    const decideHere = threadDecider(policy);
    /** Made with the first thread, so that a command which reads none leaves no file of audits. */
    let auditor: Awaited<ReturnType<typeof auditorOf>> | undefined;
    const reading = { skipInvalid, onSkipped: note };
    const threads: AsyncIterable<Thread> =
      path === null ? threadsOfStream(stdin, { name: 'standard input', ...reading }) : readThreads(path, reading);
    const tally = tallyOf(policy, { includeTrained, note });
    const atOnce = judge === null ? 1 : threadsAtOnce;
    const audits: Promise<void>[] = [];
    async function* taken() {
      for await (const thread of threads) {
        auditor ??= await auditorOf(options, policy);
        if (audits.length >= atOnce) await audits.shift();
        if (await tally.takes(thread)) yield thread;
      }
    }
    await shareWork(taken(), {
      jobs,
      // They decide the threads of their standard input with this policy.
      words: ['decide', '--policy', options.policy, '--include-trained'],
      signal: context.signal,
      atOnce,
      async here(thread: Thread) {
        const audit = (await auditor?.open(thread)) ?? null;
        // What other processes answer comes in between.
        if (jobs > 1) await immediate();
        const decision = decideHere(thread);
        if (audit === null) return decision;
        const audited = decision.then(audit);
        // It is looked at later, when its turn comes.
        audited.catch(() => {});
        audits.push(audited);
        return decision;
      },
      onAnswer(decision: ThreadDecision) {
        stdout.write(`${JSON.stringify(decision)}\n`);
        tally.add(decision);
      },
    });
    await Promise.all(audits);
    tally.tell(manyFlagged);
    const auditQueries = auditor?.queries() ?? 0;
    if (auditQueries >= options.auditQueries)
      note(`the audits took ${auditQueries} queries, as many as --audit-queries allows; later threads were not drawn`);
    if (judge !== null) tally.refuseMissing();
  } finally {
    await judge?.close();
  }
}

/** The detector file of the training, as an example of the option. */
function trainedWith({ manifest }: OpenedPolicy): string {
  const { detector } = manifest.training.experiment;
  const file = typeof detector === 'object' && detector !== null && 'file' in detector ? detector.file : null;
  return typeof file === 'string' ? `, as in the training: --detector ${quoted(file)}` : '';
}

/** Counts the outcomes of threads and prints them at the end. */
function tallyOf(
  policy: Pick<OpenedPolicy, 'folder' | 'manifest' | 'isTrainedOn' | 'isCalibratedOn'>,
  { includeTrained, note }: { includeTrained: boolean; note: (line: string) => void },
) {
  const { folder, manifest } = policy;
  const { guarantee = null } = manifest;
  const counts = { threads: 0, trained: 0, calibrated: 0, decided: 0, flagged: 0, missing: 0 };
  let firstMissing = '';
  return {
    /** True if the thread should be decided. */
    async takes(thread: Thread): Promise<boolean> {
      counts.threads++;
      if (await policy.isCalibratedOn(thread)) counts.calibrated++;
      if (!(await policy.isTrainedOn(thread))) return true;
      counts.trained++;
      return includeTrained;
    },
    add({ threadId, predictionMissing, outOfDistribution }: ThreadDecision): void {
      counts.decided++;
      if (outOfDistribution?.isFlagged) counts.flagged++;
      if (predictionMissing !== null && counts.missing++ === 0)
        firstMissing = `thread ${threadId}: ${predictionMissing}`;
    },
    tell(manyFlagged: number): void {
      const { threads, trained, calibrated, decided, flagged } = counts;
      if (trained > 0)
        note(
          `${folder} was trained on ${trained} of the ${threads} threads; they are ${includeTrained ? 'not left out' : 'left out (--include-trained keeps them)'}`,
        );
      if (calibrated > 0)
        note(
          `the guarantee of ${folder} was found on ${calibrated} of the ${threads} threads; it holds on these by construction, so audits leave them out`,
        );
      if (flagged > 0 && guarantee !== null)
        note(
          `${flagged} of the ${decided} decided threads are out of distribution for the guarantee of ${folder} (outOfDistribution.isFlagged); 5% of threads like the calibration threads are. The guarantee does not cover them`,
        );
      else if (flagged > manyFlagged * decided)
        note(
          `${flagged} of the ${decided} decided threads are out of distribution for ${folder} (outOfDistribution.isFlagged); 5% of threads like its training threads are. Its predictions may be worse on them`,
        );
    },
    /** @throws ProviderError where a language model owes predictions */
    refuseMissing(): void {
      if (counts.missing > 0)
        throw new ProviderError(
          `${counts.missing} predictions could not be had, such as that of ${firstMissing}. Give the same command again to ask for them once more, with --retry-unreadable for answers that could not be read`,
        );
    },
  };
}

/** Bytes of threads that take longer to decide than a process takes to start. */
const bytesWorthAProcess = 2e6;

/** One process per core with enough work for each. @param path null for standard input */
function jobsFor(path: string | null): number {
  const bytes = path === null ? 0 : (statSync(path, { throwIfNoEntry: false })?.size ?? 0);
  return Math.max(1, Math.min(availableParallelism(), Math.floor(bytes / bytesWorthAProcess)));
}

/** Null without --audit. */
async function auditorOf(options: DecideOptions, policy: OpenedPolicy) {
  const { audit: share, audits: file, auditSeed: seed, auditQueries: mostQueries } = options;
  if (share === undefined) return null;
  if (!policy.hasDetector)
    throw new InputError('--audit compares predictions, and there is no detector; name one with --detector');
  const { threadAuditor } = await import('../stop-agent/audit.ts');
  const { auditFile } = await import('../stop-agent/audit-file.ts');
  return threadAuditor(policy, { share, seed, mostQueries, add: auditFile(file) });
}

async function judgeOf(options: DecideOptions, context: WorkContext): Promise<PrefixJudge | null> {
  const { detector, store, retryUnreadable = false } = options;
  if (detector === undefined) return null;
  const { openPrefixJudge } = await import('../judging/judge-single-prefixes.ts');
  return openPrefixJudge({ file: detector, store, budget: budgetOf(options), retryUnreadable, context });
}
