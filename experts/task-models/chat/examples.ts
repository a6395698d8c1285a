import { z } from 'zod';

/** An example as it is shown, kept in the words in which it is shown. */
export const chatExampleSchema = z.strictObject({
  threadId: z.string(),
  subject: z.string(),
  label: z.int().nonnegative(),
  question: z.string(),
  answer: z.string(),
});
export type ChatExample = z.infer<typeof chatExampleSchema>;

/**
 * Of the examples, in their order, those that can ever be shown: whichever thread's own are then left out, `chooseExamples`
 * takes the same ones as from all. Of several examples of one subject the first is kept.
 */
export function showableExamples(options: { examples: readonly ChatExample[]; shown: number }): ChatExample[] {
  const { examples, shown } = options;
  const subjects = new Set<string>();
  const kept = new Map<number, ChatExample[]>();
  for (const example of examples) {
    if (subjects.has(example.subject)) continue;
    subjects.add(example.subject);
    const own = kept.get(example.label) ?? [];
    const countOf = (threadId: string) => own.filter((other) => other.threadId === threadId).length;
    const others = new Set(own.map(({ threadId }) => threadId).filter((id) => id !== example.threadId));
    // Beside a thread's own, one more may be left out: that of the subject asked about.
    if (own.length - Math.max(0, ...[...others].map(countOf)) > shown) continue;
    kept.set(example.label, [...own, example]);
  }
  const showable = new Set([...kept.values()].flat());
  return examples.filter((example) => showable.has(example));
}

/**
 * At most `shown` examples, balanced: the first of each class, then the second, and so on, in the order in which they were
 * given. None of the item's own thread, or of the same subject in another thread.
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
