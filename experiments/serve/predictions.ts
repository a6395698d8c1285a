import type { Policy } from '../../checkpoints/policy/load-policy.ts';
import type { DetectorOutput, Prediction } from '../../checkpoints/policy/policy.ts';
import type { Prefix } from '../../src/data/thread.ts';
import { ProviderError } from '../../src/errors.ts';
import { PromiseCache } from '../../src/promise-cache.ts';
import { sleep } from '../../src/sleep.ts';

/** Asks a detector about the posts at the stop; null if it does not decide. @throws ProviderError for a failure that may pass */
export type AskPrediction = (prefix: Prefix) => Promise<Prediction | null>;

export interface Asked {
  /** False if the next request for the thread should ask again. */
  readonly isFinal: boolean;
  readonly said: { readonly prediction: Prediction | null; readonly predictionMissing: string | null };
}

export function detectorPrediction({ definition, sources }: Policy): AskPrediction {
  const { maxPosts } = definition.queries;
  return async ({ threadId, posts }) => {
    const output = await sources.openDetector?.(threadId)(posts.slice(0, maxPosts));
    return output === undefined ? null : predictionOf(output);
  };
}

function predictionOf({ label, probabilities }: DetectorOutput): Prediction | null {
  return label === null ? null : { label, probabilities: probabilities ?? {} };
}

/**
 * Asks, and turns a failure into a reason. A detector that exceeds `timeoutMs` continues in the background; requests
 * about the same posts share its answer, and later ones find it in the annotation store.
 * @param options.none the reason for a detector without an answer
 */
export function predictionOrReason(
  ask: AskPrediction,
  { none, timeoutMs }: { none: string; timeoutMs: number },
): (prefix: Prefix) => Promise<Asked> {
  const underWay = new PromiseCache<Prediction | null>();
  const askedOnce = (prefix: Prefix): Promise<Prediction | null> => {
    const key = JSON.stringify([prefix.threadId, prefix.posts]);
    return underWay.get(key, () => ask(prefix).finally(() => underWay.delete(key)));
  };
  return async (prefix) => {
    try {
      const prediction = await inTime(askedOnce(prefix), timeoutMs);
      return { isFinal: true, said: { prediction, predictionMissing: prediction === null ? none : null } };
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      return { isFinal: false, said: { prediction: null, predictionMissing: error.message } };
    }
  };
}

async function inTime<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
  const done = new AbortController();
  const timeout = sleep(timeoutMs, done.signal).then(() => {
    throw new ProviderError(
      `the detector has not answered within ${timeoutMs / 1000} s; ask for the thread again later`,
    );
  });
  // Of the two, one always loses; nobody waits for its failure.
  timeout.catch(() => {});
  work.catch(() => {});
  try {
    return await Promise.race([work, timeout]);
  } finally {
    done.abort();
  }
}
