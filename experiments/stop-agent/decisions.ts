import type { PolicyDefinition, QueryPlan } from '../../checkpoints/policy/policy.ts';
import { policyStates, queriesUntil } from '../../checkpoints/policy/replay.ts';
import {
  afterHours,
  allPosts,
  confidentAt,
  firstPosts,
  type Rule,
  studentConfidentAt,
} from '../../checkpoints/policy/rules.ts';
import type { SeenPost } from '../../checkpoints/policy/state-fields.ts';
import { type Stop, stopIn } from '../../checkpoints/policy/stops.ts';
import { assertLabelsOf, type JudgementSequence } from '../../experts/judgement-sequence.ts';
import { earlyActionStop } from '../../experts/trajectories.ts';
import { checkedGoldLabel, type Task } from '../../src/data/task.ts';
import { hoursSinceClaim, type Thread } from '../../src/data/thread.ts';
import { InputError } from '../../src/errors.ts';
import type { ThreadDecision } from './decide.ts';
import type { Experiment } from './experiment.ts';
import { agentQueries, lengthsOf, rulePolicy, scheduleOf } from './policy-settings.ts';

export const agentName = 'stop agent';
export const cloningName = 'behaviour cloning';
/** Where a run keeps the network of its copy of the demonstrations. */
export const cloningFile = 'cloning.safetensors';
export const oracleName = 'oracle';

/** Where one system stopped in one thread, and what the detector said there. */
export interface Decision extends Pick<ThreadDecision, 'threadId' | 'postsUsed' | 'posts' | 'hours' | 'queries'> {
  readonly system: string;
  /** Indices into the labels of the task; a prediction is −1 where the detector's answer could not be parsed. */
  readonly gold: number;
  readonly predicted: number;
}

/**
 * When a system queries its detector. `one`: at the stop; `schedule`: at some posts up to it; `every`: at every post up to it;
 * `oracle`: it sees the gold label.
 */
export type QueryKind = 'one' | 'schedule' | 'every' | 'oracle';

/** The decisions of one system about all test threads. */
export interface SystemDecisions {
  readonly name: string;
  readonly queries: QueryKind;
  readonly decisions: readonly Decision[];
}

/** A labelled thread with its judgements. */
export interface TestThread {
  readonly threadId: string;
  readonly goldLabel: number;
  /** Of the first posts, up to those that the detector reads. */
  readonly sequence: Pick<JudgementSequence, 'predicted' | 'confidence'>;
  /** Hours since the claim, of every post; null where unknown. */
  readonly hours: readonly (number | null)[];
  /** The confidence of the student after each post; null for an agent without a student. */
  readonly studentConfidence: readonly number[] | null;
}

/**
 * Labelled threads with their judgements, as rules read them.
 * @throws InputError where they were judged with other labels than the task's
 */
export function testThreads(
  threads: readonly Thread[],
  { sequences, task }: { sequences: ReadonlyMap<string, JudgementSequence>; task: Task },
): TestThread[] {
  return threads.map((thread) => {
    const sequence = sequences.get(thread.id);
    const goldLabel = checkedGoldLabel(task, thread);
    if (sequence === undefined || goldLabel === null)
      throw new Error(`thread ${thread.id} is tested without ${goldLabel === null ? 'a label' : 'judgements'}`);
    assertLabelsOf(task, sequence);
    const hours = thread.posts.map((_, step) => hoursSinceClaim(thread, step));
    return { threadId: thread.id, goldLabel, sequence, hours, studentConfidence: null };
  });
}

/** A stop with the queries up to it; the planned ones unless given. */
type AskedStop = Pick<Stop, 'postsUsed' | 'hours'> & { readonly queries?: number };

/** A query at the stop and nowhere else. */
const atStopOnly: QueryPlan = { lengths: [], actsAt: 'every-post', maxPosts: Number.MAX_SAFE_INTEGER };

/**
 * Turns stops into decisions, by the cached judgements.
 * @param stops one per thread
 * @throws InputError where a stop is no post of its thread
 */
export function decide(
  system: string,
  threads: readonly TestThread[],
  stops: readonly AskedStop[],
  queries: QueryPlan = atStopOnly,
): SystemDecisions {
  if (stops.length !== threads.length)
    throw new InputError(
      `${system} stops in ${stops.length} threads, and ${threads.length} are tested; give one stop per thread`,
    );
  const decisions = threads.map(({ threadId, goldLabel, sequence: { predicted }, hours }, index) => {
    const { postsUsed, hours: delay, queries: queryCount } = stops[index];
    if (hours[postsUsed - 1] === undefined)
      throw new InputError(
        `${system} stops in thread ${JSON.stringify(threadId)} after ${postsUsed} posts; it must be a whole number from 1 to ${hours.length}`,
      );
    return {
      system,
      threadId,
      gold: goldLabel,
      predicted: predicted[Math.min(postsUsed, predicted.length) - 1],
      postsUsed,
      posts: hours.length,
      hours: delay,
      queries:
        queryCount ?? queriesUntil({ ...queries, maxPosts: Math.min(queries.maxPosts, predicted.length) }, postsUsed),
    };
  });
  return { name: system, queries: queryKindOf(queries), decisions };
}

/** When a system with these queries asks. */
function queryKindOf({ lengths }: QueryPlan): QueryKind {
  if (lengths.length === 0) return 'one';
  return lengths.every((length, index) => length === index + 1) ? 'every' : 'schedule';
}

/** Rules: stop once the student is so confident, where the agent has one. They cost no query, so a few are enough. */
const studentConfidences = [0.6, 0.7, 0.8, 0.9];

