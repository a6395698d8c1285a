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
import { goldName, taskOfLabel } from '../src/data/task.ts';
import { readThreads } from '../src/data/thread-file.ts';
import { InputError } from '../src/errors.ts';
import { mean } from '../src/metrics/summary-statistics.ts';
import { Random } from '../src/tensor/random.ts';

const { values: args, positionals: runs } = parseArgs({
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
const alerts = args.alerts.split(',');
const level = Number(args.level);
const losses = ['withdrawn', 'false-alert'] as const;
const sizes = [200, 500, 1000];

interface Drawn {
  /** Share of draws that find a threshold, that violate the guarantee, and mean share of posts read. */
  readonly calibrated: number;
  readonly violated: number;
  readonly read: number;
  readonly alerts: number;
}

async function populationOf(folder: string) {
  const policy = await openPolicy(folder);
  const threads = [];
  for await (const thread of readThreads(args.threads)) if (!(await policy.isFamiliar(thread))) threads.push(thread);
  const scored = await scoreThreads(threads, { policy });
  const task = taskOfLabel(policy.manifest.task);
  const labelled = scored
    .map((each) => ({ ...each, gold: goldName(task, each.thread) }))
    .filter(({ gold }) => gold !== null);
  const population = labelled.map((each): CalibrationThread => {
    const posts = each.posts.map(({ score, hours }, index) => ({
      score: alerts.includes(each.labelAt(index + 1) ?? '') ? score : 0,
      hours,
    }));
    return { ...each, posts };
  });
  return { population, limits: policy.definition.limits };
}

type Population = Awaited<ReturnType<typeof populationOf>>;

function drawnFrom(
  { population, limits }: Population,
  of: { loss: (typeof losses)[number]; size: number; random: Random },
): Drawn {
  const { loss, size, random } = of;
  const terms = { level, confidence: 0.9, loss, alerts, limits };
  /** Of the whole population, by threshold: its early alerts and those that lose. */
  const cache = new Map<number, { alerts: number; share: number; read: number }>();
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
    const outcome = { alerts: early.length, share: early.length === 0 ? 0 : lost.length / early.length, read };
    cache.set(threshold, outcome);
    return outcome;
  };
  const outcomes = Array.from({ length: Number(args.draws) }, () => {
    const sample = Array.from({ length: size }, () => population[random.integer(population.length)]);
    try {
      const { threshold } = keptBy(sample, terms);
      return cache.get(threshold) ?? whole(threshold);
    } catch (error) {
      if (error instanceof InputError) return null;
      throw error;
    }
  });
  const thresholds = outcomes.filter((each) => each !== null);
  return {
    calibrated: thresholds.length / outcomes.length,
    violated: thresholds.filter(({ share }) => share > level).length / outcomes.length,
    read: mean(thresholds.map((each) => each.read)),
    alerts: mean(thresholds.map((each) => each.alerts / population.length)),
  };
}

const populations = await Promise.all(runs.map(populationOf));
const random = Random.seeded({ seed: Number(args.seed), purpose: 'guarantees about alerts' });
const rows = losses.flatMap((loss) =>
  sizes.map((size) => {
    const of = populations.map((each) => drawnFrom(each, { loss, size, random }));
    const number = (pick: (each: Drawn) => number) =>
      mean(of.map(pick).filter((each) => !Number.isNaN(each))).toFixed(3);
    const worst = Math.max(...of.map(({ violated }) => violated)).toFixed(3);
    return [
      loss,
      String(size),
      number(({ calibrated }) => calibrated),
      `${number(({ violated }) => violated)} (${worst})`,
      number(({ read }) => read),
      number(({ alerts: each }) => each),
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
