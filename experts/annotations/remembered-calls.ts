import { performance } from 'node:perf_hooks';
import type { Judgement } from '../detector.ts';
import type { AnnotationStore } from './annotation-store.ts';
import type { KeptCalls } from './kept-calls.ts';

/** A part of a judgement that later prefixes ask for again, word for word. */
export interface RememberedCall {
  /** The detector's name, a slash and what is asked, such as `s2mad/comment-score`. */
  readonly detector: string;
  readonly version: string;
  /** All that can change the answer, as a detector's options. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly input: unknown;
  /** Where it was asked first; for people, not for the key. */
  readonly threadId: string;
  readonly prefixLength: number;
}

export interface RememberedCalls {
  /** The answer known to this call; asks when there is none. Failures are not remembered. */
  remember(call: RememberedCall, ask: () => Promise<Judgement>): Promise<Judgement>;
}

/**
 * Keeps the calls as annotations of their own, so that no process pays for them twice. With `keepNew: false` nothing is
 * written: a dry run pretends its answers. `calls` keeps what is answered for one that takes more than one call.
 */
export function rememberedIn(options: {
  store: Pick<AnnotationStore, 'keyOf' | 'getMany' | 'put'>;
  keepNew?: boolean;
  calls?: Pick<KeptCalls, 'ofJudgement'>;
}): RememberedCalls {
  const { store, keepNew = true, calls } = options;
  return {
    async remember(call, ask) {
      const { threadId, prefixLength, ...question } = call;
      const request = { ...question, sampleIndex: 0 };
      const key = store.keyOf(request);
      const known = store.getMany([key]).get(key);
      if (known !== undefined) return known;
      const askAndPut = async () => {
        const started = performance.now();
        const judgement = await ask();
        if (keepNew) {
          const latencyMs = performance.now() - started;
          const rawResponse = judgement.transcript.at(-1)?.text ?? null;
          store.put({ request, judgement, rawResponse, latencyMs, threadId, prefixLength });
        }
        return judgement;
      };
      return calls ? calls.ofJudgement(key, askAndPut) : askAndPut();
    },
  };
}

/** Asks once for each key, however many ask at the same time; a failure is forgotten. */
export function once<T>(options: { known: Map<string, Promise<T>>; key: string; ask: () => Promise<T> }): Promise<T> {
  const { known, key, ask } = options;
  const found = known.get(key);
  if (found !== undefined) return found;
  const asked = ask();
  known.set(key, asked);
  asked.catch(() => known.delete(key));
  return asked;
}
