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
import { rumorTask as task } from '../../src/data/task.ts';
import { hoursSinceClaim, type Thread } from '../../src/data/thread.ts';
import { bootstrapInterval } from '../../src/metrics/bootstrap.ts';
import { classificationScores, macroF1 } from '../../src/metrics/classification.ts';
import { earlyRate, meanDelay, mostCommonStopShare } from '../../src/metrics/earliness.ts';
import type { Experiment } from './experiment.ts';

/** One thread as a system decided it. */
export const decisionSchema = z.strictObject({
  system: z.string(),
  threadId: z.string(),
  gold: z.int(),
  /** Index into the task's labels; −1 where the detector's answer could not be parsed. */
  predicted: z.int(),
  /** Posts seen at the decision, and posts in the thread. */
  postsUsed: z.int(),
  posts: z.int(),
  hours: z.number().nullable(),
});
export type Decision = z.infer<typeof decisionSchema>;

const interval = z.tuple([z.number(), z.number()]);
export const systemScoresSchema = z.strictObject({
  name: z.string(),
  calls: z
    .enum(['one', 'every', 'oracle'])
    .describe('when the detector is called: once at the stop, at every post up to it'),
  macroF1: z.number(),
  macroF1Interval: interval.describe('95 %, bootstrap over threads'),
  accuracy: z.number(),
  f1ByLabel: z.record(z.string(), z.number()),
  er: z.number().describe('early rate: posts used / posts in the thread, mean over threads'),
  erInterval: interval,
  delayPosts: z.number(),
  delayHours: z.number().nullable(),
  callsPerThread: z.number(),
  callsSaved: z.number().describe('share of the calls that judging every post of every thread would take'),
  mostCommonStop: z.strictObject({ name: z.string(), share: z.number() }),
  threads: z.int(),
});
export type SystemScores = z.infer<typeof systemScoresSchema>;

/** Every rule of the protocol. */
export function evaluationRules(evaluation: Experiment['evaluation']): StopRule[] {
  return [
    ...evaluation.firstPosts.map(firstPosts),
    ...evaluation.hours.map(afterHours),
    allPosts,
    ...evaluation.confidences.map(confidentAt),
    labelAware,
  ];
}

export interface TestThread {
  readonly thread: Thread;
  readonly input: StopRuleInput;
}

export function testThreads(
  threads: readonly Thread[],
  sequences: ReadonlyMap<string, JudgementSequence>,
): TestThread[] {
  return threads.map((thread) => {
    const sequence = sequences.get(thread.id)!;
    const hours = Array.from(sequence.predicted, (_, step) => hoursSinceClaim(thread, step));
    return { thread, input: { sequence, goldLabel: task.goldLabel(thread)!, hours } };
  });
}

/** What a system's stops make of the cached judgements: the detector is called once, at the stop. */
export function decide(system: string, threads: readonly TestThread[], stopSteps: readonly number[]): Decision[] {
  return threads.map(({ thread, input }, index) => {
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
}

export function decideByRule(rule: StopRule, threads: readonly TestThread[]): Decision[] {
  return decide(
    rule.name,
    threads,
    threads.map(({ input }) => rule.stopStep(input)),
  );
}

export function scoreDecisions(
  decisions: readonly Decision[],
  options: { calls: StopRule['calls']; seed: number; resamples: number },
): SystemScores {
  const gold = decisions.map((decision) => decision.gold);
  const predicted = decisions.map((decision) => decision.predicted);
  const postsUsed = decisions.map((decision) => decision.postsUsed);
  const threadPosts = decisions.map(({ posts }) => posts);
  const classes = task.labels.length;
  const scores = classificationScores({ gold, predicted, classes });
  const delay = meanDelay({ postsUsed, threadPosts, hours: decisions.map(({ hours }) => hours) });
  const bootstrap = { items: decisions.length, seed: options.seed, resamples: options.resamples };
  const f1 = bootstrapInterval({ ...bootstrap, statistic: (items) => macroF1({ gold, predicted, classes, items }) });
  const er = bootstrapInterval({ ...bootstrap, statistic: (items) => earlyRate({ postsUsed, threadPosts, items }) });
  const total = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0);
  const calls = options.calls === 'one' ? decisions.length : total(postsUsed);
  return {
    name: decisions[0].system,
    calls: options.calls,
    macroF1: f1.estimate,
    macroF1Interval: [f1.low, f1.high],
    accuracy: scores.accuracy,
    f1ByLabel: Object.fromEntries(task.labels.map((label, index) => [label, scores.perClass[index].f1])),
    er: er.estimate,
    erInterval: [er.low, er.high],
    delayPosts: delay.posts,
    delayHours: delay.hours,
    callsPerThread: calls / decisions.length,
    callsSaved: 1 - calls / total(threadPosts),
    mostCommonStop: mostCommonStopShare({ postsUsed, threadPosts }),
    threads: decisions.length,
  };
}
