import type { Judgement } from '../../experts/detector.ts';
import { judgementSequence } from '../../experts/judgement-sequence.ts';
import { askedLengths, type PrefixSchedule } from '../../experts/prefix-schedule.ts';
import type { Thread } from '../../src/data/thread.ts';
import { decideStops, type StopPolicy } from '../../trainers/stop-agent/policy.ts';
import type { OpenedRun } from './open-run.ts';

/** What a detector says of the first posts of a thread. */
export type Judge = (length: number) => Promise<Pick<Judgement, 'label' | 'probabilities'>>;

export interface AskedDecision {
  /** 0-based post of the stop; the last one where the agent never stops. */
  readonly stopStep: number;
  readonly stopped: boolean;
  /** π(stop) at every post up to the stop; 0 where the agent does not act. Later ones would need further judgements. */
  readonly stopProbability: readonly number[];
  /** What the detector said of the posts up to the stop. */
  readonly judgement: Pick<Judgement, 'label' | 'probabilities'>;
  /** How often it was asked. */
  readonly calls: number;
}

/**
 * Decides a thread as it comes in: the detector is asked at the posts of the schedule until the agent stops, and at the stop
 * unless it was just asked there.
 */
export async function askAndDecide(
  thread: Thread,
  {
    judge,
    ...agent
  }: { judge: Judge; schedule: PrefixSchedule } & Pick<OpenedRun, 'experiment' | 'task' | 'tableOf'> & {
      policy: StopPolicy;
    },
): Promise<AskedDecision> {
  const { experiment, schedule } = agent;
  const posts = thread.posts.length;
  const asked = askedLengths({ schedule, posts: Math.min(posts, experiment.maxJudgedPosts) });
  const judgements = new Map<number, Awaited<ReturnType<Judge>>>();
  const ask = async (length: number) => {
    const known = judgements.get(length) ?? (await judge(length));
    judgements.set(length, known);
    return known;
  };
  const stopProbability: number[] = [];
  let stopped = false;
  for (const from of asked[0] === 1 ? asked : [1, ...asked]) {
    if (asked.includes(from)) await ask(from);
    const until = (asked.find((length) => length > from) ?? posts + 1) - 1;
    const known = await probabilities({ ...thread, posts: thread.posts.slice(0, until) }, { ...agent, judgements });
    for (let post = from; post <= until && !stopped; post++) {
      const acts = experiment.state.actsAt === 'every-post' || asked.includes(post);
      stopProbability.push(acts ? known[post - 1] : 0);
      stopped = stopProbability[post - 1] > 0.5;
    }
    if (stopped) break;
  }
  const judgement = await ask(Math.min(stopProbability.length, experiment.maxJudgedPosts));
  return { stopStep: stopProbability.length - 1, stopped, stopProbability, judgement, calls: judgements.size };
}

/** π(stop) at every post of a thread, given what the detector has said of it so far. */
async function probabilities(
  thread: Thread,
  {
    policy,
    task,
    tableOf,
    judgements,
  }: {
    policy: StopPolicy;
    judgements: ReadonlyMap<number, Awaited<ReturnType<Judge>>>;
  } & Pick<OpenedRun, 'task' | 'tableOf'>,
): Promise<Float32Array> {
  const sequence = judgementSequence({
    threadId: thread.id,
    labels: task.labels,
    judgements: thread.posts.map((_, index) => judgements.get(index + 1) ?? null),
  });
  const told = { sequences: new Map([[thread.id, sequence]]), everyPost: true };
  const [{ stopProbability }] = await decideStops(policy, { threads: [thread], tableOf: (own) => tableOf(own, told) });
  return stopProbability;
}
