import { z } from 'zod';
import { checked } from '../../../src/checked.ts';

/** An example in the words that the model sees. */
const chatExampleSchema = z.strictObject({
  threadId: z.string(),
  subject: z.string(),
  label: z.int().nonnegative(),
  question: z.string(),
  answer: z.string(),
});
export type ChatExample = z.infer<typeof chatExampleSchema>;

const stateSchema = z.strictObject({
  tuning: z.literal('in-context'),
  pretrained: z.array(chatExampleSchema),
  tuned: z.array(chatExampleSchema),
});

/** Tunes by showing examples before the question; those of pretraining while there are no others. */
export function inContextTuning({ shown }: { shown: number }) {
  let pretrained: readonly ChatExample[] = [];
  let tuned: readonly ChatExample[] = [];
  return {
    /** Solved examples before the question about an item. None may repeat what the item's own label is. */
    examplesFor({ threadId, subject }: { threadId: string; subject: string }): readonly ChatExample[] {
      const chosen = chooseExamples({ examples: tuned, shown, threadId, subject });
      return chosen.length > 0 ? chosen : chooseExamples({ examples: pretrained, shown, threadId, subject });
    },
    pretrain(examples: readonly ChatExample[]): void {
      pretrained = showableExamples({ examples, shown });
      tuned = [];
    },
    tune(examples: readonly ChatExample[]): void {
      tuned = showableExamples({ examples, shown });
    },
    /** The state as plain JSON. */
    state: () => ({ tuning: 'in-context', pretrained, tuned }),
    restore(state: unknown): void {
      const wrong = 'this is not the state of a chat model with in-context tuning';
      ({ pretrained, tuned } = checked(stateSchema, state, wrong));
    },
  };
}

export type InContextTuning = ReturnType<typeof inContextTuning>;

/**
 * The examples that can ever be shown, in order: whichever thread's examples are left out later, `chooseExamples`
 * chooses the same ones from these as from all. The first example of each subject counts.
 */
export function showableExamples(options: { examples: readonly ChatExample[]; shown: number }): ChatExample[] {
  const { examples, shown } = options;
  const subjects = new Set<string>();
  const shownByLabel = new Map<number, ChatExample[]>();
  for (const example of examples) {
    if (subjects.has(example.subject)) continue;
    subjects.add(example.subject);
    const ofLabel = shownByLabel.get(example.label) ?? [];
    const countOf = (threadId: string) => ofLabel.filter((other) => other.threadId === threadId).length;
    const others = new Set(ofLabel.map(({ threadId }) => threadId).filter((id) => id !== example.threadId));
    // Besides a thread's own examples, one more may be left out: the one with the question's subject.
    if (ofLabel.length - Math.max(0, ...[...others].map(countOf)) > shown) continue;
    shownByLabel.set(example.label, [...ofLabel, example]);
  }
  const showable = new Set([...shownByLabel.values()].flat());
  return examples.filter((example) => showable.has(example));
}

/**
 * At most `shown` examples, balanced: the first of each class, then the second, and so on, in the given order. Leaves
 * out examples of the item's thread and those with the same subject in other threads.
 */
export function chooseExamples(options: {
  examples: readonly ChatExample[];
  shown: number;
  threadId: string;
  subject: string;
}): ChatExample[] {
  const { examples, shown, threadId, subject } = options;
  const ranks = new Map<number, number>();
  const ranked: { example: ChatExample; rank: number }[] = [];
  for (const example of examples) {
    if (example.threadId === threadId || example.subject === subject) continue;
    const rank = ranks.get(example.label) ?? 0;
    ranks.set(example.label, rank + 1);
    ranked.push({ example, rank });
  }
  return ranked
    .sort((one, other) => one.rank - other.rank || one.example.label - other.example.label)
    .slice(0, shown)
    .map(({ example }) => example);
}
