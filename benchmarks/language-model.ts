/*
 * The six detectors against a real model behind a real server (tests/interop/language-model-server.ts installs both): the
 * share of readable answers with and without JSON schemas, repairs, parts that could not be read, log-probabilities, calls and
 * tokens beside the dry run's. The model is tiny and judges badly; what matters is what Earshot makes of bad answers. This
 * server knows JSON schemas by a name of its own, so a proxy translates them, or refuses them as many servers do. Usage:
 *
 *   node --import tsx benchmarks/language-model.ts [--detectors single-prompt,s2mad] [--threads 2] [--posts 3]
 *     [--schemas taken,refused] [--server http://…/v1]
 *
 * With --server a running one is asked in the place of the one that this starts.
 */
import { parseArgs } from 'node:util';
import { markdownTable } from 'markdown-table';
import { judgeWithModels } from '../experiments/judging/judge-with-models.ts';
import { AnnotationStore } from '../experts/annotations/annotation-store.ts';
import type { DryRunEstimate } from '../experts/llm/cost/dry-run-chat-service.ts';
import { synthesizeThreads } from '../src/data/synthetic/stream.ts';
import { type DetectorName, detectorFileFor, detectorNames } from '../tests/interop/detector-files.ts';
import { startLanguageModel } from '../tests/interop/language-model-server.ts';
import { countingProxy } from '../tests/interop/schema-proxy.ts';

const { values: options } = parseArgs({
  options: {
    detectors: { type: 'string', default: detectorNames.join(',') },
    threads: { type: 'string', default: '2' },
    posts: { type: 'string', default: '3' },
    schemas: { type: 'string', default: 'taken,refused' },
    server: { type: 'string' },
  },
});
const names = detectorNames.filter((name) => options.detectors.split(',').includes(name));
const threads = synthesizeThreads({ threads: Number(options.threads), seed: 1 });
const maxPosts = Number(options.posts);

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

const server =
  options.server === undefined ? await startLanguageModel() : { baseURL: options.server, stop: async () => {} };
const rows: string[][] = [];
try {
  for (const name of names)
    for (const schemas of options.schemas.split(',').map((each) => each === 'taken')) {
      const row = await measure(name, { schemas });
      rows.push(row);
      console.error(row.join('  '));
    }
} finally {
  await server.stop();
}
const title = ['detector', 'JSON schemas', 'prefixes', 'judged', 'unreadable', 'unreadable parts', 'repairs'];
const costs = ['with log-probabilities', 'calls', 'calls, dry run', 'tokens', 'tokens, dry run'];
console.log(markdownTable([[...title, ...costs], ...rows]));

async function measure(name: DetectorName, { schemas }: { schemas: boolean }): Promise<string[]> {
  const counting = await countingProxy(server.baseURL, { schemas });
  const file = await detectorFileFor(name, { baseURL: counting.baseURL });
  const store = AnnotationStore.open(':memory:');
  const judging = { file, threads, store, maxPosts, maxUnreadable: 1 };
  const { estimates } = await judgeWithModels({ ...judging, mode: 'dry-run' });
  const { result, usage } = await judgeWithModels(judging);
  store.close();
  counting.close();
  const prefixes = threads.reduce((sum, { posts }) => sum + Math.min(posts.length, maxPosts), 0);
  return [
    name,
    schemas ? 'taken' : 'refused',
    String(prefixes),
    String(result.asked),
    result.failed > result.unreadable ? `${result.unreadable} (${result.failed} failed)` : String(result.unreadable),
    String(result.unreadableParts),
    String(counting.counts.repairs),
    `${counting.counts.withLogprobs} of ${counting.counts.answers}`,
    String(sum(usage.map(({ requests }) => requests))),
    range(
      estimates ?? [],
      ({ calls }) => calls,
      ({ calls }) => calls,
    ),
    String(sum(usage.map(({ inputTokens, outputTokens }) => inputTokens + outputTokens))),
    range(
      estimates ?? [],
      ({ inputTokens, outputTokens }) => inputTokens + outputTokens,
      ({ inputTokens, outputTokensAtMost }) => inputTokens + outputTokensAtMost,
    ),
  ];
}

/** The lower and the upper estimate of a dry run. */
function range(
  estimates: readonly DryRunEstimate[],
  least: (estimate: DryRunEstimate['atLeast']) => number,
  most: (estimate: DryRunEstimate) => number,
): string {
  return `${sum(estimates.map(({ atLeast }) => least(atLeast)))} to ${sum(estimates.map(most))}`;
}
