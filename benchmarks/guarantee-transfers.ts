/*
 * A guarantee on threads that it was not made for: detector, score and threshold of one set on the threads of another, in the order in
 * which they opened. The threshold stays, or follows audits as `earshot monitor --adapt` moves it. Usage, after
 * benchmarks/guarantee-scores.ts:
 *
 *   node --import tsx benchmarks/guarantee-transfers.ts <name>=<folder of calibration scores>,<folder of stream scores> …
 *
 * Folders hold a file per agent. The threshold is calibrated on 400 threads of the first. An audit counts when its thread has ended and so
 * have all audited threads that opened before. The oracle is the earliest threshold at which at most 5% of the stream changes. Means over
 * agents; the worst agent in brackets.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { markdownTable } from 'markdown-table';
import { isAudited } from '../checkpoints/policy/audit.ts';
import { movedThreshold } from '../experiments/stop-agent/adapt.ts';
import { calibrationThresholds } from '../experiments/stop-agent/calibrate.ts';
import { mean } from '../src/metrics/summary-statistics.ts';
import { Random } from '../src/tensor/random.ts';
import { calibratedPlace, heldOutRows, oracleThreshold, outcomesOf, type ScoredRow, stopOf } from './guarantee-rows.ts';

const level = 0.05;
const calibrationSize = 400;
const window = 500;
const percent = (share: number) => `${(100 * share).toFixed(1)}%`;

/** Simulates a stream. @param share of threads that are audited; 0 leaves the threshold where it is */
function streamed(rows: readonly ScoredRow[], { start, share, seed }: { start: number; share: number; seed: number }) {
  let threshold = start;
  const open: { closed: number; move: Parameters<typeof movedThreshold>[1][number] }[] = [];
  const stops = rows.map((row) => {
    const opened = Date.parse(row.opened ?? '');
    while (open.length > 0 && open[0].closed <= opened)
      threshold = movedThreshold(threshold, [open.splice(0, 1)[0].move], { level, loss: 'disagreement' });
    const stop = stopOf(row, { score: 'settled', threshold });
    if (isAudited(row.id, { share, seed })) {
      const posts = row.labels.length;
      const labels = { atStop: String(row.labels[stop.postsUsed - 1]), atEnd: String(row.labels[posts - 1]) };
      const closed = opened + (row.hours.at(-1) ?? 0) * 3_600_000;
      open.push({ closed, move: { probability: share, outcome: { posts, postsUsed: stop.postsUsed, ...labels } } });
    }
    return stop;
  });
  const changes = stops.map((stop) => stop.changes);
  const windows = Array.from({ length: Math.max(1, changes.length - window + 1) }, (_, first) =>
    mean(changes.slice(first, first + window)),
  );
  return { read: mean(stops.map(({ read }) => read)), changed: mean(changes), worst: Math.max(...windows) };
}

function transfer(word: string): string[][] {
  const [name, folders] = word.split('=');
  const [from, to] = folders.split(',');
  const agents = readdirSync(from).map((file, seed) => {
    const random = Random.seeded({ seed, purpose: 'transferred guarantee' });
    const sample = random.shuffled(heldOutRows(join(from, file))).slice(0, calibrationSize);
    const start =
      calibrationThresholds[calibratedPlace(outcomesOf(sample, 'settled'), { items: sample.length, of: () => 1 })];
    const stream = heldOutRows(join(to, file)).filter(({ opened }) => opened !== null);
    stream.sort((a, b) => Date.parse(a.opened ?? '') - Date.parse(b.opened ?? ''));
    return { start, stream, seed };
  });
  return ['fixed', 'oracle', 1, 0.2, 0.1].map((kind) => {
    const share = typeof kind === 'number' ? kind : 0;
    const outcomes = agents.map(({ start, stream, seed }) =>
      streamed(stream, { start: kind === 'oracle' ? oracleThreshold(stream, 'settled') : start, share, seed }),
    );
    const shown = (of: (one: (typeof outcomes)[number]) => number) =>
      `${percent(mean(outcomes.map(of)))} (${percent(Math.max(...outcomes.map(of)))})`;
    return [
      name,
      String(Math.round(mean(agents.map(({ stream }) => stream.length)))),
      share === 0 ? String(kind) : `adapted, ${100 * share}% audited`,
      mean(outcomes.map(({ read }) => read)).toFixed(3),
      shown(({ changed }) => changed),
      shown(({ worst }) => worst),
    ];
  });
}

const header = [
  'transfer',
  'threads',
  'threshold',
  'earliness',
  'predictions that change',
  `worst window of ${window}`,
];
console.log(markdownTable([header, ...process.argv.slice(2).flatMap(transfer)]));
