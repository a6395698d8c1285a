import { decideTold, type Said, type ToldDecision } from '../../checkpoints/bundle/told-agent.ts';
import { judgementSequence } from '../../experts/judgement-sequence.ts';
import { askedLengths, type PrefixSchedule } from '../../experts/prefix-schedule.ts';
import type { Thread } from '../../src/data/thread.ts';
import { decideStops, type StopPolicy } from '../../trainers/stop-agent/policy.ts';
import type { OpenedRun } from './open-run.ts';

/** What a detector says of the first posts of a thread. */
export type Judge = (length: number) => Promise<Said>;

/**
 * Decides a thread as it comes in, by the checkpoint of a run: the detector is asked at the posts of the schedule until the
 * agent stops, and at the stop unless it was just asked there.
 */
export function askAndDecide(
  thread: Thread,
  agent: { judge: Judge; schedule: PrefixSchedule; policy: StopPolicy } & Pick<
    OpenedRun,
    'experiment' | 'task' | 'tableOf'
  >,
): Promise<ToldDecision> {
  const { judge, schedule, policy, experiment, task, tableOf } = agent;
  const maxPosts = experiment.maxJudgedPosts;
  const asked = askedLengths({ schedule, posts: Math.min(thread.posts.length, maxPosts) });
  return decideTold(thread.posts, {
    asking: { asked, actsAt: experiment.state.actsAt, maxPosts },
    judge: ({ length }) => judge(length),
    async probabilities(told) {
      const seen = { ...thread, posts: thread.posts.slice(0, told.length) };
      const sequence = judgementSequence({ threadId: thread.id, labels: task.labels, judgements: told });
      const sequences = new Map([[thread.id, sequence]]);
      const [{ stopProbability }] = await decideStops(policy, {
        threads: [seen],
        tableOf: (own) => tableOf(own, { sequences, everyPost: true }),
      });
      return stopProbability;
    },
  });
}
