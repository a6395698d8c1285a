import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { AnnotationStore } from '../../../experts/annotations/annotation-store.ts';
import { annotationRequest } from '../../../experts/asking/annotation-request.ts';
import { scheduledLengths } from '../../../experts/prefix-schedule.ts';
import { prefixOf, type Thread } from '../../../src/data/thread.ts';
import { InputError } from '../../../src/errors.ts';
import { workContext } from '../../../src/work-context.ts';
import { openJudgeOf } from '../../judging/judge.ts';
import type { Debate } from '../../report/page/page-data.ts';
import { debateOf } from '../../report/transcript-rounds.ts';
import type { Decision } from '../decisions.ts';
import { type Experiment, taskOf } from '../experiment.ts';
import { recallForTraining } from '../judge-for-training.ts';

/**
 * What a detector on language models said before the judgements that an agent stopped at, by thread. Nothing is asked: only
 * the store is read.
 * @param options.decisions the agent's
 * @param options.cache folder that runs share
 * @returns nothing for local detectors, which do not talk; a problem where the store or the detector cannot be read
 */
export async function debatesOf(options: {
  experiment: Experiment;
  threads: ReadonlyMap<string, Thread>;
  decisions: readonly Decision[];
  cache: string;
}): Promise<{ debates: ReadonlyMap<string, readonly Debate[]>; problem: string | null }> {
  const { experiment, threads, decisions, cache } = options;
  const none = new Map<string, readonly Debate[]>();
  const { detector } = experiment;
  if (!('file' in detector)) return { debates: none, problem: null };
  const path = detector.annotations ?? join(cache, 'annotations.sqlite');
  if (!existsSync(path)) return { debates: none, problem: `there is no annotation store ${path}` };
  const store = AnnotationStore.open(path);
  try {
    const judge = { judge: await openJudgeOf(detector.file, taskOf(experiment)), options: detector };
    const maxPosts = experiment.maxJudgedPosts;
    const asked = await recallForTraining({ judge, threads: [], store, maxPosts, context: workContext() });
    const { labels } = taskOf(experiment);
    const judged = decisions.flatMap(({ threadId, postsUsed }) => {
      const thread = threads.get(threadId);
      if (thread === undefined) return [];
      const lengths = scheduledLengths({
        schedule: detector.schedule,
        posts: Math.min(thread.posts.length, maxPosts),
      });
      // A judgement holds until the next judged prefix.
      const posts = lengths.findLast((length) => length <= postsUsed);
      if (posts === undefined) return [];
      const request = annotationRequest({ detector: asked.detector, prefix: prefixOf(thread, posts) });
      return [{ threadId, posts, key: store.keyOf(request) }];
    });
    const judgements = store.getMany(judged.map(({ key }) => key));
    const debates = judged.flatMap(({ threadId, posts, key }) => {
      const judgement = judgements.get(key);
      return judgement === undefined ? [] : [[threadId, [debateOf(judgement, { posts, labels })]] as const];
    });
    return { debates: new Map(debates), problem: null };
  } catch (error) {
    if (error instanceof InputError) return { debates: none, problem: error.message };
    throw error;
  } finally {
    store.close();
  }
}
