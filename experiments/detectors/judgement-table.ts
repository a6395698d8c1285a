import { csvText } from '../../src/csv-text.ts';
import type { Thread } from '../../src/data/thread.ts';
import { entryOf } from '../../src/entry-of.ts';
import { type DetectorDecision, repliesOf } from './decisions.ts';

/** Judgements beside the true labels as CSV: a row per detector, thread and number of replies. */
export function judgementTable(
  evaluations: readonly { readonly detector: string; readonly decisions: readonly DetectorDecision[] }[],
  threads: readonly Thread[],
): string {
  const texts = new Map(threads.map(({ id, posts }) => [id, posts[0].text]));
  const all = evaluations.flatMap(({ detector, decisions }) => decisions.map((decision) => ({ detector, decision })));
  const labels = [...new Set(all.flatMap(({ decision }) => Object.keys(decision.probabilities ?? {})))];
  const heading = [
    ...['detector', 'replies', 'thread', 'event', 'true', 'predicted', 'right'],
    ...labels.map((label) => `p(${label})`),
    ...['posts', 'calls', 'input_tokens', 'output_tokens', 'cost', 'seconds', 'key', 'explanation', 'text'],
  ];
  const rows = all.map(({ detector, decision }) => {
    const { item, event, gold, prediction, probabilities, numbers, texts: said } = decision;
    const { posts, calls, inputTokens, outputTokens, cost, seconds } = numbers;
    return [
      ...[detector, repliesOf(decision), item, event, gold, prediction, Number(prediction === gold)],
      ...labels.map((label) => entryOf(probabilities ?? {}, label)),
      ...[posts, calls, inputTokens, outputTokens, cost, seconds, said.key, said.explanation, texts.get(item)],
    ].map((cell) => String(cell ?? ''));
  });
  return csvText([heading, ...rows]);
}
