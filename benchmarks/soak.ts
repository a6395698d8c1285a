/*
 * Whether `earshot serve` stays as it is over time: threads are begun, grow post by post, are decided, deleted or left alone until
 * they expire, while the bundle is loaded anew every ten minutes. Prints a line a minute, then how memory moved:
 *
 *   taskset -c 1 node --import tsx benchmarks/soak.ts --bundle policy [--minutes 60] [--rate 100] [--sessions redis://localhost:6379]
 *
 * Started so, the server and its load share one core. A request without an answer is sent again. It ends with 1 where one
 * failed five times or memory grew by a tenth.
 */
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { Redis } from 'ioredis';
import { synthesizeThreads } from '../src/data/synthetic/stream.ts';
import type { Thread } from '../src/data/thread.ts';
import { quantile } from '../src/metrics/summary-statistics.ts';
import { Random } from '../src/tensor/random.ts';
import { startEarshot } from '../tests/interop/serving.ts';

const { values } = parseArgs({
  options: {
    bundle: { type: 'string' },
    minutes: { type: 'string', default: '60' },
    rate: { type: 'string', default: '100' },
    sessions: { type: 'string', default: 'memory' },
  },
});
if (values.bundle === undefined) throw new Error('give --bundle, a folder that `earshot export` made');
const minutes = Number(values.minutes);
const rate = Number(values.rate);
/** Minutes after which a thread that nobody asks about is forgotten; what is kept is steady from then on. */
const idleMinutes = 5;
const random = Random.seeded({ seed: 1, purpose: 'soak' });
const pool = synthesizeThreads({ threads: 2000, seed: 9 });

const words = [`policy=${values.bundle}`, '--sessions', values.sessions, '--idle', String(idleMinutes)];
const server = await startEarshot([...words, '--max-threads', '100000', '--log-level', 'error']);
const redis = values.sessions === 'memory' ? null : new Redis(values.sessions);

/** A thread that somebody is sending. */
interface Sending {
  readonly id: string;
  readonly thread: Thread;
  sent: number;
}
/** One a thread in turn, so that each gets its next post after about ten seconds. Empty places begin a thread. */
const places: (Sending | 'busy' | null)[] = Array.from({ length: rate * 10 }, () => null);
const tally = { begun: 0, decided: 0, deleted: 0, 'left alone': 0, 'requests sent again': 0, failed: 0 };
let milliseconds: number[] = [];

/** A request that is sent again where it got no answer, as a careful client does. */
async function request(method: string, path: string, body?: unknown): Promise<string> {
  const started = performance.now();
  for (let attempt = 1; ; attempt++) {
    try {
      const answer = await attemptRequest(method, path, body, attempt);
      milliseconds.push(performance.now() - started);
      return answer;
    } catch (error) {
      if (attempt === 5) throw error;
      tally['requests sent again']++;
      console.error(`${method} ${path}: ${said(error)}`);
      await delay(1000 * attempt);
    }
  }
}

async function attemptRequest(method: string, path: string, body: unknown, attempt: number): Promise<string> {
  const text = body === undefined ? null : JSON.stringify(body);
  // Every fourth body comes packed.
  const isPacked = text !== null && random.uniform() < 0.25;
  const response = await fetch(`${server.address}${path}`, {
    method,
    ...(text !== null && {
      body: isPacked ? gzipSync(text) : text,
      headers: { 'content-type': 'application/json', ...(isPacked && { 'content-encoding': 'gzip' }) },
    }),
  });
  const answer = await response.text();
  const isGone = method === 'DELETE' && attempt > 1 && response.status === 404;
  if (!response.ok && !isGone) throw new Error(`${response.status} ${answer.slice(0, 300)}`);
  return answer;
}

function said(error: unknown): string {
  const { message, cause } = error instanceof Error ? error : new Error(String(error));
  return cause instanceof Error ? `${message}: ${cause.message}` : message;
}

function nextPosts({ thread, sent, id }: Sending) {
  const count = Math.min(1 + random.integer(3), thread.posts.length - sent);
  return thread.posts.slice(sent, sent + count).map(({ id: post, time, author, parent, text }) => ({
    // As long as posts of networks are: the synthetic ones have a dozen characters.
    ...{ id: post, time, author, parent, text: text.padEnd(140, ` ${id}`) },
  }));
}

/** One request of a thread's sender. Returns the thread as it stands, null where its sender is done with it. */
async function step(at: Sending): Promise<Sending | null> {
  const path = `/v1/threads/${at.id}`;
  const chance = random.uniform();
  if (at.sent > 0 && chance < 0.01) {
    await request('DELETE', path);
    tally.deleted++;
    return null;
  }
  if (at.sent > 0 && chance < 0.03) {
    await request('GET', path);
    return at;
  }
  if (at.sent > 0 && chance < 0.05) {
    tally['left alone']++;
    return null;
  }
  const posts = nextPosts(at);
  // Every twentieth request did not arrive, as its sender believes, and is sent again.
  const times = random.uniform() < 0.05 ? 2 : 1;
  const end = at.sent + posts.length === at.thread.posts.length;
  let answer = '';
  for (let time = 0; time < times; time++) answer = await request('POST', `${path}/posts`, { posts, end });
  if (answer.includes('"decision":"stop"')) {
    tally.decided++;
    return null;
  }
  return { ...at, sent: at.sent + posts.length };
}

