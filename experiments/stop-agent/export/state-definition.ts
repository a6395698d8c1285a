import type { Manifest } from '../../../checkpoints/bundle/manifest.ts';
import { queriedLengths } from '../../../experts/prefix-schedule.ts';
import { lastJudgementFeatureCount, lastJudgementMeaning } from '../../../src/data/last-judgement.ts';
import { tellsPostCount } from '../../../src/data/post-pooling.ts';
import { actionTexts } from '../../../trainers/stop-agent/states.ts';
import type { OpenedRun } from '../open-run.ts';

const pooledInWords = {
  none: 'no posts',
  sum: 'sum of the embeddings of the posts seen',
  mean: 'mean of the embeddings of the posts seen',
  sqrt: 'sum of the embeddings of the k posts seen over √k',
} as const;

/** What the numbers of a state are, for readers of the bundle. */
export function stateDefinition({
  experiment,
  cache,
  task,
  policy,
  projection,
  schedule,
}: OpenedRun): Manifest['state'] {
  const { posts: pooling } = experiment.state;
  const dimensions = pooling === 'none' ? 0 : cache.embeddings.dimensions;
  const columns = policy.parameters.w1.rows + (projection === null ? 0 : projection.inputs - projection.components);
  const counted = pooling !== 'none' && tellsPostCount(pooling) ? 1 : 0;
  const observed = schedule === null ? 0 : lastJudgementFeatureCount(task.labels.length);
  const [first, ...others] = task.labels;
  const posts = {
    name: 'posts',
    from: 0,
    count: dimensions,
    meaning: `${pooledInWords[pooling]}; but for the first post, the embedding of the text of the previous action is added${projection === null ? '' : `; the policy sees ${projection.components} principal components of it`}`,
  };
  const postsSeen = { name: 'posts seen', from: dimensions, count: counted, meaning: 'ln of the posts seen' };
  const student = {
    name: 'student',
    from: dimensions + counted,
    count: columns - dimensions - counted - observed,
    meaning: `log-odds of ${others.join(', ')} against ${first} by the student (probabilities at least 1e-4), the margin between its likeliest label and the next in log-odds, ln of the posts seen, ln of how many posts in a row its label is unchanged`,
  };
  const judgement = {
    name: 'judgement',
    from: columns - observed,
    count: observed,
    meaning: lastJudgementMeaning(task.labels),
  };
  const { maxPosts } = experiment.agent;
  return {
    columns,
    fields: [posts, postsSeen, student, judgement].filter(({ count }) => count > 0),
    ...(pooling !== 'none' && pooling !== 'sum' && { pooling }),
    previousActions: { continue: actionTexts[0], stop: actionTexts[1] },
    maxPosts,
    ...(schedule !== null && {
      queryPlan: {
        queriedLengths: queriedLengths({ schedule, posts: Math.min(maxPosts, experiment.maxJudgedPosts) }),
        actsAt: experiment.state.actsAt,
        maxPosts: experiment.maxJudgedPosts,
      },
    }),
  };
}
