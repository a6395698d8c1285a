import { Command } from 'commander';
import { formatBadItem } from '../../src/data/bad-item.ts';
import type { Thread } from '../../src/data/thread.ts';
import { readThreads, threadsOfStream } from '../../src/data/thread-file.ts';
import { InputError } from '../../src/errors.ts';
import { workContext } from '../../src/work-context.ts';
import { type Decider, deciderOfBundle, deciderOfRun } from '../stop-agent/decide.ts';
import type { Terminal } from './terminal.ts';

export function decideCommand(terminal: Terminal): Command {
  return new Command('decide')
    .description('Decide when a trained agent stops in threads that need no labels; one line of JSON a thread.')
    .argument('[threads]', 'thread file; without one, lines of standard input are decided as they arrive')
    .option('--run <run>', 'the agent of a run directory, such as runs/quickstart/agent/seed-1')
    .option('--bundle <folder>', 'the agent of a bundle that `earshot export` made')
    .option('--runs <folder>', 'where the shared cache is; only with --run', 'runs')
    .option('--include-trained', 'keep threads that the agent was trained on, known by their id and claim')
    .option('--skip-invalid', 'leave invalid lines out instead of stopping')
    .addHelpText(
      'after',
      `
A line says at which post the agent stops and when that was posted, the probability of stopping at each post, the share of the
thread that was seen (er), what the agent's local detector says of it (verdict), and how often that was asked (calls). With
"stopped": false the thread ended before the agent stopped; with further posts the decision may change. An agent that is told its
detector's judgements has the detector asked while it reads, language models too, and gives probabilities up to the stop.

Examples:
  earshot decide threads.jsonl --run runs/quickstart/agent/seed-1 > decisions.jsonl
  tail -f threads.jsonl | earshot decide --bundle policy`,
    )
    .action((threads: string | undefined, options: DecideOptions) => decide(threads ?? null, { ...options, terminal }));
}

interface DecideOptions {
  run?: string;
  bundle?: string;
  runs: string;
  includeTrained?: boolean;
  skipInvalid?: boolean;
}

async function decide(path: string | null, options: DecideOptions & { terminal: Terminal }): Promise<void> {
  const { includeTrained = false, skipInvalid = false, terminal } = options;
  const { stdin, stdout, stderr } = terminal;
  const note = (line: string) => stderr.write(`earshot: ${line}\n`);
  const decider = await deciderOf(options, note);
  const reading = {
    skipInvalid,
    onSkipped: (item: Parameters<typeof formatBadItem>[0]) => note(`skipped ${formatBadItem(item)}`),
  };
  const threads: AsyncIterable<Thread> =
    path === null ? threadsOfStream(stdin, { name: 'standard input', ...reading }) : readThreads(path, reading);
  let count = 0;
  let trained = 0;
  for await (const thread of threads) {
    count++;
    if (decider.isTrainedOn(thread)) trained++;
    if (decider.isTrainedOn(thread) && !includeTrained) continue;
    stdout.write(`${JSON.stringify(await decider.decide(thread))}\n`);
  }
  if (trained > 0)
    note(
      `${decider.name} was trained on ${trained} of the ${count} threads; they are ${includeTrained ? 'not left out' : 'left out (--include-trained keeps them)'}`,
    );
}

function deciderOf({ run, bundle, runs }: DecideOptions, onNote: (line: string) => void): Promise<Decider> {
  if (run !== undefined && bundle === undefined) return deciderOfRun({ run, runs, context: workContext({ onNote }) });
  if (bundle !== undefined && run === undefined) return deciderOfBundle(bundle);
  throw new InputError(
    `${run === undefined ? 'neither --run nor --bundle is given' : 'both --run and --bundle are given'}; give one of them`,
  );
}
