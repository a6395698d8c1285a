import { claimShift } from '../../checkpoints/bundle/claim-shift.ts';
import { verdictOfOutput } from '../../checkpoints/bundle/detector-aware-agent.ts';
import { firstStop } from '../../checkpoints/bundle/golden.ts';
import type { ClaimShift, PolicyDecision, Verdict } from '../../checkpoints/bundle/policy.ts';
import { type StopPromise, stopThreshold } from '../../checkpoints/bundle/promise.ts';
import { endsAllCalls } from '../../experts/llm/failures.ts';
import type { Task } from '../../src/data/task.ts';
import { hoursSinceClaim, prefixOf, type Thread } from '../../src/data/thread.ts';
import { InputError, ProviderError } from '../../src/errors.ts';
import type { WorkContext } from '../../src/work-context.ts';
import { decideStops } from '../../trainers/stop-agent/policy.ts';
import { checkDecides, type PrefixJudge } from '../judging/judge-single-prefixes.ts';
import { threadIdentity } from '../run/parts-file.ts';
import { policyOfBundle, trainedOnBy } from './bundle-folder.ts';
import { trainedClaimsFile } from './claim-region.ts';
import { type OpenedRun, openStopAgentRun } from './open-run.ts';
import { trainedThreads } from './parts.ts';
import { promiseFile } from './promise-file.ts';
import { type Judge, queryAndDecide } from './query-and-decide.ts';

/** A thread as a trained agent decides it, labelled or not: one line of what `earshot decide` prints. */
export interface DecidedThread {
  readonly threadId: string;
  /** The post at which the agent stops: the last one where it never does. */
  readonly post: string;
  readonly time: string | null;
  /** Hours from the claim to that post; null where a time is unknown. */
  readonly hours: number | null;
  /** False where the thread ended before the agent stopped: with further posts the decision may change. */
  readonly stopped: boolean;
  readonly postsUsed: number;
  readonly posts: number;
  /** Posts after the limit up to which the agent reads (`agent.maxPosts`): they are no part of `posts`. */
  readonly postsLeftOut: number;
  /** postsUsed / posts. */
  readonly er: number;
  /**
   * π(stop) at every post, given that the agent has continued so far. A detector-aware agent has
   * them up to the stop only, and 0 where it does not act.
   */
  readonly stopProbability: readonly number[];
  /** What the detector says of the posts seen at the stop; null where none is at hand. */
  readonly verdict: Verdict | null;
  /** Why there is no verdict; null where there is one. */
  readonly verdictMissing: string | null;
  /** How often the detector was asked. */
  readonly calls: number;
  /** How unlike the threads of the promise this one is, or without a promise those that were trained on; null where neither is known. */
  readonly shift: ClaimShift | null;
}

/** A trained agent, from a run or from a bundle. */
export interface Decider {
  /** What messages call it. */
  readonly name: string;
  readonly task: Pick<Task, 'name' | 'labels'>;
  /** Whether a detector is at hand for verdicts. */
  readonly hasDetector: boolean;
  /** Whether the agent asks that detector while it reads. */
  readonly observesDetector: boolean;
  /** What `earshot calibrate` found for it; null where nothing is promised. */
  readonly promise: StopPromise | null;
  /** Whether it learnt from this thread. */
  isTrainedOn(thread: Thread): boolean;
  decide(thread: Thread): Promise<DecidedThread>;
}

/**
 * The agent of a run, with its local detector.
 * @param options.runs folder with the shared cache
 * @throws InputError when the run cannot be used, or it is not known which threads it learnt from
 */
export async function deciderOfRun(options: { run: string; runs: string; context: WorkContext }): Promise<Decider> {
  const opened = await openStopAgentRun(options);
  const { run, experiment, policy, schedule, tableOf } = opened;
  const trained = trainedThreads(run);
  const promise = promiseFile.find(run);
  const threshold = stopThreshold(promise);
  const region = promise?.shift ?? trainedClaimsFile.find(run);
  const shiftOf = region === null ? () => null : claimShift(region);
  const decider = {
    name: run.path,
    task: opened.task,
    observesDetector: schedule !== null,
    promise,
    isTrainedOn: (thread: Thread) => trained.has(threadIdentity(thread)),
  };
  if (schedule !== null) {
    const judgeOf = await judgesOf(opened);
    return {
      ...decider,
      hasDetector: true,
      async decide(whole) {
        const thread = shownPart(whole, experiment.agent.maxPosts);
        const { said, ...decision } = await queryAndDecide(thread, {
          ...opened,
          schedule,
          threshold,
          judge: judgeOf(thread),
        });
        const shift = shiftOf(thread.posts[0].text);
        return decided({ thread, whole }, { ...decision, verdict: verdictOfOutput(said), shift });
      },
    };
  }
  const detector = await opened.detector();
  return {
    ...decider,
    hasDetector: detector !== null,
    async decide(whole) {
      const thread = shownPart(whole, experiment.agent.maxPosts);
      const [{ stopProbability }] = await decideStops(policy, {
        threads: [thread],
        tableOf: (own) => tableOf(own, { sequences: new Map() }),
      });
      const { stopStep, stopped } = firstStop(stopProbability, threshold);
      const judgement = detector === null ? null : await detector.judge(prefixOf(thread, stopStep + 1));
      const verdict = judgement === null ? null : verdictOfOutput(judgement);
      const shift = shiftOf(thread.posts[0].text);
      return decided(
        { thread, whole },
        { stopStep, stopped, stopProbability, verdict, calls: Number(verdict !== null), shift },
      );
    },
  };
}

