import { z } from 'zod';
import { stanceClasses, veracityClasses } from '../../experts/task-models/task-model.ts';
import { veracityTask } from '../../src/data/task.ts';
import type { Thread } from '../../src/data/thread.ts';
import { likeliest } from '../../src/likeliest.ts';
import type { WorkContext } from '../../src/work-context.ts';
import { selectGreedily } from '../../trainers/selector/select-greedily.ts';
import type { SelectorSettings, SelectorTraining } from '../../trainers/selector/setup.ts';
import { type DecisionLine, decisionSchema } from '../run/decisions-file.ts';
import { replyStances, selectorClaim } from './data.ts';
import { baselines } from './experiment.ts';
import type { TestSet } from './protocol.ts';

export const selectorName = 'selector';
/** The selector's task models when they read every post: the policy's worth in training alone. */
export const allPostsName = 'selector-all-posts';

export const selectorSystems = [selectorName, allPostsName, ...baselines] as const;
export type SelectorSystem = (typeof selectorSystems)[number];

/** The names in tables. */
export const systemNames: Readonly<Record<string, string>> = {
  [selectorName]: selectorName,
  [allPostsName]: 'its task models, reading all posts',
  untuned: 'task models untuned',
  everything: 'tuned on everything, no selection',
  random: 'random selection of the same size',
  'random-by-class': 'random selection alike in every class',
  'right-labels': 'only labels that are right or cannot be checked',
  supervised: 'tuned on human labels',
  majority: 'most common class',
  'nearest-neighbour': 'most similar text (1-NN on words)',
  'tf-idf': 'TF-IDF and logistic regression',
};

export const taskClasses = { stance: stanceClasses, veracity: veracityClasses } as const;
export type SelectorTask = keyof typeof taskClasses;
export const selectorTasks: readonly SelectorTask[] = ['stance', 'veracity'];

/** A decided stance or veracity. Its place is a test set and a task. */
export const selectorDecisionSchema = decisionSchema.extend({
  numbers: z.strictObject({ retained: z.union([z.literal(0), z.literal(1)]) }),
});
export type SelectorDecision = z.output<typeof selectorDecisionSchema>;

export function taskOf({ place }: Pick<DecisionLine, 'place'>): SelectorTask {
  return place.task === 'stance' ? 'stance' : 'veracity';
}

/** A labelled item of a test: a reply for stance, a claim for veracity. */
export interface TestItem extends Pick<SelectorDecision, 'item' | 'event'> {
  readonly task: SelectorTask;
  readonly gold: number;
  /** Index of the reply; null for the claim. */
  readonly reply: number | null;
}

/** @param options.distribution probabilities of the task's classes */
export function selectorDecision(
  { task, item, event, gold }: TestItem,
  options: Pick<SelectorDecision, 'system' | 'part'> & {
    test: string;
    distribution: Float64Array;
    isRetained: boolean;
  },
): SelectorDecision {
  const { system, part, test, distribution, isRetained } = options;
  const classes = taskClasses[task];
  return {
    system,
    item,
    event,
    part,
    place: { test, task },
    gold: classes[gold],
    prediction: classes[likeliest(distribution)],
    probabilities: Object.fromEntries(classes.map((name, index) => [name, distribution[index]])),
    numbers: { retained: isRetained ? 1 : 0 },
    texts: {},
  };
}

/** Decides every labelled stance and veracity of a test. */
export async function decideTest(
  options: Pick<SelectorDecision, 'system' | 'part'> & {
    test: TestSet;
    settings: Omit<SelectorSettings, 'claims' | 'stancePretraining' | 'seed'>;
    /** Null reads every post. */
    policies: SelectorTraining['policies'] | null;
    stage: string;
    context: WorkContext;
  },
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
    testItems(thread).map((tested) => {
      const { claim, posts } = selections[index];
      const { prediction, isRetained } = tested.reply === null ? claim : posts[tested.reply];
      return selectorDecision(tested, { system, part, test: test.name, isRetained, ...prediction });
    }),
  );
}

/** The labelled items of a thread: its replies with a stance, then its claim if it has a veracity. */
export function testItems(thread: Thread): TestItem[] {
  const { id, event, posts } = thread;
  const veracity = veracityTask.goldLabel(thread);
  return [
    ...replyStances(thread).flatMap((gold, reply): TestItem[] =>
      gold < 0 ? [] : [{ task: 'stance', item: `${id}/${posts[reply + 1].id}`, event, gold, reply }],
    ),
    ...(veracity === null ? [] : [{ task: 'veracity' as const, item: id, event, gold: veracity, reply: null }]),
  ];
}

/** The thread that a decision is about. */
export function threadOf(decision: Pick<DecisionLine, 'place' | 'item'>): string {
  const { item } = decision;
  return taskOf(decision) === 'veracity' ? item : item.slice(0, item.lastIndexOf('/'));
}
