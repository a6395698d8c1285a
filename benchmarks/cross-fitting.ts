/*
 * Cross-fitting beside the parts of a split: what the shipped policy is worth on threads that it has never seen, whether the
 * cross-validated estimate says so beforehand, and whether the guarantee is kept. A line of JSON for each finished run is added to a
 * file, so the same command goes on where it was cut off. Usage:
 *
 *   node --import tsx benchmarks/cross-fitting.ts --data folder-of-the-sets --lines lines.jsonl [--sets weibo,pheme]
 *     [--labels 100,200,350] [--draws 1,2,3] [--protocols cross-fitting,split,cross-validation] [--folds 5] [--timing init|true|false]
 *   node --import tsx benchmarks/cross-fitting.ts --lines lines.jsonl        prints the tables
 *
 * A draw takes labelled threads at random, 300 others without their labels, and up to 700 others as fresh ones. `split` has the parts
 * that `init` gave before cross-fitting. `cross-validation` has no unlabelled threads.
 */
import { appendFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { stopIn } from '../checkpoints/policy/stops.ts';
import { openCache } from '../experiments/stop-agent/cache.ts';
import { runCrossFitted } from '../experiments/stop-agent/cross-fitted-trial.ts';
import { readJudged, readStops } from '../experiments/stop-agent/decided-files.ts';
import { agentName } from '../experiments/stop-agent/decisions.ts';
import { type Experiment, taskOf } from '../experiments/stop-agent/experiment.ts';
import { scoreSystem } from '../experiments/stop-agent/metrics.ts';
import { type OpenedPolicy, openPolicy } from '../experiments/stop-agent/policy/policy-folder.ts';
import { type ScoredThread, scoreThreads } from '../experiments/stop-agent/scored-thread.ts';
import { runTrial } from '../experiments/stop-agent/trial.ts';
import { nearDuplicateAt, nearDuplicates } from '../src/data/near-duplicates.ts';
import { goldName, taskOfLabel } from '../src/data/task.ts';
import type { Thread } from '../src/data/thread.ts';
import { calibration } from '../src/metrics/calibration.ts';
import { classificationScores } from '../src/metrics/classification.ts';
import { mean } from '../src/metrics/summary-statistics.ts';
import { selectBackend } from '../src/tensor/backend.ts';
import { Random } from '../src/tensor/random.ts';
import { workContext } from '../src/work-context.ts';
import { type Case, crossFittingSets, drawOf, protocolSchema, type SetName, threadsOf } from './cross-fitting-draws.ts';
import { isLineOf, type Line, readLines } from './cross-fitting-lines.ts';
import { crossFittingTables } from './cross-fitting-tables.ts';
import { calibratedPlace, outcomesOf, type ScoredRow } from './guarantee-rows.ts';

const { values: args } = parseArgs({
  options: {
    data: { type: 'string' },
    lines: { type: 'string' },
    sets: { type: 'string', default: Object.keys(crossFittingSets).join() },
    labels: { type: 'string', default: '350' },
    draws: { type: 'string', default: '1,2,3,4,5' },
    protocols: { type: 'string', default: protocolSchema.options.join() },
    folds: { type: 'string', default: '5' },
    timing: { type: 'string', default: 'init' },
  },
});
const { data: folder, lines: file } = args;
if (file === undefined) throw new Error('give --lines, the file that runs are added to');

/** Calibration sets that are drawn anew for each trained policy. */
const redraws = 20;
const calibrationThreads = 200;

const backend = await selectBackend('auto');
const context = workContext({ onNote: (line) => console.error(line) });

/** Trains a case and tries what is shipped on fresh threads. */
async function measured(each: Case, { threads, runs }: { threads: readonly Thread[]; runs: string }): Promise<Line> {
  const { experiment, data, learned, unlabelled, fresh } = drawOf(each, { threads });
  const before = process.cpuUsage();
  const directory = join(runs, `${each.protocol}-${each.folds}-${each.timing}`, `seed-${each.draw}`);
  const cache = await openCache(join(runs, 'cache'), experiment);
  const trial = { experiment, seed: each.draw, directory, data, cache, backend, context };
  const run = each.protocol === 'split' ? runTrial : runCrossFitted;
  await run(trial);
  const { user, system } = process.cpuUsage(before);
  const policy = await openPolicy(directory);
  for (const thread of fresh)
    if (await policy.isFamiliar(thread)) throw new Error(`${thread.id} is fresh, and the policy knows it`);
  const scored = await scoreThreads(fresh, { policy });
  const others: Thread[] = [];
  for (const thread of unlabelled) if (!(await policy.isFamiliar(thread))) others.push(thread);
  const calibrating = await scoreThreads(others, { policy });
  cache.annotations.close();
  return {
    ...each,
    seconds: (user + system) / 1e6,
    fresh: fresh.length,
    estimate: estimateOf(directory, experiment),
    shipped: worthOf(policy, scored),
    newClaims: newClaimsOf(policy, { scored, learned }),
    redrawn: each.protocol === 'cross-validation' ? null : redrawn([...calibrating, ...scored], each),
  };
}

/** The run's estimate for the policy that it ships: macro-F1 with its 95% interval. */
function estimateOf(directory: string, experiment: Experiment): Line['estimate'] {
  const { labels } = taskOf(experiment);
  const lastOf = new Map(
    readJudged(directory, 'test').map(({ threadId, sequence: { predicted } }) => [threadId, predicted.at(-1) ?? -1]),
  );
  const atStop = readStops(directory, { labels, part: 'test' }).filter(({ system }) => system === agentName);
  const atEnd = atStop.map((stop) => ({ ...stop, predicted: lastOf.get(stop.threadId) ?? -1 }));
  const resample = { seed: 1, resamples: experiment.evaluation.resamples };
  const scoreOf = (decisions: typeof atStop) => {
    const { values, intervals } = scoreSystem({ name: agentName, queries: 'every', decisions }, { labels, resample });
    return { macroF1: values.macroF1 ?? 0, interval: [...intervals.macroF1] };
  };
  return {
    threads: atStop.length,
    stop: scoreOf(atStop),
    end: scoreOf(atEnd),
    read: mean(atStop.map(({ postsUsed, posts }) => postsUsed / posts)),
    changed: mean(atStop.map(({ predicted }, index) => Number(predicted !== atEnd[index].predicted))),
  };
}

/** Threads whose claims repeat no labelled claim, as folds keep such threads together. */
function newClaimsOf(
  policy: OpenedPolicy,
  { scored, learned }: { scored: readonly ScoredThread[]; learned: readonly Thread[] },
): Line['newClaims'] {
  const task = taskOfLabel(policy.manifest.task);
  const labelled = learned.filter((thread) => task.goldLabel(thread) !== null);
  const threads = scored.map(({ thread }) => thread);
  const repeated = nearDuplicates(threads, { of: labelled, similarity: nearDuplicateAt });
  const others = scored.filter(({ thread }) => !repeated.has(thread));
  const { stop, end } = worthOf(policy, others);
  return { threads: others.length, stop: stop.macroF1, end: end.macroF1 };
}

/** The policy's decisions for threads that it has not seen. */
function worthOf(policy: OpenedPolicy, scored: readonly ScoredThread[]): Line['shipped'] {
  const { task, threshold, limits } = policy.definition;
  const { guarantee = null } = policy.manifest;
  const stops = scored.map(({ posts }) => stopIn({ threshold, limits }, posts).postsUsed);
  const at = (lengthOf: (index: number) => number) => {
    const answers = scored.map(({ thread, labelAt, confidence }, index) => {
      const posts = lengthOf(index);
      const [gold, label] = [goldName(taskOfLabel(task), thread), labelAt(posts)];
      return { gold, label, confidence: confidence[posts - 1], isRight: gold === label };
    });
    const { macroF1 } = classificationScores({
      gold: answers.map(({ gold }) => task.labels.indexOf(gold ?? '')),
      predicted: answers.map(({ label }) => task.labels.indexOf(label ?? '')),
      classes: task.labels.length,
    });
    return { macroF1, calibrationError: calibration(answers)?.expectedError ?? 0 };
  };
  const lengths = scored.map(({ posts }) => posts.length);
  return {
    first: at(() => 1),
    stop: at((index) => stops[index]),
    end: at((index) => lengths[index]),
    read: mean(stops.map((stop, index) => stop / lengths[index])),
    changed: mean(scored.map(({ labelAt }, index) => Number(labelAt(stops[index]) !== labelAt(lengths[index])))),
    guarantee: guarantee && { threshold, bound: guarantee.bound, confidence: guarantee.confidence },
  };
}

/**
 * Calibrates the policy again on threads drawn with replacement from all that it has not learned from, so that the share of
 * predictions that a threshold changes is known.
 */
function redrawn(threads: readonly ScoredThread[], { draw, set }: Case): Line['redrawn'] {
  const rows = threads.map(({ thread, posts, labelAt, confidence }): ScoredRow => {
    const labels = posts.map((_, post) => labelAt(post + 1));
    const classes = [...new Set(labels)];
    return {
      id: thread.id,
      isLearnt: false,
      opened: null,
      hours: posts.map(({ hours }) => hours),
      labels: labels.map((label) => classes.indexOf(label)),
      confidence: [...confidence],
      settled: posts.map(({ score }) => score),
    };
  });
  const outcomes = outcomesOf(rows, 'settled');
  const random = Random.seeded({ seed: draw, purpose: `calibration threads of ${set}` });
  return Array.from({ length: redraws }, () => {
    const counts = new Uint16Array(rows.length);
    for (let index = 0; index < calibrationThreads; index++) counts[random.integer(rows.length)]++;
    const place = calibratedPlace(outcomes, { items: calibrationThreads, of: (thread) => counts[thread] });
    return { changed: outcomes.changed[place], read: outcomes.read[place] };
  });
}

const listOf = (text: string) => text.split(',').map((word) => word.trim());
const isSet = (name: string): name is SetName => Object.hasOwn(crossFittingSets, name);

async function measureAll(data: string, lines: string): Promise<void> {
  const timing = args.timing === 'true' || args.timing === 'false' ? args.timing : 'init';
  const loaded = new Map<SetName, Thread[]>();
  for (const draw of listOf(args.draws).map(Number))
    for (const labels of listOf(args.labels).map(Number))
      for (const set of listOf(args.sets)) {
        if (!isSet(set))
          throw new Error(`there is no set "${set}"; the sets are ${Object.keys(crossFittingSets).join()}`);
        const threads = loaded.get(set) ?? (await threadsOf(set, data));
        loaded.set(set, threads);
        // The protocols of a draw share detectors and judgements.
        const runs = mkdtempSync(join(tmpdir(), 'earshot-cross-fitting-'));
        try {
          for (const protocol of listOf(args.protocols)) {
            const measuredCase = {
              set,
              labels,
              draw,
              protocol: protocolSchema.parse(protocol),
              folds: Number(args.folds),
              timing,
            } as const;
            if (existsSync(lines) && readLines(lines).some((line) => isLineOf(line, measuredCase))) continue;
            const line = await measured(measuredCase, { threads, runs });
            appendFileSync(lines, `${JSON.stringify(line)}\n`);
            console.error(
              `${JSON.stringify(measuredCase)}: ${line.seconds.toFixed(0)} s, ${line.shipped.stop.macroF1.toFixed(3)} at ${line.shipped.read.toFixed(3)}`,
            );
          }
        } finally {
          rmSync(runs, { recursive: true, force: true });
        }
      }
}

if (folder !== undefined) await measureAll(folder, file);
console.log(crossFittingTables(readLines(file)));
