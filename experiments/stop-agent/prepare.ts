import { queriesUntil } from '../../checkpoints/policy/replay.ts';
import type { RunDirectory } from '../../checkpoints/run-directory.ts';
import { type Detector, detectorIdentity } from '../../experts/detector.ts';
import type { JudgementSequence } from '../../experts/judgement-sequence.ts';
import { lengthsUntil } from '../../experts/prefix-schedule.ts';
import { hoursSinceClaim, type Thread } from '../../src/data/thread.ts';
import { InputError } from '../../src/errors.ts';
import type { BackendChoice } from '../../src/tensor/backend.ts';
import type { StopCost, StopProblem } from '../../trainers/stop-agent/problem.ts';
import { buildStopProblem, judgedThread, readsPseudoLabels } from '../../trainers/stop-agent/problem.ts';
import { cachedStudent } from './cache.ts';
import { predictionCost, readingCost, wrongCosts } from './costs.ts';
import { type Experiment, taskOf } from './experiment.ts';
import { annotationsHash, judgeForTraining, type SeededExperiment } from './judge-for-training.ts';
import { loadParts, type Parts } from './parts.ts';
import { agentQueries, scheduleOf } from './policy-settings.ts';
import type { TrialResult } from './result.ts';
import { type StateMaterials, statesOf } from './states.ts';

export interface PreparedTrial extends TrialMaterial {
  readonly problem: StopProblem;
  /** Materials to make states of other threads as those of the training were made. */
  readonly materials: StateMaterials;
  readonly hashes: Readonly<Record<string, string>>;
}

/** The threads of a trial, and the detector that judged them. */
export interface TrialMaterial {
  readonly parts: Parts;
  readonly detector: Detector;
  /** Judgements of the demonstration threads and of those that are decided, by thread id. */
  readonly sequences: ReadonlyMap<string, JudgementSequence>;
}

/** One agent with one seed, and where its run goes. */
export interface TrialSettings extends SeededExperiment {
  readonly backend: BackendChoice;
  readonly directory: string;
  /** Its threads and judgements; those of its split unless given. */
  readonly material?: TrialMaterial;
  /** Scores of its demonstration threads by agents that have not seen them, by thread id; its own agent scores them unless given. */
  readonly heldOutScores?: ReadonlyMap<string, readonly number[]>;
  /** Where its policy goes, and what that is worth; a fold has none. The folder `policy` of the trial and its own result unless given. */
  readonly policy?: PolicyPlace | null;
}

/** The policy of a trial that is tested elsewhere. */
export interface PolicyPlace {
  readonly folder: string;
  /** Threads of which readers of the bundle decide some again. */
  readonly threads: readonly Thread[];
  /** Called once the trial's threshold is known. */
  result(): TrialResult;
}

export interface BegunTrial extends TrialSettings {
  readonly prepared: PreparedTrial;
  readonly run: RunDirectory;
}

/** The parts of a split, and their judgements by a detector that learned from one of them. */
export async function splitMaterial(settings: SeededExperiment): Promise<TrialMaterial> {
  const parts = await loadParts(settings.data, settings);
  const threads = judgedThreads(parts, settings.experiment);
  return { parts, ...(await judgeForTraining(settings, { detectorThreads: parts.detector, threads })) };
}

/** Does everything that comes between judging and training: demonstrations, student, states. */
export async function prepareTrial(
  { parts, detector, sequences }: TrialMaterial,
  settings: SeededExperiment,
): Promise<PreparedTrial> {
  const { experiment, seed, data, cache, context } = settings;
  const task = taskOf(experiment);
  const demonstrating = parts.demonstrations.map((thread) => judgedThread(thread, { sequences, task }));

  const student = experiment.state.student
    ? await cachedStudent(cache, {
        demonstrations: demonstrating,
        further: studentReadsEnvironment(experiment)
          ? parts.environment.map((thread) => ({ thread, sequence: sequences.get(thread.id)! }))
          : [],
        task,
        options: experiment.state.studentOptions,
        fitting: experiment.state.studentFitting,
        targets: experiment.state.studentTargets,
        seed,
        onProgress: (done, total) => context.onProgress('training the student', done, total),
      })
    : null;
  const materials = { experiment, cache, student };

  return {
    parts,
    detector,
    sequences,
    problem: await buildStopProblem({
      demonstrations: parts.demonstrations,
      environment: roams(experiment) ? parts.environment : [],
      sequences,
      task,
      tableOf: (threads) => statesOf(threads, { ...materials, sequences }),
      queriesAt: (posts) =>
        lengthsUntil(posts, { schedule: scheduleOf(experiment), maxPosts: experiment.maxJudgedPosts }).length,
      costOf: costOfStops(experiment),
      config: experiment.agent,
      seed,
    }),
    materials,
    hashes: {
      data: data.hash,
      embeddings: cache.embeddings.identityHash,
      detector: detectorIdentity(detector),
      annotations: annotationsHash(sequences),
    },
  };
}

/** The user's cost of a decision, as the policy would pay it. @throws InputError for hours that are not known */
function costOfStops(experiment: Experiment): StopCost | undefined {
  const { costs } = experiment;
  if (costs === null) return undefined;
  const wrong = wrongCosts(costs, taskOf(experiment).labels);
  const queries = agentQueries(experiment);
  return ({ thread, postsUsed, gold, predicted }) => {
    const hours = hoursSinceClaim(thread, postsUsed - 1);
    const spent = { postsUsed, posts: thread.posts.length, hours, queries: queriesUntil(queries, postsUsed) };
    const reading = readingCost(costs, spent);
    if (reading === null)
      throw new InputError(
        `costs.perHour needs the times of posts, and post ${postsUsed} of thread ${JSON.stringify(thread.id)} or its claim has none; give times, or use perPost or perShare`,
      );
    return reading + predictionCost(wrong, { gold, predicted });
  };
}

/** The threads that the detector is asked about. */
export function judgedThreads(parts: Parts, experiment: Experiment): Thread[] {
  const observes = experiment.state.observesDetector && roams(experiment);
  const isRead = observes || readsPseudoLabels(experiment.agent) || studentReadsEnvironment(experiment);
  const environment = isRead ? parts.environment : [];
  const decided = decidedParts(parts, experiment).flatMap((part) => parts[part]);
  return [...parts.demonstrations, ...environment, ...decided, ...parts.calibration];
}

/** The parts that the agent is tried on: the test, unless it is not to be read, and the development part where there is one. */
export function decidedParts(parts: Parts, { evaluation }: Experiment): readonly ('test' | 'development')[] {
  if (evaluation.part === 'development') return ['development'];
  return parts.development.length === 0 ? ['test'] : ['test', 'development'];
}

/** Whether the agent meets the environment's threads; where it observes its detector, those that it does not meet need no judgements. */
function roams({ agent, state }: Experiment): boolean {
  return !state.observesDetector || agent.algorithm === 'imitation' || readsPseudoLabels(agent);
}

function studentReadsEnvironment({ state }: Experiment): boolean {
  return state.student && state.studentReads === 'demonstrations-and-environment';
}
