/*
 * What annotation costs beside the calls themselves: judgements a second of `annotate` against a bare loop over the same
 * client, against a server on this machine that answers in 50 ms with 64 connections; and the time to read a fully
 * cached annotation of 100,000 judgements. Usage:
 *
 *   node --import tsx benchmarks/annotate.ts [--calls 6000] [--cached 100000] [--rounds 3]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { markdownTable } from 'markdown-table';
import { annotate } from '../experts/annotate.ts';
import { AnnotationStore } from '../experts/annotations/annotation-store.ts';
import { createSinglePrompt, singlePromptOptionsSchema } from '../experts/detectors/single-prompt.ts';
import { LiveChatService } from '../experts/llm/sending/live-chat-service.ts';
import { loadJudgingTask } from '../experts/tasks/task-file.ts';
import { prefixOf, type Thread, threadSchema } from '../src/data/thread.ts';
import { Random } from '../src/tensor/random.ts';

const { values: options } = parseArgs({
  options: {
    calls: { type: 'string', default: '6000' },
    cached: { type: 'string', default: '100000' },
    rounds: { type: 'string', default: '3' },
  },
});
const postsAThread = 20;
const connections = 64;

// In a thread of its own, so that its work is not counted as ours.
const server = new Worker(
  `import('${new URL('../node_modules/tsx/dist/esm/api/index.mjs', import.meta.url)}').then(async ({ register }) => {
     register();
     const { ScriptedLlmServer } = await import('${new URL('../tests/llm-server/scripted-llm-server.ts', import.meta.url)}');
     const server = await ScriptedLlmServer.start(() => ({ text: 'Yes', delayMs: 50 }));
     const { parentPort } = await import('node:worker_threads');
     parentPort.on('message', () => parentPort.postMessage(server.requests.length));
     parentPort.postMessage(server.baseURL);
   });`,
  { eval: true },
);
const baseURL = String(await fromServer());
const requestsSoFar = () => {
  server.postMessage('count');
  return fromServer();
};
const directory = mkdtempSync(join(tmpdir(), 'earshot-benchmark-'));
const task = await loadJudgingTask('rumor');

function detector() {
  const service = new LiveChatService({ random: Random.seeded({ seed: 1, purpose: 'jitter' }) });
  const model = { name: 'scripted', baseURL, model: 'tiny', logprobs: 'off', concurrency: connections } as const;
  const config = singlePromptOptionsSchema.parse({ name: 'single-prompt', model });
  return createSinglePrompt({ options: config, task, service });
}

function threadsFor(judgements: number): Thread[] {
  return Array.from({ length: Math.ceil(judgements / postsAThread) }, (_, thread) =>
    threadSchema.parse({
      id: `t${thread}`,
      posts: Array.from({ length: postsAThread }, (_, post) => ({
        id: `${thread}-${post}`,
        text: `thread ${thread}, post ${post}: people in town say that the dam broke this morning, is that so?`,
      })),
    }),
  );
}

const threads = threadsFor(Number(options.calls));
await bareLoop(threads.slice(0, 50));
const rows: string[][] = [];
const ratios: number[] = [];
for (let round = 1; round <= Number(options.rounds); round++) {
  const bare = await bareLoop(threads);
  const annotated = await annotateAll(round);
  ratios.push(annotated / bare);
  rows.push([String(round), bare.toFixed(0), annotated.toFixed(0), (annotated / bare).toFixed(3)]);
}
console.log(`${threads.length * postsAThread} calls; load ${loadavg()[0].toFixed(1)}`);
console.log(markdownTable([['round', 'bare loop, calls/s', 'annotate, judgements/s', 'ratio'], ...rows]));
console.log(`median ratio ${ratios.sort((a, b) => a - b)[ratios.length >> 1].toFixed(3)}\n`);
console.log(markdownTable([['cached judgements', 'seconds', 'requests'], await readCached()]));
rmSync(directory, { recursive: true });
await server.terminate();

async function bareLoop(over: readonly Thread[]): Promise<number> {
  const { judge } = detector();
  const prefixes = over.flatMap((thread) => thread.posts.map((_, index) => [thread, index + 1] as const));
  let next = 0;
  const startedMs = performance.now();
  const worker = async () => {
    while (next < prefixes.length) {
      const [thread, length] = prefixes[next++];
      await judge(prefixOf(thread, length));
    }
  };
  await Promise.all(Array.from({ length: connections }, worker));
  return (1000 * prefixes.length) / (performance.now() - startedMs);
}

async function annotateAll(round: number): Promise<number> {
  const store = AnnotationStore.open(join(directory, `round-${round}.sqlite`));
  const startedMs = performance.now();
  const { asked } = await annotate({ threads, detector: detector(), store, concurrency: connections });
  const perSecond = (1000 * asked) / (performance.now() - startedMs);
  store.close();
  return perSecond;
}

async function readCached(): Promise<string[]> {
  const many = threadsFor(Number(options.cached));
  const store = AnnotationStore.open(join(directory, 'cached.sqlite'));
  const pretending = {
    ...detector(),
    judge: async () => ({
      label: 'rumor',
      probabilities: { rumor: 0.9, 'non-rumor': 0.1 },
      explanation: '',
      transcript: [{ role: 'judge', text: 'Yes' }],
      usage: { requests: 1, inputTokens: 100, outputTokens: 1 },
    }),
  };
  await annotate({ threads: many, detector: pretending, store });
  const before = await requestsSoFar();
  const startedMs = performance.now();
  const { cached } = await annotate({ threads: many, detector: detector(), store, concurrency: connections });
  const seconds = (performance.now() - startedMs) / 1000;
  store.close();
  return [String(cached), seconds.toFixed(2), String(Number(await requestsSoFar()) - Number(before))];
}

function fromServer(): Promise<unknown> {
  return new Promise((resolve, reject) => {
    server.once('message', resolve);
    server.once('error', reject);
  });
}
