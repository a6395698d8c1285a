import { queryMdp } from '../../envs/query-env.ts';
import { checkedJudgement } from '../../experts/annotations/checked-judgement.ts';
import type { Judgement } from '../../experts/detector.ts';
import { type PrefixSchedule, scheduledLengths } from '../../experts/prefix-schedule.ts';
import { checkedGoldLabel, type Task } from '../../src/data/task.ts';
import { type Prefix, prefixOf, type Thread } from '../../src/data/thread.ts';
import { InputError } from '../../src/errors.ts';
import { actAsAsked, type QueryPolicy } from './policy.ts';
import type { KnownJudgement, QueryThread } from './states.ts';

/** A detector that an agent may ask. */
export interface PricedDetector {
  /** Where it may be asked. `{ name: 'lengths', lengths: [1] }` is a detector that reads the claim alone. */
  readonly schedule: PrefixSchedule;
  /** What it says of a prefix, from a store or anew. */
  judge(prefix: Prefix): Promise<Judgement>;
  /** What that costs in units of the return, such as a price for each token of `judgement.usage` or for each post read. */
  costOf(judgement: Judgement, prefix: Prefix): number;
}

/** What is asked about a thread, and of whom. */
interface PricedQuestions {
  readonly task: Task;
  readonly detectors: readonly PricedDetector[];
}

/**
 * A thread with everything that every detector says of it: what an agent learns from, and what rules are compared on.
 * @throws InputError where a detector gives no judgement in the task's labels, or no finite cost
 */
export async function judgedThread(thread: Thread, { task, detectors }: PricedQuestions): Promise<QueryThread> {
  const { lengths, askable } = stepsOf(thread, detectors);
  const judgements: (KnownJudgement | null)[][] = [];
  // One after the other, so that a detector may time itself.
  for (const [step, length] of lengths.entries()) {
    const own: (KnownJudgement | null)[] = [];
    for (const index of detectors.keys())
      own.push(
        askable[step][index] ? known(await asked({ task, detectors }, index, prefixOf(thread, length)), task) : null,
      );
    judgements.push(own);
  }
  return { id: thread.id, posts: thread.posts.length, lengths, judgements, gold: checkedGoldLabel(task, thread) };
}

/** What an agent decided of a thread, and what it asked on the way. */
export interface QueriedVerdict {
  readonly judgement: Judgement;
  /** Index of the detector whose judgement it is, and the posts of the prefix that it is of. */
  readonly detector: number;
  readonly judgedPosts: number;
  /** Posts that the agent read. */
  readonly posts: number;
  readonly asks: readonly { readonly detector: number; readonly posts: number; readonly cost: number }[];
}

/**
 * Decides a thread by a trained policy. Only what the policy asks for is asked.
 * @throws InputError where a detector gives no judgement in the task's labels, or no finite cost
 */
export async function queryThread(
  policy: QueryPolicy,
  { thread, task, detectors }: PricedQuestions & { thread: Thread },
): Promise<QueriedVerdict> {
  const { lengths, askable } = stepsOf(thread, detectors);
  const answers = lengths.map(() => detectors.map((): Answer | null => null));
  const { asks, step, detector, judgedAt } = await actAsAsked(policy, {
    mdp: queryMdp(askable),
    lengths,
    labels: task.labels.length,
    async ask(at, index) {
      const answer = await asked({ task, detectors }, index, prefixOf(thread, lengths[at]));
      answers[at][index] = answer;
      return known(answer, task);
    },
  });
  const answerOf = (at: number, index: number): Answer => {
    const answer = answers[at][index];
    if (answer === null) throw new Error('an answer is used that was not asked for');
    return answer;
  };
  return {
    judgement: answerOf(judgedAt, detector).judgement,
    detector,
    judgedPosts: lengths[judgedAt],
    posts: lengths[step],
    asks: asks.map((own) => ({
      detector: own.detector,
      posts: lengths[own.step],
      cost: answerOf(own.step, own.detector).cost,
    })),
  };
}

interface Answer {
  readonly judgement: Judgement;
  readonly cost: number;
}

async function asked({ task, detectors }: PricedQuestions, index: number, prefix: Prefix): Promise<Answer> {
  const own = detectors[index];
  const detector = `detector ${index + 1} of ${detectors.length}`;
  const judgement = checkedJudgement(await own.judge(prefix), { detector, labels: task.labels, prefix });
  const cost = own.costOf(judgement, prefix);
  if (Number.isFinite(cost)) return { judgement, cost };
  throw new InputError(`asking ${detector} costs ${cost}; a cost must be a finite number`);
}

function known({ judgement, cost }: Answer, { labels }: Task): KnownJudgement {
  const { label, probabilities } = judgement;
  return {
    label: label === null ? -1 : labels.indexOf(label),
    probabilities: probabilities === null ? null : labels.map((name) => probabilities[name] ?? 0),
    cost,
  };
}

/** Every length at which some detector may be asked, and which may. The last is all posts, unless all detectors list their lengths. */
function stepsOf({ posts }: Thread, detectors: readonly PricedDetector[]) {
  const own = detectors.map(({ schedule }) => scheduledLengths({ schedule, posts: posts.length }));
  const lengths = [...new Set(own.flat())].sort((left, right) => left - right);
  return { lengths, askable: lengths.map((length) => own.map((of) => of.includes(length))) };
}
