/*
 * A day's posts on one server of `earshot serve` or on several behind one Redis, simulated: posts come at random with a daily rhythm, each
 * server answers its share one after another, and a request takes as long as `benchmarks/thread-costs.ts` measured. Prints how
 * busy servers and Redis are, how long requests wait, and what is kept.
 *
 *   node --import tsx benchmarks/a-day.ts --costs costs.json [--posts 1e8] [--servers 1,2,4] [--thread-posts 16] [--read 6] [--peak 1.6]
 *
 * --read is the post at which a thread is decided, --peak the busiest moment (20:00) over the mean. Not simulated: pauses of garbage
 * collection, the network, posts of one thread that follow each other closely.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { markdownTable } from 'markdown-table';
import { Random } from '../src/tensor/random.ts';
import { simulateQueue } from './queue.ts';
import { threadCostsSchema } from './thread-costs-schema.ts';

const { values } = parseArgs({
  options: {
    costs: { type: 'string' },
    posts: { type: 'string', default: '1e8' },
    servers: { type: 'string', default: '1,2,4' },
    'thread-posts': { type: 'string', default: '16' },
    read: { type: 'string', default: '6' },
    peak: { type: 'string', default: '1.6' },
  },
});
if (values.costs === undefined) throw new Error('give --costs, a file that benchmarks/thread-costs.ts --out wrote');
const costs = threadCostsSchema.parse(JSON.parse(readFileSync(values.costs, 'utf8')));
const threadPosts = Number(values['thread-posts']);
const read = Number(values.read);
const peak = Number(values.peak);
const threads = Number(values.posts) / threadPosts;
const day = 24 * 3600;

type Kind = keyof typeof costs.milliseconds;
/** Requests of a thread by kind. With this many open, no server remembers its place in a thread. */
const untilDecision: [Kind, number][] = [
  ['first', 1],
  ['nextReadAgain', Math.max(0, read - 2)],
  ['decision', 1],
];
const sent = {
  'every post': [...untilDecision, ['later', threadPosts - read] as [Kind, number]],
  'posts up to the decision': untilDecision,
};

/** Waits are counted in buckets, each a tenth wider than the one before, from a tenth of a millisecond. */
const bucketOf = (waited: number) => (waited < 1e-4 ? 0 : 1 + Math.floor(Math.log(waited / 1e-4) / Math.log(1.1)));
const waitOf = (bucket: number) => (bucket === 0 ? 0 : 1e-4 * 1.1 ** bucket);

interface Hour {
  readonly buckets: Float64Array;
  count: number;
}

function quantileOf({ buckets, count }: Hour, share: number): number {
  let left = share * count;
  const bucket = buckets.findIndex((inBucket) => {
    left -= inBucket;
    return left <= 0;
  });
  return waitOf(bucket);
}

/** One of the servers: they are alike, and each gets the threads that fall to it. */
function simulateDay(kinds: readonly (readonly [Kind, number])[], servers: number) {
  const requests = kinds.reduce((sum, [, count]) => sum + count, 0);
  const meanRate = (threads * requests) / day / servers;
  const rateAt = (second: number) => meanRate * (1 + (peak - 1) * Math.cos((2 * Math.PI * (second - 20 * 3600)) / day));
  const hours = Array.from({ length: 24 }, (): Hour => ({ buckets: new Float64Array(400), count: 0 }));
  let longest = 0;
  const serviceSeconds = (random: Random) => {
    let left = random.uniform() * requests;
    for (const [kind, count] of kinds) {
      left -= count;
      if (left < 0) return costs.milliseconds[kind].server / 1000;
    }
    return 0;
  };
  simulateQueue({
    seconds: day,
    rateAt,
    mostRate: meanRate * peak,
    serviceSeconds,
    random: Random.seeded({ seed: servers, purpose: 'a day' }),
    onRequest: (second, waited) => {
      const hour = hours[Math.floor(second / 3600)];
      hour.buckets[bucketOf(waited)]++;
      hour.count++;
      if (waited > longest) longest = waited;
    },
  });
  return { meanRate, hours, longest };
}

/** Mean time of a thread's request, of the server or of Redis. */
const meanMs = (kinds: readonly (readonly [Kind, number])[], who: 'server' | 'redis') =>
  kinds.reduce((sum, [kind, count]) => sum + count * costs.milliseconds[kind][who], 0) /
  kinds.reduce((sum, [, count]) => sum + count, 0);

const percent = (share: number) => `${(100 * share).toFixed(0)}%`;
function time(seconds: number): string {
  if (seconds < 1) return `${(1000 * seconds).toFixed(1)} ms`;
  return seconds < 120 ? `${seconds.toFixed(0)} s` : `${(seconds / 60).toFixed(0)} min`;
}

const rows: string[][] = [];
for (const [what, kinds] of Object.entries(sent))
  for (const servers of values.servers.split(',').map(Number)) {
    const { meanRate, hours, longest } = simulateDay(kinds, servers);
    const use = (meanRate * meanMs(kinds, 'server')) / 1000;
    const redisUse = (servers * meanRate * meanMs(kinds, 'redis')) / 1000;
    const busiest = hours[20];
    rows.push([
      what,
      String(servers),
      (servers * meanRate).toFixed(0),
      `${percent(use)}, ${percent(use * peak)}`,
      time(quantileOf(busiest, 0.5)),
      time(quantileOf(busiest, 0.99)),
      time(longest),
      String(hours.filter((hour) => quantileOf(hour, 0.99) > 1).length),
      costs.sessions === 'redis' ? `${percent(redisUse)}, ${percent(redisUse * peak)}` : '–',
    ]);
  }
const head = [
  'sent',
  'servers',
  'requests/s',
  'use of a core: mean, peak',
  'wait at 20:00, median',
  '99th percentile',
  'longest wait',
  'hours of waits above 1 s',
  'Redis: mean, peak',
];
console.log(markdownTable([head, ...rows], { align: ['l', ...head.slice(1).map(() => 'r')] }));

const gigabytes = (perThread: number) => `${((threads * perThread) / 1e9).toFixed(1)} GB`;
const where = costs.sessions === 'redis' ? 'redis' : 'server';
console.log(
  `\n${(threads / 1e6).toFixed(2)} million threads of ${threadPosts} posts, each with one verdict. Decided threads that are kept for a day take ${gigabytes(costs.bytes.decided[where])}, for an hour ${gigabytes(costs.bytes.decided[where] / 24)}; a million open threads of ${costs.postsOfThread} posts take ${(costs.bytes.open[where] / 1000).toFixed(1)} GB.`,
);