function begin(): Sending {
  const number = tally.begun++;
  return { id: `soak-${number}`, thread: pool[number % pool.length], sent: 0 };
}

async function turn(place: number): Promise<void> {
  const state = places[place];
  if (state === 'busy') return;
  places[place] = 'busy';
  places[place] = await step(state ?? begin()).catch((error: unknown) => {
    tally.failed++;
    console.error(`given up: ${said(error)}`);
    return null;
  });
}

interface Sample {
  readonly resident: number;
  readonly heap: number;
  readonly external: number;
  readonly threads: number;
  readonly cpuSeconds: number;
}

async function sample(): Promise<Sample> {
  const text = await (await fetch(`${server.address}/metrics`)).text();
  const metric = (name: string) => Number(new RegExp(`^${name} (\\S+)`, 'm').exec(text)?.[1]);
  return {
    resident: metric('process_resident_memory_bytes') / 1e6,
    heap: metric('nodejs_heap_size_used_bytes') / 1e6,
    external: metric('nodejs_external_memory_bytes') / 1e6,
    threads: metric('earshot_open_threads'),
    cpuSeconds: metric('process_cpu_seconds_total'),
  };
}

const redisMegabytes = async () => Number(/used_memory:(\d+)/.exec((await redis?.info('memory')) ?? '')?.[1]) / 1e6;

const columns = [
  'minute',
  'requests/s',
  'p50 ms',
  'p99 ms',
  'of a core',
  'kept threads',
  'resident MB',
  'heap MB',
  'other MB',
];
const line = (cells: readonly (string | number)[]) => console.log(`| ${cells.join(' | ')} |`);
const smallest: { heap: number; resident: number }[] = [];

/** Sends requests at random moments for a minute, then prints what it saw. Heap and other memory are the least of the minute. */
async function soakMinute(minute: number): Promise<void> {
  const started = performance.now();
  const ends = started + 60_000;
  const before = await sample();
  const samples = [before];
  milliseconds = [];
  let due = started;
  let nextSample = started + 5000;
  while (performance.now() < ends) {
    for (; due < performance.now(); due += (-Math.log(1 - random.uniform()) / rate) * 1000)
      void turn(random.integer(places.length));
    if (performance.now() > nextSample) {
      nextSample += 5000;
      samples.push(await sample());
    }
    await delay(5);
  }
  if (minute % 10 === 0) await fetch(`${server.address}/v2/repository/models/policy/load`, { method: 'POST' });
  const last = samples[samples.length - 1];
  const sorted = Float64Array.from(milliseconds).sort();
  const heap = Math.min(...samples.map((each) => each.heap));
  const external = Math.min(...samples.map((each) => each.external));
  smallest.push({ heap, resident: last.resident });
  const seconds = (performance.now() - started) / 1000;
  line([
    minute,
    (sorted.length / seconds).toFixed(0),
    quantile(sorted, 0.5).toFixed(1),
    quantile(sorted, 0.99).toFixed(1),
    `${((100 * (last.cpuSeconds - before.cpuSeconds)) / seconds).toFixed(0)}%`,
    last.threads,
    last.resident.toFixed(0),
    heap.toFixed(1),
    external.toFixed(1),
    ...(redis === null ? [] : [(await redisMegabytes()).toFixed(1)]),
  ]);
}

const median = (numbers: readonly number[]) => quantile(Float64Array.from(numbers).sort(), 0.5);

try {
  const head = redis === null ? columns : [...columns, 'Redis MB'];
  line(head);
  line(head.map(() => '--:'));
  for (let minute = 1; minute <= minutes; minute++) await soakMinute(minute);
  const third = Math.floor(smallest.length / 3);
  const middle = smallest.slice(third, 2 * third);
  const end = smallest.slice(2 * third);
  const growth = (name: 'heap' | 'resident') =>
    median(end.map((each) => each[name])) / median(middle.map((each) => each[name])) - 1;
  const counts = Object.entries(tally).map(([name, count]) => `${count} ${name}`);
  console.log(
    `\nThreads: ${counts.join(', ')}. From the second third to the last, medians: heap ${percent(growth('heap'))}, resident ${percent(growth('resident'))}`,
  );
  if (tally.failed > 0 || growth('heap') > 0.1 || growth('resident') > 0.1) process.exitCode = 1;
} finally {
  redis?.disconnect();
  await server.kill('SIGTERM');
}

function percent(share: number): string {
  return `${share < 0 ? '−' : '+'}${Math.abs(100 * share).toFixed(1)}%`;
}
