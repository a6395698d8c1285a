/*
 * Alerts of the settled agent beside those of rules and of two usual early classifiers (PySS3, and a threshold on TF-IDF and logistic
 * regression), on the same splits. A thread alerts at the first post where the score exceeds the threshold and the prediction is the
 * alert; systems with a detector may also alert at the thread's end. Thresholds, the rule, and for the others the least number of posts,
 * are chosen on the development threads. Intervals are a bootstrap over seeds and the threads of each. Usage:
 *
 *   earshot train experiments/recipes/settled.yaml --variants every-post --data threads.jsonl --name settled-set
 *   node --import tsx benchmarks/early-alerts.ts runs/settled-set/every-post [--alert rumor] [--cache folder]
 *
 * The first run makes a Python environment in a cache folder of the user. `--cache` keeps what Python scored.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { markdownTable } from 'markdown-table';
import { z } from 'zod';
import { RunDirectory } from '../checkpoints/run-directory.ts';
import { thresholds } from '../experiments/stop-agent/calibrate.ts';
import { readJudged, readStopProbabilities } from '../experiments/stop-agent/decided-files.ts';
import type { TestThread } from '../experiments/stop-agent/decisions.ts';
import { type Experiment, experimentSchema, taskOf } from '../experiments/stop-agent/experiment.ts';
import { loadParts, openData } from '../experiments/stop-agent/parts.ts';
import { bootstrapGroups } from '../src/metrics/bootstrap.ts';
import {
  type AlertDecisions,
  alertRates,
  erde,
  latencyWeightedF1,
  medianAlertDelay,
} from '../src/metrics/early-alerts.ts';
import { mean, quantile } from '../src/metrics/summary-statistics.ts';
import { interopPython } from '../tests/interop/python.ts';

const { values: options, positionals: variants } = parseArgs({
  allowPositionals: true,
  options: {
    alert: { type: 'string', default: 'rumor' },
    cache: { type: 'string' },
    resamples: { type: 'string', default: '1000' },
  },
});
if (variants.length === 0) throw new Error('give folders of a variant, such as runs/settled-weibo/every-post');
const cache = options.cache ?? mkdtempSync(join(tmpdir(), 'earshot-alerts-'));
mkdirSync(cache, { recursive: true });

const partNames = ['development', 'test'] as const;
type Parts<Of> = Readonly<Record<(typeof partNames)[number], Of>>;

/** A thread as one system reads it. */
interface Scored {
  readonly positive: boolean;
  readonly hours: readonly (number | null)[];
  /** After each post. */
  readonly scores: readonly number[];
  /** Whether the prediction after each post is the alert; null where the score alone decides, and nothing alerts at the end. */
  readonly isAlert: readonly boolean[] | null;
}

/** Where a system alerts. */
interface Point {
  readonly threshold: number;
  readonly minPosts: number;
}

/** One way to score, with the points to choose from. */
interface Family extends Parts<readonly Scored[]> {
  readonly points: readonly Point[];
}

function alertsAt(threads: readonly Scored[], { threshold, minPosts }: Point): AlertDecisions {
  const decided = threads.map(({ scores, isAlert }) => {
    const place = scores.findIndex(
      (score, index) => index + 1 >= minPosts && score > threshold && (isAlert?.[index] ?? true),
    );
    return place >= 0 ? { alerted: true, used: place + 1 } : { alerted: isAlert?.at(-1) ?? false, used: scores.length };
  });
  return {
    alerted: decided.map(({ alerted }) => alerted),
    positive: threads.map(({ positive }) => positive),
    postsUsed: decided.map(({ used }) => used),
    threadPosts: threads.map(({ scores }) => scores.length),
    hours: decided.map(({ used }, index) => threads[index].hours[used - 1]),
  };
}

const numberOf = (value: number | null) => value ?? Number.NaN;
const shown: readonly (readonly [title: string, of: (alerts: AlertDecisions) => number])[] = [
  ['ERDE 5', (each) => numberOf(erde(each, { deadline: 5 }))],
  ['ERDE 50', (each) => numberOf(erde(each, { deadline: 50 }))],
  ['F latency', (each) => latencyWeightedF1(each)],
  ['precision', (each) => alertRates(each).precision],
  ['recall', (each) => alertRates(each).recall],
];

