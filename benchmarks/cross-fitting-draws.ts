import { join } from 'node:path';
import { z } from 'zod';
import { fittingParts, readsTimes } from '../experiments/init/found-threads.ts';
import { type Experiment, resolveExperiment, taskOf } from '../experiments/stop-agent/experiment.ts';
import type { ExperimentData } from '../experiments/stop-agent/parts.ts';
import { sha256OfList } from '../src/content-hash.ts';
import { describeThreads } from '../src/data/describe.ts';
import type { Thread } from '../src/data/thread.ts';
import { loadThreads } from '../src/data/thread-file.ts';
import { sourceOfThreads } from '../src/data/thread-source.ts';
import { Random } from '../src/tensor/random.ts';

/* The sets and draws of benchmarks/cross-fitting.ts and benchmarks/cross-fitting-nested.ts. */

export const setNames = ['weibo', 'twitter15', 'pheme', 'checked', 'derailment'] as const;
export type SetName = (typeof setNames)[number];

export const crossFittingSets = {
  weibo: { title: 'Weibo-CED', file: 'weibo_ced.jsonl.gz', task: 'rumor' },
  twitter15: { title: 'Twitter15', file: 'twitter15.jsonl', task: 'rumor' },
  pheme: { title: 'PHEME', file: 'pheme.jsonl.gz', task: 'rumor' },
  checked: { title: 'CHECKED', file: 'weibo_checked.jsonl.gz', task: 'rumor' },
  derailment: {
    title: 'derailment (CMV)',
    file: 'derailment_cmv.jsonl',
    task: { label: 'outcome', classes: ['stays civil', 'derails'] },
  },
} as const;

const maxPosts = 30;
const mostLabels = 350;
const mostUnlabelled = 300;
const mostFresh = 700;

/** Who learns from which labels, and how the guarantee is found. */
export const protocolSchema = z.enum(['cross-fitting', 'split', 'cross-validation']);
export type Protocol = z.infer<typeof protocolSchema>;

export interface Case {
  readonly set: SetName;
  readonly labels: number;
  readonly draw: number;
  readonly protocol: Protocol;
  readonly folds: number;
  /** Whether the detector reads times: as `init` decides, or always, or never. */
  readonly timing: 'init' | 'true' | 'false';
}

/** Training threads of a case, and threads that it never sees. */
export interface Draw {
  readonly experiment: Experiment;
  readonly data: ExperimentData;
  /** Those with labels, and unlabelled ones that it learns from. */
  readonly learned: readonly Thread[];
  readonly unlabelled: readonly Thread[];
  readonly fresh: readonly Thread[];
}

/** Threads of a set, cut. Nothing keeps events together: fresh threads are of the same events. */
export async function threadsOf(set: SetName, folder: string): Promise<Thread[]> {
  const threads = await loadThreads(join(folder, crossFittingSets[set].file));
  return threads.map((thread) => ({ ...thread, event: null, posts: thread.posts.slice(0, maxPosts) }));
}

/**
 * Threads at random. Draws of fewer labels are parts of larger ones, and have the same unlabelled and fresh threads. Cross-validation
 * needs no unlabelled threads, so on small sets these are fresh, too.
 */
export function drawOf(
  { set, labels, draw, protocol, folds, timing }: Case,
  { threads }: { threads: readonly Thread[] },
): Draw {
  const shuffled = Random.seeded({ seed: draw, purpose: `cross-fitting ${set}` }).shuffled(threads);
  const others = shuffled.slice(mostLabels + mostUnlabelled);
  const unlabelled = shuffled.slice(mostLabels, mostLabels + mostUnlabelled).map(withoutLabel);
  const usesUnlabelled = protocol !== 'cross-validation';
  const spare = usesUnlabelled ? [] : shuffled.slice(mostLabels, mostLabels + mostUnlabelled);
  const labelled = shuffled.slice(0, labels);
  const learned = usesUnlabelled ? [...labelled, ...unlabelled] : labelled;
  const parts = partsOf(labels);
  const { posts, postsWithoutTime } = describeThreads(learned);
  const trained = protocol === 'split' ? parts.detector : labels;
  const isTimed = timing === 'init' ? readsTimes({ labelled: trained, posts, postsWithoutTime }) : timing === 'true';
  const experiment = resolveExperiment(
    {
      name: 'cross-fitting',
      seeds: [draw],
      task: crossFittingSets[set].task,
      detector: isTimed ? { timing: true } : {},
      ...(protocol === 'split'
        ? { split: { ...parts, test: 'rest' } }
        : { crossFitting: { folds, environment: 100, calibration: 200, learningCurve: false } }),
      // As `init` writes them.
      state: { posts: 'none', observesDetector: true },
      agent: { algorithm: 'settled', hidden: 8, maxPosts, task: { environment: 'pseudo-labelled' } },
      guarantee: {
        level: 0.05,
        confidence: 0.9,
        method: protocol === 'cross-validation' ? 'cross-validation' : 'learn-then-test',
      },
    },
    'the benchmark',
  );
  const { goldLabel } = taskOf(experiment);
  const hash = sha256OfList();
  for (const thread of learned) hash.add(thread);
  return {
    experiment,
    data: { ...sourceOfThreads(learned), hash: hash.digest() },
    learned,
    unlabelled: usesUnlabelled ? unlabelled : [],
    fresh: [...others, ...spare].filter((thread) => goldLabel(thread) !== null).slice(0, mostFresh),
  };
}

/** The parts that `init` chose before cross-fitting. */
function partsOf(labels: number) {
  const { demonstrations, environment } = fittingParts(labels, { unlabelled: mostUnlabelled, calibrates: true });
  const most = (count: number, share: number) => Math.min(count, Math.max(4, Math.floor(share * labels)));
  const calibration = Math.min(2000, Math.max(0, mostUnlabelled - environment) + most(400, 0.2));
  return { detector: most(400, 0.3), demonstrations, environment, calibration };
}

function withoutLabel({ labels: _, ...thread }: Thread): Thread {
  return { ...thread, rumor: null, veracity: null };
}
