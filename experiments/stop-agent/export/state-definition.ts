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
  const fields = [
    {
      name: 'posts',
      count: dimensions,
      meaning: `${pooledInWords[pooling]}; but for the first post, the embedding of the text of the previous action is added${projection === null ? '' : `; the policy sees ${projection.components} principal components of it`}`,
    },
    { name: 'posts seen', count: counted, meaning: 'ln of the posts seen' },
    {
      name: 'student',
      count: columns - dimensions - counted - observed,
      meaning: `log-odds of ${others.join(', ')} against ${first} by the student (probabilities at least 1e-4), the margin between its likeliest label and the next in log-odds, ln of the posts seen, ln of how many posts in a row its label is unchanged`,
    },
    { name: 'judgement', count: observed, meaning: lastJudgementMeaning(task.labels) },
  ];
  let next = 0;
  const placed = fields.map(({ name, count, meaning }) => {
    const from = next;
    next += count;
    return { name, from, count, meaning };
  });
  const { maxPosts } = experiment.agent;
  return {
    columns,
    fields: placed.filter(({ count }) => count > 0),
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