/** Objectives that points are chosen by; higher is better. */
const aims: Readonly<Record<string, (alerts: AlertDecisions) => number>> = {
  'ERDE 50': (each) => -numberOf(erde(each, { deadline: 50 })),
  'F latency': latencyWeightedF1,
};

/** The alerts on the test threads of the point that is best on the development threads. */
function chosen(families: readonly Family[], aim: string): AlertDecisions {
  const tried = families.flatMap((family) =>
    family.points.map((point) => ({ family, point, worth: aims[aim](alertsAt(family.development, point)) })),
  );
  const best = tried.reduce((first, second) => (second.worth > first.worth ? second : first));
  return alertsAt(best.family.test, best.point);
}

const above = (levels: readonly number[]) => levels.map((threshold) => ({ threshold, minPosts: 1 }));

/** Systems that query the detector after every post. */
function withDetector(path: string, { experiment, alert }: { experiment: Experiment; alert: number }) {
  const family = (
    points: readonly Point[],
    score: (thread: TestThread, place: number, part: keyof Parts<0>) => number,
  ) => {
    const scored = (part: keyof Parts<0>) =>
      readJudged(path, part).map((thread): Scored => {
        const { goldLabel, hours, sequence } = thread;
        // Posts beyond those that the detector reads change nothing.
        const places = hours.map((_, index) => Math.min(index, sequence.predicted.length - 1));
        return {
          positive: goldLabel === alert,
          hours,
          scores: hours.map((_, index) => score(thread, index, part)),
          isAlert: places.map((place) => sequence.predicted[place] === alert),
        };
      });
    return { development: scored('development'), test: scored('test'), points };
  };
  const final = { development: readStopProbabilities(path, 'development'), test: readStopProbabilities(path, 'test') };
  const counts = Array.from({ length: 50 }, (_, index) => index + 0.5);
  const posts = family(above(counts), (_, index) => index + 1);
  const confidence = family(
    above(thresholds),
    ({ sequence }, index) => sequence.confidence[Math.min(index, sequence.confidence.length - 1)],
  );
  const hours = family(
    above(experiment.evaluation.hours.map((hour) => hour - 1e-9)),
    (thread, index) => thread.hours[index] ?? -1,
  );
  const allPosts = { ...posts, points: above([Number.POSITIVE_INFINITY]) };
  return {
    settled: [family(above(thresholds), ({ threadId }, index, part) => final[part]?.get(threadId)?.[index] ?? 0)],
    confidence: [confidence],
    'best rule (posts, hours, confidence)': [posts, hours, confidence, allPosts],
    'first alert': [{ ...posts, points: above([0]) }],
    'all posts': [allPosts],
  };
}

const scoresSchema = z.strictObject({ scores: z.array(z.array(z.number())), seconds: z.number() });
const answerSchema = z.strictObject({ ss3: scoresSchema, tfidf: scoresSchema });
const leastPosts = [1, 2, 3, 5, 8, 13, 21, 34];

/** Scores of Python in the order of the judged threads, with quantiles of the development scores as thresholds. */
function withoutDetector(path: string, { scores, alert }: { scores: readonly number[][]; alert: number }): Family {
  const judged = partNames.map((part) => readJudged(path, part));
  const [development, test] = judged.map((threads, part) =>
    threads.map(({ goldLabel, hours }, index): Scored => {
      const place = part === 0 ? index : judged[0].length + index;
      return { positive: goldLabel === alert, hours, scores: scores[place], isAlert: null };
    }),
  );
  const sorted = Float64Array.from(development.flatMap((thread) => thread.scores)).sort();
  const levels = [0.5, ...Array.from({ length: 99 }, (_, index) => quantile(sorted, (index + 1) / 100))];
  const points = levels.flatMap((threshold) => leastPosts.map((minPosts) => ({ threshold, minPosts })));
  return { development, test, points };
}

