import { verdictOfOutput } from '../../checkpoints/bundle/detector-aware-agent.ts';
import type { Policy, Verdict } from '../../checkpoints/bundle/policy.ts';
import type { Prefix } from '../../src/data/thread.ts';
import { ProviderError } from '../../src/errors.ts';
import { sleep } from '../../src/sleep.ts';
import { checkDecides, type PrefixJudge } from '../judging/judge-single-prefixes.ts';

/**
 * Asks a detector about the posts that were seen at the stop; null where it does not decide.
 * @throws ProviderError where it could not be asked, so that it is worth trying again
 */
export type AskVerdict = (prefix: Prefix) => Promise<Verdict | null>;

/** What came of asking. */
export interface Asked {
  /** False where the next request for the thread should ask again. */
  readonly isFinal: boolean;
  readonly said: { readonly verdict: Verdict | null; readonly verdictMissing: string | null };
}

/** Asks the local detector of a bundle. */
export function localVerdict(policy: Policy): AskVerdict {
  const { maxPosts } = policy.manifest.state.queryPlan ?? policy.manifest.state;
  return async ({ posts }) => policy.judge(posts.slice(0, maxPosts));
}

/**
 * Asks a detector on language models.
 * @throws InputError where the detector and the bundle decide different things
 */
export function judgedVerdict(judge: PrefixJudge, { manifest: { task } }: Policy): AskVerdict {
  checkDecides(judge, task);
  return async (prefix) => verdictOfOutput(await judge.judge(prefix));
}

/**
 * Asks, and turns a failure into a reason. A detector that takes longer than `timeoutMs` goes on in the background; whoever
 * asks about the same posts meanwhile waits for the same answer, and later finds it in the annotation store.
 * @param options.none why there is no verdict where the detector gives none
 */
export function verdictOrReason(
  ask: AskVerdict,
  { none, timeoutMs }: { none: string; timeoutMs: number },
): (prefix: Prefix) => Promise<Asked> {
  const underWay = new Map<string, Promise<Verdict | null>>();
  const askedOnce = (prefix: Prefix): Promise<Verdict | null> => {
    const key = JSON.stringify([prefix.threadId, prefix.posts]);
    const running = underWay.get(key);
    if (running !== undefined) return running;
    const asking = ask(prefix).finally(() => underWay.delete(key));
    underWay.set(key, asking);
    return asking;
  };
  return async (prefix) => {
    try {
      const verdict = await inTime(askedOnce(prefix), timeoutMs);
      return { isFinal: true, said: { verdict, verdictMissing: verdict === null ? none : null } };
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      return { isFinal: false, said: { verdict: null, verdictMissing: error.message } };
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
