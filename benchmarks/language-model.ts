/*
 * The six detectors against a real model behind a real server (tests/interop/language-model-server.ts installs both): the
 * share of readable answers with and without JSON schemas, repairs, parts that could not be read, log-probabilities, calls and
 * tokens beside the dry run's. The model is tiny and judges badly; what matters is what Earshot makes of bad answers. This
 * server knows JSON schemas by a name of its own, so a proxy translates them, or refuses them as many servers do. Usage:
 *
 *   node --import tsx benchmarks/language-model.ts [--detectors single-prompt,s2mad] [--threads 2] [--posts 3]
 *     [--schemas taken,refused]
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import { markdownTable } from 'markdown-table';
import { z } from 'zod';
import { judgeWithModels } from '../experiments/judging/judge-with-models.ts';
import { AnnotationStore } from '../experts/annotations/annotation-store.ts';
import type { DryRunEstimate } from '../experts/llm/cost/dry-run-chat-service.ts';
import { synthesizeThreads } from '../src/data/synthetic/stream.ts';
import { jsonOrUndefined } from '../src/json.ts';
import { type DetectorName, detectorFileFor, detectorNames } from '../tests/interop/detector-files.ts';
import { startLanguageModel } from '../tests/interop/language-model-server.ts';

const { values: options } = parseArgs({
  options: {
    detectors: { type: 'string', default: detectorNames.join(',') },
    threads: { type: 'string', default: '2' },
    posts: { type: 'string', default: '3' },
    schemas: { type: 'string', default: 'taken,refused' },
  },
});
const names = detectorNames.filter((name) => options.detectors.split(',').includes(name));
const threads = synthesizeThreads({ threads: Number(options.threads), seed: 1 });
const maxPosts = Number(options.posts);

const withSchema = z.looseObject({
  response_format: z.object({ type: z.literal('json_schema'), json_schema: z.object({ schema: z.unknown() }) }),
});

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

const server = await startLanguageModel();
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

/** What a dry run says in all: at least, and at most. */
function range(
  estimates: readonly DryRunEstimate[],
  least: (estimate: DryRunEstimate['atLeast']) => number,
  most: (estimate: DryRunEstimate) => number,
): string {
  return `${sum(estimates.map(({ atLeast }) => least(atLeast)))} to ${sum(estimates.map(most))}`;
}

/** Passes requests on, counts answers, and translates JSON schemas or refuses them. */
async function countingProxy(upstream: string, { schemas }: { schemas: boolean }) {
  const counts = { answers: 0, withLogprobs: 0, repairs: 0 };
  const proxy = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const parsed = jsonOrUndefined(body.toString());
    const schema = withSchema.safeParse(parsed);
    const wantsSchema = typeof parsed === 'object' && parsed !== null && 'response_format' in parsed;
    if (wantsSchema && !schemas) {
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { message: 'response_format is not supported by this model' } }));
      return;
    }
    if (schema.success)
      Object.assign(schema.data, {
        response_format: { type: 'json_object', schema: schema.data.response_format.json_schema.schema },
      });
    const answer = await fetch(`${upstream}${request.url?.replace(/^\/v1/, '') ?? ''}`, {
      method: request.method ?? 'POST',
      headers: { 'content-type': 'application/json' },
      body: schema.success ? JSON.stringify(schema.data) : body,
    });
    const text = await answer.text();
    if (answer.ok) counts.answers++;
    if (answer.ok && body.includes('Your answer could not be used')) counts.repairs++;
    if (/"logprobs":\s*\{/.test(text)) counts.withLogprobs++;
    response.writeHead(answer.status, { 'content-type': 'application/json' });
    response.end(text);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const { port } = proxy.address() as AddressInfo;
  return { counts, baseURL: `http://127.0.0.1:${port}/v1`, close: () => proxy.close() };
}
