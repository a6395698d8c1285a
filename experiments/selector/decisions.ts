import { z } from 'zod';
import { stanceClasses, veracityClasses } from '../../experts/task-models/task-model.ts';
import { veracityTask } from '../../src/data/task.ts';
import type { Thread } from '../../src/data/thread.ts';
import { likeliest } from '../../src/likeliest.ts';
import type { WorkContext } from '../../src/work-context.ts';
import { selectGreedily } from '../../trainers/selector/select-greedily.ts';
import type { SelectorSettings, SelectorTraining } from '../../trainers/selector/setup.ts';
import { replyStances, selectorClaim } from './data.ts';
import { baselines } from './experiment.ts';
import type { TestSet } from './protocol.ts';
import { allPostsName, selectorName } from './system-names.ts';

export const selectorSystems = [selectorName, allPostsName, ...baselines] as const;
export type SelectorSystem = (typeof selectorSystems)[number];

/** The two tasks of a selector with their classes. */
export const taskClasses = { stance: stanceClasses, veracity: veracityClasses } as const;
export type SelectorTask = keyof typeof taskClasses;
export const selectorTasks: readonly SelectorTask[] = ['stance', 'veracity'];

/** One labelled test item as a system decided it: a reply for stance, a claim for veracity. */
export const selectorDecisionSchema = z.strictObject({
  system: z.enum(selectorSystems),
  test: z.string(),
  part: z
    .enum(['test', 'held-out'])
    .describe('tables show the test; the other threads, or development events, are what settings may be chosen by'),
  task: z.enum(['stance', 'veracity']),
  id: z.string().describe('of the thread; of a reply with its own id after a slash'),
  event: z.string().nullable(),
  gold: z.int(),
  predicted: z.int(),
  probabilities: z.array(z.number()).describe('of each class'),
  retained: z.boolean(),
});
export type SelectorDecision = z.output<typeof selectorDecisionSchema>;

interface TestOptions {
  readonly test: TestSet;
  readonly settings: Omit<SelectorSettings, 'claims' | 'stancePretraining' | 'seed'>;
  /** Null: every post is read. */
  readonly policies: SelectorTraining['policies'] | null;
  /** Name of the stage that progress is shown under. */
  readonly stage: string;
  readonly context: WorkContext;
}

/** Decides the stance of every reply that has a label, and the veracity of every claim that has one. */
export async function decideTest(
  options: TestOptions & Pick<SelectorDecision, 'system' | 'part'>,
): Promise<SelectorDecision[]> {
  const { test, settings, policies, stage, context, system, part } = options;
  const selections = await selectGreedily({
    settings,
    policies,
    claims: test.threads.map(selectorClaim),
    onProgress: (done, total) => context.onProgress(stage, done, total),
    signal: context.signal,
  });
  return test.threads.flatMap((thread, index) =>
    testItems(thread).map(({ place, ...item }): SelectorDecision => {
      const { claim, posts } = selections[index];
      const { prediction, isRetained } = place === null ? claim : posts[place];
      return {
        system,
        test: test.name,
        part,
        ...item,
        predicted: likeliest(prediction.distribution),
        probabilities: [...prediction.distribution],
        retained: isRetained,
      };
    }),
  );
}

/** What a thread tests: its replies with a stance, then its claim where it has a veracity. */
export function testItems(
  thread: Thread,
): (Pick<SelectorDecision, 'task' | 'id' | 'event' | 'gold'> & { readonly place: number | null })[] {
  const { id, event, posts } = thread;
  const veracity = veracityTask.goldLabel(thread);
  return [
    ...replyStances(thread).flatMap((gold, place) =>
      gold < 0 ? [] : [{ task: 'stance' as const, id: `${id}/${posts[place + 1].id}`, event, gold, place }],
    ),
    ...(veracity === null ? [] : [{ task: 'veracity' as const, id, event, gold: veracity, place: null }]),
  ];
}

/** The thread that a decision is about. */
export function threadOf({ task, id }: Pick<SelectorDecision, 'task' | 'id'>): string {
  return task === 'veracity' ? id : id.slice(0, id.lastIndexOf('/'));
}