/** Predictions of both classifiers, trained on the labelled threads of the detector. */
async function scoredByPython(path: string, experiment: Experiment) {
  const { seed } = RunDirectory.open(path).readRecord();
  const file = join(cache, `${experiment.name}-${seed}`);
  if (!existsSync(`${file}.scores.json`)) {
    const parts = await loadParts(await openData(experiment, () => {}), { experiment, seed });
    const { labels, goldLabel } = taskOf(experiment);
    const threads = [...parts.detector, ...parts.development, ...parts.test];
    const textsOf = new Map(threads.map(({ id, posts }) => [id, posts.map(({ text }) => text)]));
    const split = {
      train: parts.detector.map((thread) => ({
        texts: textsOf.get(thread.id),
        alert: labels[goldLabel(thread) ?? -1] === options.alert,
      })),
      queries: partNames.flatMap((part) =>
        readJudged(path, part).map(({ threadId }) => ({ texts: textsOf.get(threadId) })),
      ),
    };
    writeFileSync(`${file}.split.json`, JSON.stringify(split));
    const python = interopPython(join(import.meta.dirname, 'requirements-alerts.txt'));
    const answer = execFileSync(python, [join(import.meta.dirname, 'early-alerts.py'), `${file}.split.json`], {
      env: { ...process.env, OMP_NUM_THREADS: '1', OPENBLAS_NUM_THREADS: '1' },
      maxBuffer: 2 ** 28,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    writeFileSync(`${file}.scores.json`, answer);
  }
  return answerSchema.parse(JSON.parse(readFileSync(`${file}.scores.json`, 'utf8')));
}

/** The systems of one run by name: each a choice of families. */
async function systemsOf(path: string) {
  const experiment: Experiment = RunDirectory.open(path).readConfig(experimentSchema);
  const alert = taskOf(experiment).labels.indexOf(options.alert);
  const { ss3, tfidf } = await scoredByPython(path, experiment);
  const [pyss3, logistic] = [ss3, tfidf].map(({ scores }) => withoutDetector(path, { scores, alert }));
  const systems: Readonly<Record<string, readonly Family[]>> = {
    ...withDetector(path, { experiment, alert }),
    PySS3: [pyss3],
    'PySS3 above 0.5': [{ ...pyss3, points: above([0.5]) }],
    'TF-IDF': [logistic],
  };
  return { systems, seconds: { PySS3: ss3.seconds, 'TF-IDF': tfidf.seconds } };
}

const number = (value: number) => value.toFixed(3);
const signed = (value: number) => `${value < 0 ? '−' : '+'}${number(Math.abs(value))}`;

/** Metrics of a system with intervals, and by how much the settled agent is above it. */
function rowOf(
  name: string,
  { alerts, settled }: { alerts: readonly AlertDecisions[]; settled: readonly AlertDecisions[] },
) {
  const intervals = bootstrapGroups({
    groups: alerts.map(({ alerted }) => alerted.length),
    seed: 1,
    resamples: Number(options.resamples),
    statistics(seed, items) {
      const values = shown.map(([, of]) => of({ ...alerts[seed], items }));
      return [...values, ...shown.map(([, of], index) => of({ ...settled[seed], items }) - values[index])];
    },
  });
  const cells = intervals.map(({ estimate, low, high }, index) => {
    const write = index < shown.length ? number : signed;
    return `${write(estimate)} [${write(low)}, ${write(high)}]`;
  });
  const delay = mean(alerts.map((each) => numberOf(medianAlertDelay(each).posts)));
  const [, erde50, fLatency] = cells.slice(shown.length);
  return [
    name,
    ...cells.slice(0, shown.length),
    delay.toFixed(1),
    ...(alerts === settled ? ['', ''] : [erde50, fLatency]),
  ];
}

for (const variant of variants) {
  const runs = readdirSync(variant, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && RunDirectory.open(join(variant, entry.name)).isFinished())
    .map((entry) => join(variant, entry.name));
  const seeds: Awaited<ReturnType<typeof systemsOf>>[] = [];
  for (const run of runs) seeds.push(await systemsOf(run));
  for (const aim of Object.keys(aims)) {
    const alertsOf = (name: string) => seeds.map(({ systems }) => chosen(systems[name], aim));
    const settled = alertsOf('settled');
    const rows = Object.keys(seeds[0].systems).map((name) =>
      rowOf(name, { alerts: name === 'settled' ? settled : alertsOf(name), settled }),
    );
    const titles = shown.map(([title]) => title);
    const head = ['system', ...titles, 'delay, posts', 'settled minus it: ERDE 50', 'settled minus it: F latency'];
    console.log(`\n${variant}, chosen for ${aim}: ${seeds.length} seeds, ${settled[0].alerted.length} test threads\n`);
    console.log(markdownTable([head, ...rows], { align: ['l', ...head.slice(1).map(() => 'r')] }));
  }
  for (const name of ['PySS3', 'TF-IDF'] as const)
    console.log(`${name}: ${mean(seeds.map(({ seconds }) => seconds[name])).toFixed(1)} s of processor time per seed`);
}