/** The rules of an experiment, each once. Confidence rules query on the schedule of the agent, too. */
export function rulesOf(experiment: Experiment): Rule[] {
  const { firstPosts: counts, hours, confidences, schedules } = experiment.evaluation;
  // A schedule that names no post which is judged makes the rule "all posts".
  const plans = schedules.map((schedule) => lengthsOf(schedule, experiment)).filter(({ length }) => length > 0);
  const everyPost = lengthsOf({ name: 'every' }, experiment);
  const rules = [
    ...counts.map(firstPosts),
    ...hours.map(afterHours),
    allPosts,
    ...plans.flatMap((lengths) =>
      confidences.map((confidence) => confidentAt(confidence, lengths, [everyPost, ...plans])),
    ),
    ...(scheduleOf(experiment) === null
      ? []
      : confidences.map((confidence) => ({
          ...confidentAt(confidence, agentQueries(experiment).lengths),
          name: `confidence ≥ ${confidence}, asked when the agent asks`,
        }))),
    ...(experiment.state.student ? studentConfidences.map(studentConfidentAt) : []),
  ];
  // Where few posts are read, schedules query at the same ones. A name that stands there twice would count as another seed.
  return rules.filter(({ name }, place) => rules.findIndex((rule) => rule.name === name) === place);
}

/** Decisions of every rule that these threads allow, and of the oracle. */
export function decideByRules(experiment: Experiment, threads: readonly TestThread[]): SystemDecisions[] {
  // Without times a rule of hours would be the first post under another name.
  const areTimed = threads.some(({ hours }) => hours.some((hour, step) => step > 0 && hour !== null));
  const rules = rulesOf(experiment).filter(({ deadline }) => areTimed || deadline.hours === null);
  const postsOfThreads = threads.map(seenByRules);
  // Many rules of a grid read the same at the same posts, and differ in their thresholds alone.
  const scored = new Map<string, readonly (readonly number[])[]>();
  const decided = rules.map((rule) => {
    const policy = rulePolicy(rule, experiment);
    const read = JSON.stringify([rule.field, rule.queries]);
    const scores = scored.get(read) ?? postsOfThreads.map((posts) => [...policy.score(policyStates(policy, posts))]);
    scored.set(read, scores);
    const stops = threads.map((thread, index) => stopByScores(thread, scores[index], policy));
    return decide(rule.name, threads, stops, policy.queries);
  });
  return [...decided, decideByOracle(threads)];
}

/** A thread as thresholds stop it, with the prediction after each post. A score counts 0 where that raises no alert. */
export function replayed(
  { sequence: { predicted }, hours }: TestThread,
  scores: readonly number[],
  { labels, alerts }: Pick<Task, 'labels' | 'alerts'>,
) {
  const labelAt = (posts: number) => labels[predicted[Math.min(posts, predicted.length) - 1]] ?? null;
  const counts = (posts: number) => alerts === undefined || alerts.includes(labelAt(posts) ?? '');
  const posts = scores.map((score, index) => ({ score: counts(index + 1) ? score : 0, hours: hours[index] }));
  return { posts, labelAt, gold: null };
}

/** Where a policy stops in a thread whose scores are known, by another threshold than its own. */
export function stopByScores(
  thread: TestThread,
  scores: readonly number[],
  policy: Pick<PolicyDefinition, 'threshold' | 'limits' | 'queries'> & {
    readonly task: Pick<Task, 'labels' | 'alerts'>;
  },
): AskedStop {
  const { threshold, queries, task } = policy;
  const stop = stopIn(policy, replayed(thread, scores, task).posts);
  if (task.alerts === undefined) return stop;
  const checked = scores.flatMap((score, index) => (index < stop.postsUsed && score > threshold ? [index + 1] : []));
  const maxPosts = Math.min(queries.maxPosts, thread.sequence.predicted.length);
  return { ...stop, queries: queriesUntil({ ...queries, maxPosts, checked }, stop.postsUsed) };
}

/** A thread as rules read it: of judgements and of the student only the confidence is known. */
function seenByRules({ sequence, hours, studentConfidence }: TestThread): SeenPost[] {
  const { predicted, confidence } = sequence;
  return hours.map((hour, index) => ({
    hours: hour,
    embedding: null,
    student: studentConfidence === null ? null : [studentConfidence[index]],
    judgement:
      index >= predicted.length
        ? null
        : Number.isNaN(confidence[index])
          ? { label: predicted[index], probabilities: null }
          : { label: 0, probabilities: [confidence[index]] },
  }));
}

/** EAE on the test threads, which uses what no policy can know. */
function decideByOracle(threads: readonly TestThread[]): SystemDecisions {
  const stops = threads.map(({ sequence: { predicted }, goldLabel, hours }) => {
    const step = earlyActionStop(predicted, goldLabel) ?? predicted.length - 1;
    return { postsUsed: step + 1, hours: hours[step] };
  });
  return { ...decide(oracleName, threads, stops), queries: 'oracle' };
}

/** Whether a system was trained to stop: the agent, or a copy of the demonstrations. Rules are all others. */
export function isLearnt(system: string): boolean {
  return system === agentName || system === cloningName;
}

/** Of a dense grid of rules, those that tables show. */
export function isShown(system: string): boolean {
  const counted = /^first (\d+) posts$/.exec(system);
  if (counted !== null) return shownCounts.has(Number(counted[1]));
  const confident = /^confidence ≥ ([\d.]+)/.exec(system);
  return confident === null || shownConfidences.has(Number(confident[1]));
}

const shownCounts: ReadonlySet<number> = new Set([2, 4, 6, 8, 13, 20, 30, 50]);
const shownConfidences: ReadonlySet<number> = new Set([0.6, 0.7, 0.8, 0.9]);
