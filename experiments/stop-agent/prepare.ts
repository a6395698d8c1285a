import type { StateTable } from '../../envs/state-table.ts';
import type { Detector } from '../../experts/detector.ts';
import type { Student } from '../../experts/detectors/local/student.ts';
import type { JudgementSequence } from '../../experts/judgement-sequence.ts';
import { demonstrationsOf, selectDemonstrations } from '../../experts/trajectories.ts';
import type { Thread } from '../../src/data/thread.ts';
import { Random } from '../../src/tensor/random.ts';
import type { WorkContext } from '../../src/work-context.ts';
import type { LabelledThread, StopAgentData } from '../../trainers/stop-agent/setup.ts';
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
  readonly data: StopAgentData;
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
  const { agent } = experiment;
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
  const demonstrating = parts.demonstrations.map((thread) => ({
    thread,
    sequence: sequences.get(thread.id)!,
    label: task.goldLabel(thread)!,
  }));

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

  const longEnough = (thread: Thread) => thread.posts.length >= agent.minPosts;
  const environment = parts.environment.filter(longEnough);
  const tableThreads = [...parts.demonstrations, ...environment];
  const table = await tableOf(tableThreads);
  const place = new Map(tableThreads.map((thread, index) => [thread.id, index]));
  const random = Random.seeded({ seed, purpose: 'demonstrations' });
  const demonstrations = selectDemonstrations(demonstrationsOf(demonstrating, agent.trajectories), agent.trajectories, {
    weights: agent.gail,
    shuffle: (length) => random.permutation(length),
  });
  return {
    parts,
    detector,
    student,
    sequences,
    data: {
      table,
      environment: Int32Array.from(environment, ({ id }) => place.get(id)!),
      demonstrations: demonstrations.map(({ expert, threadId, stopStep }) => ({
        expert,
        thread: place.get(threadId)!,
        stopStep,
      })),
      labelled: new Map(
        demonstrating
          .filter(({ thread }) => longEnough(thread))
          .map((own) => [place.get(own.thread.id)!, labelledThread(own, demonstrating)]),
      ),
    },
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

interface Demonstrating {
  readonly thread: Thread;
  readonly sequence: JudgementSequence;
  readonly label: number;
}

/** In a thread that was judged only in part, the last judgement holds to the end. */
function labelledThread({ thread, sequence, label }: Demonstrating, all: readonly Demonstrating[]): LabelledThread {
  const { predicted, probabilities, labels } = sequence;
  const steps = Array.from(thread.posts, (_, step) => Math.min(step, predicted.length - 1));
  const right = Uint8Array.from(steps, (step) => Number(predicted[step] === label));
  const withLabel = all.filter((other) => other.label === label).length;
  return {
    right,
    // Without probabilities, take the answer of the detector as certain.
    probability: Float32Array.from(steps, (step, index) => {
      const probability = probabilities[step * labels.length + label];
      return Number.isNaN(probability) ? right[index] : probability;
    }),
    weight: all.length / (labels.length * withLabel),
  };
}
