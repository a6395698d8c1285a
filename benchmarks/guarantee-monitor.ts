/*
 * What a monitor of a guarantee does on simulated streams of 3,000 threads: how often it ever raises an alarm, and after how many audits
 * of changed predictions. Streams: at the level and above it, a change in the middle, audits that end late or never, a tenth of the
 * threads only. Then --adapt: the share that changes over the whole stream and in the worst window of 500. Usage:
 *
 *   node --import tsx benchmarks/guarantee-monitor.ts [--repeats 300]
 */
import { parseArgs } from 'node:util';
import { markdownTable } from 'markdown-table';
import type { Audit } from '../checkpoints/policy/audit.ts';
import { changedPrediction, isAudited } from '../checkpoints/policy/audit.ts';
import { movedThreshold } from '../experiments/stop-agent/adapt.ts';
import { countedAudits } from '../experiments/stop-agent/monitor.ts';
import { eProcess } from '../src/metrics/e-process.ts';
import { mean, quantile } from '../src/metrics/summary-statistics.ts';
import { Random } from '../src/tensor/random.ts';

const { values } = parseArgs({ options: { repeats: { type: 'string', default: '300' } } });
const repeats = Number(values.repeats);
const threads = 3000;
const minute = 60_000;
const guarantee = { loss: 'disagreement' as const, level: 0.05, threshold: 0.9 };

interface Stream {
  readonly name: string;
  /** Of the thread at this place. */
  readonly changes: (place: number) => number;
  readonly share?: number;
  /** Of those that change and of the others: audits without an end, and minutes until the end on average. */
  readonly missing?: { readonly changed: number; readonly others: number };
  readonly late?: { readonly changed: number; readonly others: number };
}

const streams: Stream[] = [
  { name: '5%', changes: () => 0.05 },
  { name: '5%, a tenth audited', changes: () => 0.05, share: 0.1 },
  { name: '5%, changed ones end late', changes: () => 0.05, late: { changed: 500, others: 50 } },
  { name: '5%, 20% missing', changes: () => 0.05, missing: { changed: 0.2, others: 0.2 } },
  { name: '10%', changes: () => 0.1 },
  { name: '15%', changes: () => 0.15 },
  { name: '25%', changes: () => 0.25 },
  { name: '10%, a tenth audited', changes: () => 0.1, share: 0.1 },
  { name: '10%, half of the changed missing', changes: () => 0.1, missing: { changed: 0.5, others: 0 } },
  { name: '3%, from the middle on 15%', changes: (place) => (place < threads / 2 ? 0.03 : 0.15) },
];

function simulated({ changes, share = 1, missing, late }: Stream, seed: number): Audit[] {
  const random = Random.seeded({ seed, purpose: 'monitored stream' });
  return Array.from({ length: threads }, (_, place): Audit => {
    const isChanged = random.uniform() < changes(place);
    const kind = isChanged ? 'changed' : 'others';
    const opened = place * minute;
    const closed = new Date(opened - Math.log(random.uniform()) * (late?.[kind] ?? 1) * minute).toISOString();
    const ended = { closed, posts: 2, postsUsed: 1, atStop: 'a', atEnd: isChanged ? 'b' : 'a', queries: 1, path: null };
    return {
      threadId: `${seed}-${place}`,
      policy: '',
      threshold: guarantee.threshold,
      opened: new Date(opened).toISOString(),
      probability: share,
      isOutOfDistribution: null,
      outcome: random.uniform() < (missing?.[kind] ?? 0) ? { closed, missing: 'gone' } : ended,
    };
  }).filter(({ threadId }) => isAudited(threadId, { share, seed: 1 }));
}

/** In the order in which threads opened, every earlier look has seen a prefix of what the last one sees, so one pass finds the alarm. */
function alarmOf(audits: readonly Audit[]): number | null {
  const now = new Date(2 * threads * minute);
  const { counted } = countedAudits(audits, { policy: '', guarantee, quietMs: 24 * 60 * minute, now });
  const evidence = eProcess(guarantee.level);
  const place = counted.findIndex(({ outcome }) => evidence.add(changedPrediction(outcome)) >= 20);
  return place < 0 ? null : place + 1;
}

const rows = streams.map((stream) => {
  const alarms = Array.from({ length: repeats }, (_, seed) => alarmOf(simulated(stream, seed)));
  const alarmTimes = alarms.flatMap((each) => each ?? []).sort((a, b) => a - b);
  const median = alarmTimes.length * 2 > repeats ? String(quantile(Float64Array.from(alarmTimes), 0.5)) : '–';
  return [stream.name, `${((100 * alarmTimes.length) / repeats).toFixed(1)}%`, median];
});
console.log(
  `${markdownTable([['predictions change in', 'streams with an alarm', 'audits to the alarm (median)'], ...rows])}\n`,
);

/** A prediction changes with probability drift · (1 − threshold): the right threshold is 1 − level / drift. */
function adaptedStream({ share, drift, seed }: { share: number; drift: (place: number) => number; seed: number }) {
  const random = Random.seeded({ seed, purpose: 'adapted stream' });
  let { threshold } = guarantee;
  const changed = Array.from({ length: threads }, (_, place) => {
    const isChanged = random.uniform() < drift(place) * (1 - threshold);
    const outcome = { posts: 2, postsUsed: 1, atStop: 'a', atEnd: isChanged ? 'b' : 'a' };
    if (random.uniform() < share) threshold = movedThreshold(threshold, [{ probability: share, outcome }], guarantee);
    return Number(isChanged);
  });
  const windows = Array.from({ length: 26 }, (_, window) => mean(changed.slice(100 * window, 100 * window + 500)));
  return { whole: mean(changed), worst: Math.max(...windows) };
}
const drifts = {
  'too careful (2%)': () => 0.2,
  'too early (10%)': () => 1,
  'from 2% to 10% in the middle': (place: number) => (place < threads / 2 ? 0.2 : 1),
};
const adaptedRows = Object.entries(drifts).flatMap(([name, drift]) =>
  [1, 0.2, 0.1].map((share) => {
    const streams = Array.from({ length: repeats }, (_, seed) => adaptedStream({ share, drift, seed }));
    const percent = (of: readonly number[]) => `${(100 * mean(of)).toFixed(1)}%`;
    return [
      name,
      `${100 * share}%`,
      percent(streams.map(({ whole }) => whole)),
      percent(streams.map(({ worst }) => worst)),
    ];
  }),
);
console.log(markdownTable([['calibrated threshold', 'audited', 'change', 'worst window of 500'], ...adaptedRows]));
