/*
 * Whether guarantees about alerts hold: at most 10% of early alerts would be withdrawn after all posts, or are false, with 90%
 * confidence. Usage, with runs of a settled agent and the threads of their set:
 *
 *   node --import tsx benchmarks/guarantee-alerts.ts <run…> --threads threads.jsonl --alerts rumor [--draws 200] [--level 0.1]
 *
 * The threads that a run has never seen are the population. Calibration sets are drawn from it with replacement, so what a threshold
 * does to the population is exact, and a draw violates the guarantee if more of the population's early alerts lose. Means over runs.
 */
import { parseArgs } from 'node:util';
import { markdownTable } from 'markdown-table';
import { stopIn } from '../checkpoints/policy/stops.ts';
import { type CalibrationThread, keptBy } from '../experiments/stop-agent/calibrate.ts';
import { openPolicy } from '../experiments/stop-agent/policy/policy-folder.ts';
import { scoreThreads } from '../experiments/stop-agent/scored-thread.ts';
import { readThreads } from '../src/data/thread-file.ts';
import { InputError } from '../src/errors.ts';
import { mean } from '../src/metrics/summary-statistics.ts';
import { Random } from '../src/tensor/random.ts';

const { values: given, positionals: runs } = parseArgs({
  allowPositionals: true,
  options: {
    threads: { type: 'string', default: '' },
    alerts: { type: 'string', default: 'rumor' },
    draws: { type: 'string', default: '200' },
    level: { type: 'string', default: '0.1' },
    seed: { type: 'string', default: '1' },
    runs: { type: 'string', default: 'runs' },
  },
});
const alerts = given.alerts.split(',');
const level = Number(given.level);
const losses = ['withdrawn', 'false-alert'] as const;
const sizes = [200, 500, 1000];

interface Drawn {
  /** Share of draws that find a threshold, that violate the guarantee, and mean share of posts read. */
  readonly found: number;
  readonly violated: number;
  readonly read: number;
  readonly alerts: number;
}

async function populationOf(folder: string) {
  const policy = await openPolicy(folder);
  const threads = [];
  for await (const thread of readThreads(given.threads)) if (!policy.isFamiliar(thread)) threads.push(thread);
  const scored = await scoreThreads(threads, { policy });
  const labelled = scored
    .map((own) => ({ ...own, gold: policy.goldOf(own.thread) }))
    .filter(({ gold }) => gold !== null);
  const population = labelled.map((own): CalibrationThread => {
    const posts = own.posts.map(({ score, hours }, index) => ({
      score: alerts.includes(own.labelAt(index + 1) ?? '') ? score : 0,
      hours,
    }));
    return { ...own, posts };
  });
  return { population, limits: policy.definition.limits };
}

type Population = Awaited<ReturnType<typeof populationOf>>;

function drawnFrom(
  { population, limits }: Population,
  of: { loss: (typeof losses)[number]; size: number; random: Random },
): Drawn {
  const { loss, size, random } = of;
  const wanted = { level, confidence: 0.9, loss, alerts, limits };
  /** Of the whole population, by threshold: its early alerts and those that lose. */
  const known = new Map<number, { alerts: number; share: number; read: number }>();
  const whole = (threshold: number) => {
    const stops = population.map((thread) => ({ thread, stop: stopIn({ threshold, limits }, thread.posts) }));
    const early = stops.filter(
      ({ thread, stop }) =>
        stop.postsUsed < thread.posts.length && alerts.includes(thread.labelAt(stop.postsUsed) ?? ''),
    );
    const lost = early.filter(({ thread }) => {
      const truth = loss === 'withdrawn' ? thread.labelAt(thread.posts.length) : thread.gold;
      return !alerts.includes(truth ?? '');
    });
    const read = mean(stops.map(({ thread, stop }) => stop.postsUsed / thread.posts.length));
    const found = { alerts: early.length, share: early.length === 0 ? 0 : lost.length / early.length, read };
    known.set(threshold, found);
    return found;
  };
  const found = Array.from({ length: Number(given.draws) }, () => {
    const sample = Array.from({ length: size }, () => population[random.integer(population.length)]);
    try {
      const { threshold } = keptBy(sample, wanted);
      return known.get(threshold) ?? whole(threshold);
    } catch (error) {
      if (error instanceof InputError) return null;
      throw error;
    }
  });
  const kept = found.filter((own) => own !== null);
  return {
    found: kept.length / found.length,
    violated: kept.filter(({ share }) => share > level).length / found.length,
    read: mean(kept.map((own) => own.read)),
    alerts: mean(kept.map((own) => own.alerts / population.length)),
  };
}

const populations = await Promise.all(runs.map(populationOf));
const random = Random.seeded({ seed: Number(given.seed), purpose: 'guarantees about alerts' });
const rows = losses.flatMap((loss) =>
  sizes.map((size) => {
    const of = populations.map((own) => drawnFrom(own, { loss, size, random }));
    const number = (pick: (own: Drawn) => number) => mean(of.map(pick).filter((own) => !Number.isNaN(own))).toFixed(3);
    const worst = Math.max(...of.map(({ violated }) => violated)).toFixed(3);
    return [
      loss,
      String(size),
      number(({ found }) => found),
      `${number(({ violated }) => violated)} (${worst})`,
      number(({ read }) => read),
      number(({ alerts: own }) => own),
    ];
  }),
);
console.log(`${populations.map(({ population }) => population.length).join(', ')} held-out threads`);
console.log(
  markdownTable([
    ['loss', 'calibration threads', 'found', 'violated', 'posts read', 'threads with an early alert'],
    ...rows,
  ]),
);
