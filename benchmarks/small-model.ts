/*
 * Recipes on detectors with a real model behind a real server (tests/interop/language-model-server.ts installs both) in the place of
 * theirs. This server knows JSON schemas by a name of its own, so a proxy translates them. What the web search of `zofia` finds are
 * claims of another threads file, and its Wikipedia has no article. Usage:
 *
 *   node --import tsx benchmarks/small-model.ts [experiments/recipes/small-model.yaml] [--data threads.jsonl] [--documents threads.jsonl]
 *     [--max-tokens 160] [--longest-text 200] [--variants one,another] [--runs runs] [--port 8765] [--server http://…/v1] [--set path=value …]
 *
 * With --server a running one is asked in the place of the one that this starts. Both answer one request at a time.
 * A text inside a JSON answer has at most --longest-text characters, so that a model that would never end gets to its answer.
 * The port is that of the proxy, and the next one that of the search. They stand in the keys of judgements, so the same one finds what was
 * answered earlier.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { parse } from 'yaml';
import { z } from 'zod';
import { runCommandLine } from '../experiments/cli/main.ts';
import { languageModelName, startLanguageModel } from '../tests/interop/language-model-server.ts';
import { countingProxy } from '../tests/interop/schema-proxy.ts';
import { searchInFile } from './search-in-file.ts';

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    data: { type: 'string' },
    documents: { type: 'string' },
    'max-tokens': { type: 'string', default: '160' },
    'longest-text': { type: 'string', default: '200' },
    variants: { type: 'string' },
    runs: { type: 'string', default: 'runs' },
    port: { type: 'string', default: '8765' },
    server: { type: 'string' },
    set: { type: 'string', multiple: true, default: [] },
  },
});
const [recipe = 'experiments/recipes/small-model.yaml'] = positionals;
const { endpoints } = z
  .looseObject({ endpoints: z.record(z.string(), z.unknown()) })
  .parse(parse(readFileSync(recipe, 'utf8'), { merge: true }));
const port = Number(options.port);
const server =
  options.server === undefined ? await startLanguageModel() : { baseURL: options.server, stop: async () => {} };
const proxy = await countingProxy(server.baseURL, {
  schemas: true,
  port,
  longestText: Number(options['longest-text']),
});
const search = options.documents === undefined ? null : await searchInFile(options.documents, { port: port + 1 });
const ofEndpoints = Object.keys(endpoints).flatMap((name) =>
  Object.entries({
    baseURL: proxy.baseURL,
    model: languageModelName,
    apiKeyEnv: null,
    timeoutMs: 600_000,
    concurrency: 1,
    maxTokens: options['max-tokens'],
  }).map(([key, value]) => `endpoints.${name}.${key}=${value}`),
);
const ofSearch =
  search === null
    ? []
    : [
        `detector.retrieval.webSearch.baseURL=${search.origin}`,
        'detector.retrieval.webSearch.apiKeyEnv=null',
        `detector.retrieval.wikipedia.baseURL=${search.origin}/w/api.php`,
      ];
try {
  const ending = new AbortController();
  process.exitCode = await runCommandLine({
    words: [
      ...['train', recipe, '--runs', options.runs, '--jobs', '1', '--set', 'concurrency=1'],
      ...(options.data === undefined ? [] : ['--data', options.data]),
      ...(options.variants === undefined ? [] : ['--variants', options.variants]),
      ...[...ofEndpoints, ...ofSearch, ...options.set].flatMap((each) => ['--set', each]),
    ],
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    interruptSignal: () => ending.signal,
    onHangUp: () => () => {},
  });
} finally {
  search?.close();
  proxy.close();
  await server.stop();
}
