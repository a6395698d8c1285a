import type { StateTable } from '../../envs/state-table.ts';
import type { Detector } from '../../experts/detector.ts';
import type { Student } from '../../experts/detectors/local/student.ts';
import type { JudgementSequence } from '../../experts/judgement-sequence.ts';
import type { Thread } from '../../src/data/thread.ts';
import type { WorkContext } from '../../src/work-context.ts';
import type { StopProblem } from '../../trainers/stop-agent/problem.ts';
import { buildStopProblem, judgedThread } from '../../trainers/stop-agent/problem.ts';
import { detectorHash } from '../judging/judge.ts';
import { annotationsHash, judgeForTraining, trainedOrFromFile } from '../judging/judge-for-training.ts';
import { type Cache, cachedStudent } from './cache.ts';
import { type Experiment, taskOf } from './experiment.ts';
import { type Parts, splitParts, threadsHash } from './parts.ts';
import { stateIdentityOf, statesOf } from './states.ts';

export interface PreparedTrial {
  readonly parts: Parts;
  readonly detector: Detector;
  readonly student: Student | null;
  /** Judgements of the demonstration and test threads, by thread id. */
  readonly sequences: ReadonlyMap<string, JudgementSequence>;
  readonly problem: StopProblem;
  /** Builds the states of other threads the way those of the training were built. */
  readonly tableOf: (threads: readonly Thread[]) => Promise<StateTable>;
  /** Identifies what the states are made from. */
  readonly stateIdentity: string;
  readonly counts: { readonly asked: number; readonly cached: number };
  readonly hashes: Readonly<Record<string, string>>;
}

/** Does everything that comes before training: split, detector, judgements, demonstrations, states. */
export async function prepareTrial(settings: {
  experiment: Experiment;
  seed: number;
  threads: readonly Thread[];
  cache: Cache;
  context: WorkContext;
}): Promise<PreparedTrial> {
  const { experiment, seed, threads, cache, context } = settings;
  const task = taskOf(experiment);
  const parts = splitParts(threads, experiment, seed);
  const judge = await trainedOrFromFile({ experiment, seed, cache, context, detectorThreads: parts.detector });
  const judged = await judgeForTraining({
    judge,
    threads: judgedThreads(parts, experiment),
    store: cache.annotations,
    maxPosts: experiment.maxJudgedPosts,
    context,
  });
  const { detector, sequences } = judged;
  const demonstrating = parts.demonstrations.map((thread) => judgedThread(thread, { sequences, task }));

  const student = experiment.state.student
    ? await cachedStudent(cache, {
        demonstrations: demonstrating,
        further: studentReadsEnvironment(experiment)
          ? parts.environment.map((thread) => ({ thread, sequence: sequences.get(thread.id)! }))
          : [],
        task,
        options: experiment.state.studentOptions,
        seed,
        onProgress: (done, total) => context.onProgress('training the student', done, total),
      })
    : null;
  const tableOf = (own: readonly Thread[]) => statesOf(own, { experiment, cache, student });

  return {
    parts,
    detector,
    student,
    sequences,
    problem: await buildStopProblem({
      demonstrations: parts.demonstrations,
      environment: parts.environment,
      sequences,
      task,
      tableOf,
      config: experiment.agent,
      seed,
    }),
    tableOf,
    stateIdentity: stateIdentityOf({ experiment, cache, student }),
    counts: judged.counts,
    hashes: {
      data: threadsHash(threads),
      embeddings: cache.embeddings.identityHash,
      detector: detectorHash(detector),
      annotations: annotationsHash(sequences),
    },
  };
}

/** The threads that the detector is asked about. */
export function judgedThreads(parts: Parts, experiment: Experiment): Thread[] {
  const environment = studentReadsEnvironment(experiment) ? parts.environment : [];
  return [...parts.demonstrations, ...environment, ...parts.test];
}

function studentReadsEnvironment({ state }: Experiment): boolean {
  return state.student && state.studentReads === 'demonstrations-and-environment';
}
