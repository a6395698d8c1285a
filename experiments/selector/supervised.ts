import type { Example, VeracityItem } from '../../experts/task-models/task-model.ts';
import { veracityTask } from '../../src/data/task.ts';
import type { Thread } from '../../src/data/thread.ts';
import { type SelectorSettings, stanceItem } from '../../trainers/selector/setup.ts';
import { replyExamples, selectorClaim } from './data.ts';
import type { TestSet } from './protocol.ts';

/**
 * For comparison, task models that are pretrained like the selector's and then tuned on human labels alone. It is no bound:
 * what a model makes of labels limits it, too. The veracity
 * model gets the labels of all training claims, not only of the selector's seeds. The stance model gets those of the training
 * threads and of the threads held out from the tests (the paper's "Val"). The tuned stance model then labels the posts that
 * the veracity model reads.
 */
export async function superviseTaskModels(options: {
  settings: SelectorSettings;
  threads: readonly Thread[];
  heldOut: readonly TestSet[];
}): Promise<void> {
  const { settings, threads, heldOut } = options;
  const { stanceModel, veracityModel, stancePretraining, config } = settings;
  if (config.pretrain.stance && stancePretraining.length > 0) await stanceModel.pretrain(stancePretraining);
  const withStances = new Map(
    [...threads, ...heldOut.flatMap((test) => test.threads)].map((thread) => [thread.id, thread]),
  );
  await stanceModel.tune([...withStances.values()].flatMap(replyExamples));

  const claims = threads.flatMap((thread) => {
    const label = veracityTask.goldLabel(thread);
    return label === null ? [] : [{ ...selectorClaim(thread), label }];
  });
  const stances = await stanceModel.predict(
    claims.flatMap((claim) => claim.posts.map((_, post) => stanceItem(claim, post))),
  );
  let next = 0;
  await veracityModel.tune(
    claims.map(({ threadId, claim, posts, label }): Example<VeracityItem> => {
      const item = {
        threadId,
        claim,
        posts: posts.map((text) => ({ text, stance: stances[next++].distribution })),
      };
      return { item, label, explanation: '' };
    }),
  );
}
