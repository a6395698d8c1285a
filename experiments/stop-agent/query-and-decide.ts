import {
  type DetectorAwareDecision,
  type DetectorOutput,
  decideDetectorAware,
} from '../../checkpoints/bundle/detector-aware-agent.ts';
import { judgementSequence } from '../../experts/judgement-sequence.ts';
import { type PrefixSchedule, queriedLengths } from '../../experts/prefix-schedule.ts';
import type { Thread } from '../../src/data/thread.ts';
import { decideStops, type StopPolicy } from '../../trainers/stop-agent/policy.ts';
import type { OpenedRun } from './open-run.ts';

/** What a detector says of the first posts of a thread. */
export type Judge = (length: number) => Promise<DetectorOutput>;

/**
 * Decides a thread as it comes in, by the checkpoint of a run: the detector is queried at the posts of the schedule until the
 * agent stops, and at the stop unless it was just queried there.
 */
export function queryAndDecide(
  thread: Thread,
  agent: { judge: Judge; schedule: PrefixSchedule; policy: StopPolicy; threshold: number } & Pick<
    OpenedRun,
    'experiment' | 'task' | 'tableOf'
  >,
): Promise<DetectorAwareDecision> {
  const { judge, schedule, policy, threshold, experiment, task, tableOf } = agent;
  const maxPosts = experiment.maxJudgedPosts;
  const lengths = queriedLengths({ schedule, posts: Math.min(thread.posts.length, maxPosts) });
  return decideDetectorAware(thread.posts, {
    queryPlan: { queriedLengths: lengths, actsAt: experiment.state.actsAt, maxPosts },
    threshold,
    judge: ({ length }) => judge(length),
    async probabilities(outputs) {
      const seen = { ...thread, posts: thread.posts.slice(0, outputs.length) };
      const sequence = judgementSequence({ threadId: thread.id, labels: task.labels, judgements: outputs });
      const sequences = new Map([[thread.id, sequence]]);
      const [{ stopProbability }] = await decideStops(policy, {
        threads: [seen],
        tableOf: (own) => tableOf(own, { sequences, everyPost: true }),
      });
      return stopProbability;
    },
  });
}
