import { basename, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { Policy } from '../../checkpoints/policy/load-policy.ts';
import type { OpenThread } from '../../checkpoints/policy/policy.ts';
import { InputError, ProviderError } from '../../src/errors.ts';
import { PromiseCache } from '../../src/promise-cache.ts';
import type { ThreadOutcome } from '../stop-agent/decide.ts';
import { HttpProblem, unavailable } from './http-problem.ts';

/**
 * Asks for the prediction of a decided thread. A detector that exceeds `timeoutMs` continues in the background, and later
 * requests for the thread share its answer.
 * @returns the prediction, or the reason why there is none; `isFinal` is false if the next request should ask again
 */
export async function predictionOrReason(
  thread: OpenThread,
  { hasDetector, timeoutMs }: { hasDetector: boolean; timeoutMs: number },
): Promise<Pick<ThreadOutcome, 'prediction' | 'predictionMissing'> & { isFinal: boolean }> {
  const none = hasDetector
    ? 'the detector does not decide on these posts'
    : 'the bundle holds no detector; start the server with --detector';
  try {
    const prediction = await inTime(thread.predict(), timeoutMs);
    return { isFinal: true, prediction, predictionMissing: prediction === null ? none : null };
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    return { isFinal: false, prediction: null, predictionMissing: error.message };
  }
}

async function inTime<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
  const done = new AbortController();
  const timeout = sleep(timeoutMs, undefined, { signal: done.signal }).then(() => {
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

/** A model on the command line: `folder`, or `name=folder`. */
export interface ModelSource {
  readonly name: string;
  readonly folder: string;
}

/** A bundle that passed its self-test. A request keeps its bundle through a reload. */
export interface ServedBundle {
  readonly name: string;
  readonly policy: Policy;
}

const modelName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** @throws InputError for a name that cannot be part of an address, or a name used twice */
export function modelSources(words: readonly string[]): ModelSource[] {
  const sources = words.map((word) => {
    const [, name, folder] = /^([^=/]+)=(.+)$/.exec(word) ?? [null, basename(resolve(word)), word];
    return { name, folder };
  });
  for (const [index, { name, folder }] of sources.entries()) {
    const isRepeated = sources.findIndex((other) => other.name === name) !== index;
    if (isRepeated || !modelName.test(name))
      throw new InputError(
        isRepeated
          ? `two bundles are called ${name}; give one of them another name, such as ${name}-2=<folder>`
          : `${JSON.stringify(name)} cannot name a model: names have up to 64 letters, digits, dots, dashes and underscores; write name=${folder}`,
      );
  }
  return sources;
}

/** The served bundles by name. Requests name a bundle and never a path. */
export function servedModels(sources: readonly ModelSource[], load: (source: ModelSource) => Promise<ServedBundle>) {
  const names = sources.map(({ name }) => name);
  const loaded = new Map<string, ServedBundle>();
  const loading = new PromiseCache<ServedBundle>();

  async function loadAll(): Promise<void> {
    for (const name of names) await reload(name);
  }

  /**
   * Loads a bundle again from its folder. The earlier one stays until that succeeds.
   * @throws HttpProblem (404) for an unknown name, InputError for an invalid bundle
   */
  async function reload(name: string): Promise<ServedBundle> {
    const source = sourceOf(name);
    const bundle = await loading.get(name, () => load(source)).finally(() => loading.delete(name));
    loaded.set(name, bundle);
    return bundle;
  }

  /** @throws HttpProblem 404 for an unknown name, 503 while the bundle loads */
  function get(name: string): ServedBundle {
    sourceOf(name);
    const bundle = loaded.get(name);
    if (bundle === undefined) throw unavailable(`the model ${name} is still being loaded and tested; try again soon`);
    return bundle;
  }

  function sourceOf(name: string): ModelSource {
    const source = sources.find((each) => each.name === name);
    if (source !== undefined) return source;
    throw new HttpProblem(404, `there is no model of this name; served are ${names.join(', ')}`, {
      field: 'model',
    });
  }

  return {
    names,
    /** True once every bundle has passed its self-test. */
    areReady: () => loaded.size === sources.length,
    loadAll,
    reload,
    get,
    chosen: (name: string | undefined) => get(name ?? names[0]),
  };
}

export type Models = ReturnType<typeof servedModels>;

/** The choice among bundles, required if there are several. */
export function modelQuery(names: readonly string[]) {
  const model = z
    .string({ error: `several models are served (${names.join(', ')}); name one with ?model=` })
    .max(64)
    .describe('the bundle that decides')
    .meta({ examples: [...names] });
  return z.strictObject({ model: names.length > 1 ? model : model.optional() });
}