/** How the detector of a run is asked about a thread. */
async function judgesOf({ task, ...run }: OpenedRun): Promise<(thread: Thread) => Judge> {
  const detector = await run.detector();
  if (detector !== null) return (thread) => (length) => detector.judge(prefixOf(thread, length));
  return (thread) => async (length) => {
    const schedule = { name: 'lengths' as const, lengths: [length] };
    const sequences = await run.judged([{ ...thread, posts: thread.posts.slice(0, length) }], { schedule });
    const sequence = sequences.get(thread.id);
    const label = task.labels[sequence?.predicted[length - 1] ?? -1] ?? null;
    const row = sequence?.probabilities.subarray((length - 1) * task.labels.length) ?? [];
    const probabilities = Object.fromEntries(task.labels.map((name, index) => [name, row[index]]));
    return { label, probabilities: row.some(Number.isNaN) ? null : probabilities };
  };
}

/**
 * The agent of a bundle.
 * @throws InputError that names a file which is missing or was changed, or the golden thread that is decided differently
 */
export async function deciderOfBundle(folder: string): Promise<Decider> {
  const policy = await policyOfBundle(folder);
  const { state, detector } = policy.manifest;
  if ((state.queryPlan ?? null) !== null && detector === null)
    throw new InputError(
      `the agent of ${folder} observes its detector, and the bundle does not hold the detector; decide with --run, or from a program that gives \`judge\` to loadPolicy`,
    );
  return {
    name: folder,
    task: policy.manifest.task,
    hasDetector: detector !== null,
    observesDetector: (state.queryPlan ?? null) !== null,
    promise: policy.manifest.promise ?? null,
    isTrainedOn: await trainedOnBy(folder, policy),
    async decide(whole) {
      const thread = shownPart(whole, state.maxPosts);
      return decided({ thread, whole }, await policy.decide(thread));
    },
  };
}

/**
 * The same agent with verdicts by a detector on language models, which is asked once a thread, at the stop.
 * @throws InputError where the two decide different things, or the agent queries its own detector while it reads
 */
export function withVerdictsBy(judge: PrefixJudge, decider: Decider): Decider {
  checkDecides(judge, decider.task);
  /** Why nothing more is asked. */
  let end: string | null = null;
  if (decider.observesDetector)
    throw new InputError(
      `the agent of ${decider.name} observes its own detector, so the verdict is that detector's; leave --detector out`,
    );
  return {
    ...decider,
    hasDetector: true,
    async decide(thread) {
      const decision = await decider.decide(thread);
      if (end !== null) return { ...decision, verdict: null, verdictMissing: end, calls: 0 };
      try {
        const verdict = verdictOfOutput(await judge.judge(prefixOf(thread, decision.postsUsed)));
        return {
          ...decision,
          verdict,
          verdictMissing: verdict === null ? 'the detector does not decide' : null,
          calls: 1,
        };
      } catch (error) {
        if (!(error instanceof ProviderError)) throw error;
        if (endsAllCalls(error)) end = error.message;
        return { ...decision, verdict: null, verdictMissing: error.message, calls: 1 };
      }
    },
  };
}

/** Later posts were never shown in training, and are not read. */
export function shownPart(thread: Thread, maxPosts: number): Thread {
  return thread.posts.length > maxPosts ? { ...thread, posts: thread.posts.slice(0, maxPosts) } : thread;
}

function decided(
  { thread, whole }: { thread: Thread; whole: Thread },
  decision: Omit<PolicyDecision, 'stopProbability'> & { stopProbability: Iterable<number> },
): DecidedThread {
  const { stopStep, stopped, stopProbability, verdict, calls, shift } = decision;
  const { id: post, time } = thread.posts[stopStep];
  return {
    threadId: thread.id,
    post,
    time,
    hours: hoursSinceClaim(thread, stopStep),
    stopped,
    postsUsed: stopStep + 1,
    posts: thread.posts.length,
    postsLeftOut: whole.posts.length - thread.posts.length,
    er: (stopStep + 1) / thread.posts.length,
    stopProbability: [...stopProbability],
    verdict,
    verdictMissing: verdict === null ? 'no detector is at hand' : null,
    calls,
    shift,
  };
}
