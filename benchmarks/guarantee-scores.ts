/*
 * Judges and scores threads once, for the other benchmarks of the guarantee: every post of the threads that the agent of a run learnt
 * to stop from, and of those that the run has never seen. Usage:
 *
 *   node --import tsx benchmarks/guarantee-scores.ts <run…> --threads threads.jsonl --out folder [--event ferguson] [--runs runs]
 *
 * Writes a JSON Lines file per run, named after its seed, with a thread per line (`ScoredRow`).
 */
import { createWriteStream, mkdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import { openAgentRun } from '../experiments/run/kind-of-run.ts';
import { readParts } from '../experiments/run/parts-file.ts';
import { calibrationThreads } from '../experiments/stop-agent/calibration-threads.ts';
import { openPolicy } from '../experiments/stop-agent/policy/policy-folder.ts';
import { scoreThreads } from '../experiments/stop-agent/scored-thread.ts';
import { type Thread, threadIdentity } from '../src/data/thread.ts';
import { readThreads } from '../src/data/thread-file.ts';
import type { ScoredRow } from './guarantee-rows.ts';

const { values: args, positionals: runs } = parseArgs({
  allowPositionals: true,
  options: {
    threads: { type: 'string' },
    out: { type: 'string' },
    event: { type: 'string' },
    runs: { type: 'string', default: 'runs' },
  },
});
const { threads: path, out, event } = args;
if (path === undefined || out === undefined || runs.length === 0) throw new Error('give runs, --threads and --out');
mkdirSync(out, { recursive: true });
const all: Thread[] = [];
for await (const thread of readThreads(path)) if (event === undefined || thread.event === event) all.push(thread);

for (const folder of runs) {
  const policy = await openPolicy(folder);
  const { demonstrations = [], environment = [] } = readParts(openAgentRun(folder));
  const learntFrom = new Set([...demonstrations, ...environment].map(({ identity }) => identity));
  const [familiar, fresh]: [Thread[], Thread[]] = [[], []];
  for (const thread of all) ((await policy.isFamiliar(thread)) ? familiar : fresh).push(thread);
  const { threads } = calibrationThreads(fresh, { familiar, quietHours: 0 });
  const learnt = familiar.filter((thread) => learntFrom.has(threadIdentity(thread)));
  const scored = await scoreThreads([...learnt, ...threads], { policy });
  const rows = scored.map(({ thread, posts, labelAt, confidence }, index): ScoredRow => {
    const labels = posts.map((_, post) => labelAt(post + 1));
    const classes = [...new Set(labels)];
    return {
      id: thread.id,
      isLearnt: index < learnt.length,
      opened: thread.posts.find(({ time }) => time !== null)?.time ?? null,
      hours: posts.map(({ hours }) => hours),
      labels: labels.map((label) => classes.indexOf(label)),
      confidence: [...confidence],
      settled: posts.map(({ score }) => score),
    };
  });
  const file = join(out, `${basename(folder)}.jsonl`);
  await pipeline(
    rows.map((row) => `${JSON.stringify(row)}\n`),
    createWriteStream(file),
  );
  console.log(`${file}: ${learnt.length} threads that the agent learnt from, ${threads.length} held-out threads`);
}
