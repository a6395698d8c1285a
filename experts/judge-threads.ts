import { setImmediate as nextTurn } from 'node:timers/promises';
import { prefixOf } from '../src/data/thread.ts';
import type { AnnotateOptions, AnnotateResult } from './annotate.ts';
import { type AnnotationRow, annotationRequest } from './annotations/annotation-row.ts';
import { AnnotationTally } from './asking/annotation-tally.ts';
import type { Judgement } from './detector.ts';
import type { JudgementSequence } from './judgement-sequence.ts';
import { scheduledPrefixes, sequenceOf } from './scheduled-prefixes.ts';

/**
 * Judges the prefixes of every thread with a free detector, one after the other. Nothing is stored, because a look-up
 * takes longer than a judgement.
 * @param options.onJudgement receives each judgement in its stored form
 * @throws InputError if two threads share an id or `maxPosts` is out of range; the signal's reason after an abort
 */
export async function judgeThreads(
  options: Pick<AnnotateOptions, 'threads' | 'maxPosts' | 'schedule' | 'detector' | 'onProgress' | 'signal'> & {
    onJudgement?: ((row: AnnotationRow) => void) | undefined;
  },
): Promise<AnnotateResult> {
  const { detector, onJudgement, onProgress, signal } = options;
  const prefixes = scheduledPrefixes(options);
  const total = prefixes.reduce((sum, { lengths }) => sum + lengths.length, 0);
  const tally = new AnnotationTally({ total, maxUnreadable: 1, onProgress });
  const sequences = new Map<string, JudgementSequence>();
  for (const each of prefixes) {
    const { thread, lengths } = each;
    const judgements: Judgement[] = [];
    for (const prefixLength of lengths) {
      signal?.throwIfAborted();
      const prefix = prefixOf(thread, prefixLength);
      const started = performance.now();
      const judgement = await detector.judge(prefix);
      const latencyMs = performance.now() - started;
      const request = onJudgement && annotationRequest({ detector, prefix });
      if (request) onJudgement({ request, judgement, rawResponse: null, latencyMs, threadId: thread.id, prefixLength });
      judgements.push(judgement);
      tally.countAsked(judgement);
    }
    const sequence = sequenceOf(each, { judgements, labels: detector.labels });
    if (sequence !== null) sequences.set(thread.id, sequence);
    // The detector never waits, so without this Ctrl-C would have no effect.
    await nextTurn();
  }
  return { sequences, ...tally.result(null) };
}
