import type { Judgement, TranscriptEntry, Usage } from '../../experts/detector.ts';
import { groupBy } from '../../src/data/group-by.ts';
import type { Debate, ShownRound } from './page/page-data.ts';

/** The judgement of a prefix of so many posts, with its transcript. */
export function debateOf(
  { label, transcript, explanation, usage }: Judgement,
  { posts, labels }: { posts: number; labels: readonly string[] },
): Debate {
  const answer = label === null ? -1 : labels.indexOf(label);
  return { posts, answer, rounds: transcriptRounds(transcript), explanation, took: usageInWords(usage) };
}

/** A transcript as a person reads it: by rounds, each with the count of its votes. */
export function transcriptRounds(transcript: readonly TranscriptEntry[]): ShownRound[] {
  return Array.from(
    groupBy(transcript, ({ round }) => round ?? ''),
    ([title, entries]) => {
      const votes = groupBy(
        entries.flatMap(({ vote }) => vote ?? []),
        (vote) => vote,
      );
      const counts = Array.from(votes, ([vote, { length }]) => `${vote} ${length}`);
      const voters = entries.filter(({ vote }) => vote !== undefined).length;
      return {
        title,
        votes: voters > 1 ? counts.join(', ') : '',
        turns: entries.map(({ role, text, vote = '', sources = [], model, usage }) => ({
          role,
          text: text.trim(),
          vote,
          took: [model, usage && usageInWords(usage)].filter(Boolean).join(': '),
          sources: sources.map(({ title, url, date }) => ({ title, date: date ?? 'no date', url })),
        })),
      };
    },
  );
}

/** Requests, tokens and money. */
export function usageInWords({ requests, inputTokens, outputTokens, cost }: Usage): string {
  const money = cost === undefined ? '' : `, cost ${cost.toFixed(6)}`;
  return `${requests} ${requests === 1 ? 'request' : 'requests'}, ${inputTokens} tokens in, ${outputTokens} out${money}`;
}
