import type { PolicyDefinition, QueryPlan } from '../../checkpoints/policy/policy.ts';
import type { Rule } from '../../checkpoints/policy/rules.ts';
import { stateFields } from '../../checkpoints/policy/state-fields.ts';
import type { Limits } from '../../checkpoints/policy/stops.ts';
import { type PrefixSchedule, queriedLengths } from '../../experts/prefix-schedule.ts';
import type { Task } from '../../src/data/task.ts';
import { type Experiment, taskOf } from './experiment.ts';

/* When the policies of an experiment query the detector, and when they stop at the latest. */

/** A learnt policy stops where stopping is likelier than not, unless another threshold was chosen. */
export const halfway = 0.5;

/** When the detector is queried while the agent reads; null where the agent does not observe it. */
export function scheduleOf({ state }: Experiment): PrefixSchedule | null {
  return state.observesDetector ? state.querySchedule : null;
}

/** When the agent queries its detector, and where it acts. */
export function agentQueries(experiment: Experiment): QueryPlan {
  const schedule = scheduleOf(experiment);
  return {
    lengths: schedule === null ? [] : lengthsOf(schedule, experiment),
    actsAt: schedule === null ? 'every-post' : experiment.state.actsAt,
    maxPosts: experiment.maxJudgedPosts,
  };
}

/** The numbers of posts of a schedule, as far as this experiment's policies query. */
export function lengthsOf(schedule: PrefixSchedule, { agent, maxJudgedPosts }: Experiment): number[] {
  return queriedLengths({ schedule, posts: Math.min(agent.maxPosts, maxJudgedPosts) });
}

/** The last post and the deadline of reading, for the agent and for rules. */
export function limitsOf({ agent, deadline }: Experiment): Limits {
  return { maxPosts: agent.maxPosts, deadline };
}

/** A task as policies keep it. */
export function decidedBy({ name, labels, alerts }: Task): { name: string; labels: string[]; alerts?: string[] } {
  return { name, labels: [...labels], ...(alerts !== undefined && { alerts: [...alerts] }) };
}

/** A rule as a policy: it reads a thread to its last post, and keeps the earlier of its own deadline and the experiment's. */
export function rulePolicy(rule: Rule, experiment: Experiment): PolicyDefinition {
  const task = taskOf(experiment);
  const { maxPosts, deadline } = limitsOf(experiment);
  return {
    task: decidedBy(task),
    fields: stateFields([rule.field], { labels: task.labels, posts: null }),
    queries: { lengths: rule.queries, actsAt: 'every-post', maxPosts: experiment.maxJudgedPosts },
    score: (states) => states.slice(),
    threshold: rule.threshold,
    limits: {
      maxPosts,
      deadline: {
        posts: earlier(rule.deadline.posts, deadline.posts),
        hours: earlier(rule.deadline.hours, deadline.hours),
      },
    },
  };
}

function earlier(first: number | null, second: number | null): number | null {
  if (first === null || second === null) return first ?? second;
  return Math.min(first, second);
}
