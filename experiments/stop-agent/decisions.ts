import { z } from 'zod';
import type { Detector } from '../../experts/detector.ts';
import { assertLabelsOf, type JudgementSequence } from '../../experts/judgement-sequence.ts';
import type { PrefixSchedule } from '../../experts/prefix-schedule.ts';
import {
  afterHours,
  allPosts,
  callsOfStop,
  confidentAt,
  firstPosts,
  labelAware,
  type StopRule,
  type StopRuleInput,
} from '../../experts/stop-rules.ts';
import { checkedGoldLabel, type Task } from '../../src/data/task.ts';
import { hoursSinceClaim, prefixOf, type Thread } from '../../src/data/thread.ts';
import { InputError } from '../../src/errors.ts';
import type { Experiment } from './experiment.ts';

export const agentName = 'stop agent';
export const cloningName = 'behaviour cloning';

/** One thread as a system decided it. */
export const decisionSchema = z.strictObject({
  system: z.string(),
  threadId: z.string(),
  gold: z.int(),
  /** Index into the labels of the task; −1 where the detector's answer could not be parsed. */
  predicted: z.int(),
  /** Posts seen at the decision, and posts in the thread. */
  postsUsed: z.int(),
  posts: z.int(),
  hours: z.number().nullable(),
  /** Calls of the detector. */
  calls: z.int(),
});
/** A line of `decisions.jsonl`: where one system stopped in one test thread, and what the detector said there. */
export type Decision = z.infer<typeof decisionSchema>;

/** What one system decided of all test threads. */
export interface SystemDecisions {
  readonly name: string;
  /** When the detector is called (see `StopRule`). */
  readonly calls: StopRule['calls'];
  readonly decisions: readonly Decision[];
}

/** A labelled thread with its judgements. */
export interface TestThread {
  readonly threadId: string;
  readonly input: StopRuleInput;
  /** Hours since the claim, of every post; null where unknown. */
  readonly hours: readonly (number | null)[];
  /** What a student is sure of after each post; null where the agent has none. */
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
    const input = { sequence, goldLabel, hours: hours.slice(0, sequence.predicted.length) };
    return { threadId: thread.id, input, hours, studentConfidence: null };
  });
}

/** The same threads with what a student makes of each of their prefixes. */
export async function withStudent(
  tested: readonly TestThread[],
  threads: readonly Thread[],
  reader: Detector,
): Promise<TestThread[]> {
  const read: TestThread[] = [];
  for (const [index, own] of tested.entries()) {
    const studentConfidence: number[] = [];
    for (let length = 1; length <= threads[index].posts.length; length++) {
      const { label, probabilities } = await reader.judge(prefixOf(threads[index], length));
      studentConfidence.push(label === null ? 0 : (probabilities?.[label] ?? 1));
    }
    read.push({ ...own, studentConfidence });
  }
  return read;
}

/** How a system asks the detector: once at the stop unless said otherwise. */
export type QueryingSystem = Pick<StopRule, 'calls' | 'schedule'>;
const asksOnce: QueryingSystem = { calls: 'one', schedule: null };

/**
 * What the stops of a system make of the cached judgements.
 * @param stopSteps 0-based, one a thread
 * @throws InputError where a stop is no step of its thread
 */
export function decide(
  system: string,
  threads: readonly TestThread[],
  stopSteps: readonly number[],
  { calls, schedule }: QueryingSystem = asksOnce,
): SystemDecisions {
  if (stopSteps.length !== threads.length)
    throw new InputError(
      `${system} stops in ${stopSteps.length} threads, and ${threads.length} are tested; give one stop a thread`,
    );
  const decisions = threads.map(({ threadId, input, hours }, index) => {
    const step = stopSteps[index];
    if (hours[step] === undefined)
      throw new InputError(
        `${system} stops in thread ${JSON.stringify(threadId)} at step ${step}; it must be a whole number from 0 to ${hours.length - 1}`,
      );
    const { predicted } = input.sequence;
    return {
      system,
      threadId,
      gold: input.goldLabel,
      predicted: predicted[Math.min(step, predicted.length - 1)],
      postsUsed: step + 1,
      posts: hours.length,
      hours: hours[step],
      calls: callsOfStop(step + 1, { schedule, sequence: input.sequence }),
    };
  });
  return { name: system, calls, decisions };
}

/** How an agent asks that reads with this schedule; null for one that asks at the stop only. */
export function queryingOf(schedule: PrefixSchedule | null): QueryingSystem {
  if (schedule === null) return asksOnce;
  return { calls: schedule.name === 'every' ? 'every' : 'schedule', schedule };
}

/** Rules: stop once the student is so confident, where the agent has one. They cost no call, so a few tell enough. */
const studentConfidences = [0.6, 0.7, 0.8, 0.9];

/**
 * What every rule of the protocol decides.
 * @param schedule that of the agent, on which confidence rules ask, too; null for none
 */
export function decideByRules(
  { firstPosts: counts, hours, confidences, schedules }: Experiment['evaluation'],
  threads: readonly TestThread[],
  schedule: PrefixSchedule | null,
): SystemDecisions[] {
  // Without times a rule of hours would be the first post under another name.
  const areTimed = threads.some(({ input }) => input.hours.some((hour, step) => step > 0 && hour !== null));
  const rules: StopRule[] = [
    ...counts.map(firstPosts),
    ...(areTimed ? hours.map(afterHours) : []),
    allPosts,
    ...schedules.flatMap((own) => confidences.map((confidence) => confidentAt(confidence, own))),
    ...(schedule === null
      ? []
      : confidences.map((confidence) => ({
          ...confidentAt(confidence, schedule),
          name: `confidence ≥ ${confidence}, asked when the agent asks`,
        }))),
    labelAware,
  ];
  const decided = rules.map((rule) => {
    const stops = threads.map(({ input }) => rule.stopStep(input));
    return decide(rule.name, threads, stops, rule);
  });
  return [...decided, ...studentConfidences.flatMap((threshold) => byStudent(threshold, threads))];
}

/** Stops once the student is as sure; it costs no call, so the detector is asked once. None where there is no student. */
function byStudent(threshold: number, threads: readonly TestThread[]): SystemDecisions[] {
  const stops = threads.flatMap(({ studentConfidence }) => {
    if (studentConfidence === null) return [];
    const first = studentConfidence.findIndex((confidence) => confidence >= threshold);
    return [first < 0 ? studentConfidence.length - 1 : first];
  });
  return stops.length < threads.length ? [] : [decide(`${studentRuleStart} ${threshold}`, threads, stops)];
}

const studentRuleStart = 'student ≥';

/** Whether a system was learnt: a copy of the demonstrations or a threshold on the student. Rules are all others. */
export function isLearnt(system: string): boolean {
  return system === agentName || system === cloningName || system.startsWith(studentRuleStart);
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
