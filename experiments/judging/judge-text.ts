import type { AnnotateResult } from '../../experts/annotate.ts';
import { type AnnotationRow, annotationRequest, keyOf } from '../../experts/annotations/annotation-row.ts';
import { AnnotationStore } from '../../experts/annotations/annotation-store.ts';
import type { Judgement } from '../../experts/detector.ts';
import { prefixOf, type Thread } from '../../src/data/thread.ts';
import type { WorkContext } from '../../src/work-context.ts';
import type { Judge } from './judge.ts';
import type { Judged, JudgeOptions } from './judge-options.ts';

/** The judgement is null in a dry run and after a failure. */
export interface JudgedText extends Pick<Judged, 'usage' | 'estimates'> {
  readonly judgement: Judgement | null;
  readonly result: AnnotateResult;
}

/** Judges one text, as a thread of one post. */
export async function judgeText(
  options: Pick<JudgeOptions, 'mode' | 'budget' | 'retryUnreadable'> & {
    judge: Judge;
    text: string;
    /** Stores the judgement; undefined forgets it. */
    store?: string;
    context: WorkContext;
  },
): Promise<JudgedText> {
  const { judge, text, mode } = options;
  // Of now, so that detectors that look for evidence know up to which day.
  const time = new Date().toISOString();
  const post = { id: '1', time, author: null, parent: null, text, stance: null };
  const thread: Thread = { id: 'text', event: null, veracity: null, rumor: null, posts: [post] };
  // A dry run leaves nothing behind.
  const store = AnnotationStore.open(mode === 'dry-run' ? ':memory:' : (options.store ?? ':memory:'));
  try {
    let free: AnnotationRow | null = null;
    const { detector, result, usage, estimates } = await judge.judge({
      ...options,
      threads: [thread],
      store,
      onJudgement: (row) => {
        free = row;
      },
    });
    const key = keyOf(annotationRequest({ detector, prefix: prefixOf(thread, 1) }));
    const judgement = (free ?? store.getRows([key]).get(key))?.judgement ?? null;
    return { judgement: mode === 'dry-run' ? null : judgement, result, usage, estimates };
  } finally {
    store.close();
  }
}
