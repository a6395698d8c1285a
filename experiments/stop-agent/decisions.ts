import { z } from 'zod';
import type { JudgementSequence } from '../../experts/judgement-sequence.ts';
import {
  afterHours,
  allPosts,
  confidentAt,
  firstPosts,
  labelAware,
  type StopRule,
  type StopRuleInput,
} from '../../experts/stop-rules.ts';
import type { Task } from '../../src/data/task.ts';
import { hoursSinceClaim, type Thread } from '../../src/data/thread.ts';
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
});
/** A line of `decisions.jsonl`: where one system stopped in one test thread, and what the detector said there. */
export type Decision = z.infer<typeof decisionSchema>;

/** What one system decided of all test threads. */
export interface SystemDecisions {
  readonly name: string;
  /** When the detector is called: once at the stop, at every post up to it, or by a rule that sees the labels. */
  readonly calls: StopRule['calls'];
  readonly decisions: readonly Decision[];
}

export interface TestThread {
  readonly thread: Thread;
  readonly input: StopRuleInput;
}

/** Labelled threads with their judgements, as rules read them. */
export function testThreads(
  threads: readonly Thread[],
  { sequences, task }: { sequences: ReadonlyMap<string, JudgementSequence>; task: Task },
): TestThread[] {
  return threads.map((thread) => {
    const sequence = sequences.get(thread.id);
    const goldLabel = task.goldLabel(thread);
    if (sequence === undefined || goldLabel === null)
      throw new Error(`thread ${thread.id} is tested without ${goldLabel === null ? 'a label' : 'judgements'}`);
    const hours = Array.from(sequence.predicted, (_, step) => hoursSinceClaim(thread, step));
    return { thread, input: { sequence, goldLabel, hours } };
  });
}

/** What the stops of a system make of the cached judgements: the detector is called once, at the stop. */
export function decide(system: string, threads: readonly TestThread[], stopSteps: readonly number[]): SystemDecisions {
  const decisions = threads.map(({ thread, input }, index) => {
    const step = stopSteps[index];
    const { predicted } = input.sequence;
    return {
      system,
      threadId: thread.id,
      gold: input.goldLabel,
      predicted: predicted[Math.min(step, predicted.length - 1)],
      postsUsed: step + 1,
      posts: thread.posts.length,
      hours: hoursSinceClaim(thread, step),
    };
  });
  return { name: system, calls: 'one', decisions };
}

/** What every rule of the protocol decides. */
export function decideByRules(evaluation: Experiment['evaluation'], threads: readonly TestThread[]): SystemDecisions[] {
  const rules: StopRule[] = [
    ...evaluation.firstPosts.map(firstPosts),
    ...evaluation.hours.map(afterHours),
    allPosts,
    ...evaluation.confidences.map(confidentAt),
    labelAware,
  ];
  return rules.map((rule) => {
    const stops = threads.map(({ input }) => rule.stopStep(input));
    return { ...decide(rule.name, threads, stops), calls: rule.calls };
  });
}
