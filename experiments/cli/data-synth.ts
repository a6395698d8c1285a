import { Command } from '@commander-js/extra-typings';
import {
  optimalStopping,
  type SyntheticOptions,
  synthesizeThreads,
  syntheticOptionsSchema,
} from '../../src/data/synthetic/stream.ts';
import { writeThreads } from '../../src/data/thread-file.ts';
import { flagOf, number } from './option-values.ts';
import { printJson, type Terminal } from './terminal.ts';

interface Options extends Record<string, unknown> {
  out: string;
  delayCost?: number;
  json?: true;
}

export function dataSynthCommand(terminal: Terminal) {
  const command = new Command('synth')
    .description('Make up a stream of threads whose best stopping rule is known.')
    .requiredOption('-o, --out <file>', 'threads file to write: .jsonl, or .jsonl.gz for gzip')
    .option('--delay-cost <reward>', 'also compute the best stopping rule when each post used costs this much', number)
    .option('--json', 'print the summary as JSON')
    .addHelpText('after', helpAfter);
  const defaults = syntheticOptionsSchema.parse({});
  for (const name of syntheticOptionsSchema.keyof().options) {
    const { description } = syntheticOptionsSchema.shape[name];
    command.option(`${flagOf(name)} <number>`, `${description} (default ${defaults[name]})`, number);
  }
  return command.action((options: Options) => synthToFile(options, terminal));
}

async function synthToFile({ out, delayCost, json, ...rest }: Options, { stdout }: Terminal): Promise<void> {
  const stream: SyntheticOptions = rest;
  const threads = synthesizeThreads(stream);
  await writeThreads(out, threads);
  const posts = threads.reduce((sum, thread) => sum + thread.posts.length, 0);
  const rumors = threads.filter(({ rumor }) => rumor).length;
  const best = delayCost === undefined ? null : optimalStopping({ ...stream, delayCostPerPost: delayCost });
  if (json) {
    const { rule: _, ...optimal } = best ?? { rule: null };
    const summary = { out, threads: threads.length, posts, rumors, ...(best === null ? {} : { optimal }) };
    return printJson({ stdout }, summary);
  }
  if (best !== null)
    stdout.write(
      `best stopping rule at ${delayCost} a post: reward ${best.expectedReward.toFixed(4)}, ` +
        `accuracy ${best.accuracy.toFixed(4)}, ${best.meanPosts.toFixed(2)} posts, ER ${best.earlyRate.toFixed(3)}\n`,
    );
  stdout.write(`${threads.length} threads (${rumors} rumors), ${posts} posts: ${out}\n`);
}

const helpAfter = `
Each post speaks for a rumor, against it, or for neither, with probabilities that depend on the class, on the phase
(early or late), and on whether the thread misleads early or has its evidence late. The Bayes posterior and the
Bayes-optimal rule are therefore exact, and a trained stop agent can be compared with them.

Examples:
  earshot data synth --out synthetic.jsonl
  earshot data synth --threads 2000 --seed 7 --misleading-share 0.4 --delay-cost 0.01 --out hard.jsonl.gz
  earshot data synth --slow-share 0.3 --slow-posts 10 --max-posts 40 --typical-posts 20 --out late.jsonl`;
