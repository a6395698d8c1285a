import { Command } from 'commander';
import type { Thread } from '../../src/data/thread.ts';
import { readThreads, threadsOfStream } from '../../src/data/thread-file.ts';
import { InputError, ProviderError } from '../../src/errors.ts';
import { type WorkContext, workContext } from '../../src/work-context.ts';
import type { PrefixJudge } from '../judging/judge-single-prefixes.ts';
import type { DecidedThread, Decider } from '../stop-agent/decide.ts';
import { type BudgetFlags, budgetOf, budgetOptions, unreadableOptions } from './budget-options.ts';
import type { Terminal } from './terminal.ts';

export function decideCommand(terminal: Terminal): Command {
  return new Command('decide')
    .description('Decide when a trained agent stops in threads that need no labels; one line of JSON a thread.')
    .argument('[threads]', 'thread file; without one, lines of standard input are decided as they arrive')
    .option('--run <run>', 'the agent of a run directory, such as runs/quickstart/one-call/seed-1')
    .option('--bundle <folder>', 'the agent of a bundle that `earshot export` made')
    .option('--runs <folder>', 'where the shared cache is; only with --run', 'runs')
    .option('--include-trained', 'keep threads that the agent was trained on, known by their id and claim')
    .option('--skip-invalid', 'leave invalid lines out instead of stopping')
    .option('--detector <file>', 'detector file (.yaml) of language models, asked once a thread for the verdict')
    .option('--store <path>', "annotation store of that detector's judgements; made when absent", 'annotations.sqlite')
    .addOption(unreadableOptions.retry)
    .addOption(budgetOptions.requests)
    .addOption(budgetOptions.tokens)
    .addOption(budgetOptions.money)
    .addHelpText(
      'after',
      `
A line says at which post the agent stops and when that was posted, the probability of stopping at each post, the share of the
thread that was seen (er), what the agent's local detector says of it (verdict), and how often that was asked (calls). With
"stopped": false the thread ended before the agent stopped; with further posts the decision may change. A detector-aware
agent queries its detector while it reads, language models too, and gives probabilities up to the stop. After \`calibrate\` the
agent stops by its promise. shift says how unlike the threads of that promise a thread is, or without one those trained on.

Examples:
  earshot decide threads.jsonl --run runs/quickstart/one-call/seed-1 > decisions.jsonl
  tail -f threads.jsonl | earshot decide --bundle policy
  earshot decide threads.jsonl --bundle policy --detector experiments/recipes/detectors/s2mad.yaml --budget-requests 1000`,
    )
    .action((threads: string | undefined, options: DecideOptions) => decide(threads ?? null, { ...options, terminal }));
}

interface DecideOptions extends BudgetFlags {
  run?: string;
  bundle?: string;
  runs: string;
  includeTrained?: boolean;
  skipInvalid?: boolean;
  detector?: string;
  store: string;
  retryUnreadable?: boolean;
}

/** Threads whose verdicts are waited for at the same time. */
const threadsAtOnce = 64;

async function decide(path: string | null, options: DecideOptions & { terminal: Terminal }): Promise<void> {
  const { includeTrained = false, skipInvalid, terminal } = options;
  const { stdin, stdout, stderr } = terminal;
  const note = (line: string) => stderr.write(`earshot: ${line}\n`);
  // Calls under way are paid for and are waited for; without any, Ctrl-C may end the waiting for a next line at once.
  const stopping =
    options.detector === undefined ? {} : { signal: terminal.interruptSignal('waiting for what was asked') };
  const context = workContext({ onNote: note, ...stopping });
  const [{ withVerdictsBy }, { manyUnlike }] = await Promise.all([
    import('../stop-agent/decide.ts'),
    import('../../checkpoints/bundle/claim-shift.ts'),
  ]);
  const own = await deciderOf(options, context);
  const judge = await judgeOf(options, context);
  try {
    const decider = judge === null ? own : withVerdictsBy(judge, own);
    if (!decider.hasDetector)
      note(`${decider.name} has no detector of its own, so decisions come without a verdict; name one with --detector`);
    const reading = { skipInvalid, onSkipped: note };
    const threads: AsyncIterable<Thread> =
      path === null ? threadsOfStream(stdin, { name: 'standard input', ...reading }) : readThreads(path, reading);
    let count = 0;
    let trained = 0;
    let missing = 0;
    let decided = 0;
    let unlike = 0;
    let firstMissing = '';
    const write = ({ threadId, verdictMissing, ...decision }: DecidedThread) => {
      stdout.write(`${JSON.stringify({ threadId, ...decision, verdictMissing })}\n`);
      decided++;
      if (decision.shift?.isUnlike) unlike++;
      if (verdictMissing === null || judge === null) return;
      if (missing++ === 0) firstMissing = `thread ${threadId}: ${verdictMissing}`;
    };
    const underWay: Promise<void>[] = [];
    let last = Promise.resolve();
    for await (const thread of threads) {
      context.signal.throwIfAborted();
      count++;
      if (decider.isTrainedOn(thread)) trained++;
      if (decider.isTrainedOn(thread) && !includeTrained) continue;
      // In the order of the threads, each as soon as it is there.
      const before = last;
      const decision = decider.decide(thread);
      last = decision.then(async (own) => {
        await before;
        write(own);
      });
      // It is looked at later, when its turn comes.
      last.catch(() => {});
      underWay.push(last);
      if (underWay.length >= (judge === null ? 1 : threadsAtOnce)) await underWay.shift();
    }
    await Promise.all(underWay);
    if (trained > 0)
      note(
        `${decider.name} was trained on ${trained} of the ${count} threads; they are ${includeTrained ? 'not left out' : 'left out (--include-trained keeps them)'}`,
      );
    if (unlike > 0 && decider.promise !== null)
      note(
        `${unlike} of the ${decided} decided threads look unlike those that the promise of ${decider.name} was calibrated on (shift.isUnlike); of like ones, 5 % do. It says nothing about them`,
      );
    else if (unlike > manyUnlike * decided)
      note(
        `${unlike} of the ${decided} decided threads look unlike those that ${decider.name} learnt from (shift.isUnlike); of like ones, 5 % do. Its verdicts may be worse on them`,
      );
    if (missing > 0)
      throw new ProviderError(
        `${missing} verdicts could not be had, such as that of ${firstMissing}. Give the same command again to ask for them once more, with --retry-unreadable for answers that could not be read`,
      );
  } finally {
    await judge?.close();
  }
}

async function judgeOf(options: DecideOptions, context: WorkContext): Promise<PrefixJudge | null> {
  const { detector, store, retryUnreadable = false } = options;
  if (detector === undefined) return null;
  const { openPrefixJudge } = await import('../judging/judge-single-prefixes.ts');
  return openPrefixJudge({ file: detector, store, budget: budgetOf(options), retryUnreadable, context });
}

async function deciderOf({ run, bundle, runs }: DecideOptions, context: WorkContext): Promise<Decider> {
  const { deciderOfBundle, deciderOfRun } = await import('../stop-agent/decide.ts');
  if (run !== undefined && bundle === undefined) return deciderOfRun({ run, runs, context });
  if (bundle !== undefined && run === undefined) return deciderOfBundle(bundle);
  throw new InputError(
    `${run === undefined ? 'neither --run nor --bundle is given' : 'both --run and --bundle are given'}; give one of them`,
  );
}
