import { existsSync } from 'node:fs';
import { AnnotationStore } from '../../../experts/annotations/annotation-store.ts';
import type { PageData, ShownTranscript } from '../../report/page/page-data.ts';
import { debateOf } from '../../report/transcript-rounds.ts';
import type { DetectorStanding } from './standing.ts';

/** So that a page stays a few MB. */
const mostTranscripts = 200;

/**
 * Transcripts of detectors on language models after the most replies, seed after seed, wrong ones first.
 * @param options.texts claims by thread
 * @returns null where nobody talks, or the store is gone
 */
export function transcriptsOf(
  detectors: readonly DetectorStanding[],
  { store: path, texts }: { store: string; texts: ReadonlyMap<string, string> },
): NonNullable<PageData['transcripts']> | null {
  const judged = detectors
    .flatMap(({ variant, last }) => last.decisions.map((decision) => ({ variant, decision })))
    .filter(({ decision }) => decision.texts.key !== null && decision.prediction !== null)
    .toSorted((a, b) => Number(isRight(a.decision)) - Number(isRight(b.decision)))
    .slice(0, mostTranscripts);
  if (judged.length === 0 || !existsSync(path)) return null;
  const { labels } = detectors[0].trials[0];
  const store = AnnotationStore.open(path);
  try {
    const judgements = store.getMany(judged.flatMap(({ decision }) => decision.texts.key ?? []));
    const rows = judged.flatMap(({ variant, decision }): ShownTranscript[] => {
      const judgement = judgements.get(decision.texts.key ?? '');
      if (judgement === undefined || judgement.transcript.length === 0) return [];
      const { item, gold, numbers } = decision;
      const shown = { detector: variant, thread: item, text: texts.get(item) ?? '', gold: labels.indexOf(gold) };
      return [{ ...shown, ...debateOf(judgement, { posts: numbers.posts, labels }) }];
    });
    return rows.length === 0 ? null : { labels, rows };
  } finally {
    store.close();
  }
}

function isRight({ gold, prediction }: { gold: string; prediction: string | null }): boolean {
  return gold === prediction;
}
