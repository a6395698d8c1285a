import { z } from 'zod';
import { ProviderError } from '../../src/errors.ts';
import type { Random } from '../../src/tensor/random.ts';
import { apiKeyOf, type Environment, withoutKey } from './api-key.ts';
import { CallFailure, callFailureOf } from './call-failure.ts';
import type { Endpoint } from './endpoint.ts';
import { providerErrorOf } from './provider-error-of.ts';
import { RetriesEndedError, retrySchema, withRetries } from './retry.ts';

/** For one step, the transfer of a whole file included. */
const STEP_TIMEOUT_MS = 600_000;

export type TryStep = <T>(step: (request: { signal: AbortSignal; timeout: number }) => Promise<T>) => Promise<T>;

/** Runs the steps of a long job at an endpoint, each with its retries. */
export function endpointSteps(options: {
  endpoint: Endpoint;
  random: Random;
  retry: z.input<typeof retrySchema>;
  signal: AbortSignal | null;
  env: Environment;
  /** What a person can do about a kind of failure; null where it is like that of any call. */
  advice: (failure: { kind: CallFailure['kind']; said: string }) => string | null;
}): TryStep {
  const { endpoint, random, signal, env, advice } = options;
  const policy = retrySchema.parse(options.retry);
  const key = apiKeyOf({ endpoint, env });

  return async (step) => {
    const once = async () => {
      const timeout = AbortSignal.timeout(STEP_TIMEOUT_MS);
      try {
        return await step({
          signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
          timeout: STEP_TIMEOUT_MS,
        });
      } catch (error) {
        signal?.throwIfAborted();
        if (timeout.aborted) throw new CallFailure({ kind: 'timeout', message: `no end after ${STEP_TIMEOUT_MS} ms` });
        if (error instanceof z.ZodError) throw new CallFailure({ kind: 'malformed', message: z.prettifyError(error) });
        throw callFailureOf(error) ?? error;
      }
    };
    try {
      return await withRetries({ attempt: once, policy, random, signal });
    } catch (error) {
      if (!(error instanceof RetriesEndedError)) throw error;
      const { failure, attempts } = error;
      const said = withoutKey({ text: failure.message, key, endpoint });
      const advised = advice({ kind: failure.kind, said });
      if (advised !== null) throw new ProviderError(`endpoint ${endpoint.name} (${endpoint.baseURL}) ${advised}`);
      throw providerErrorOf({ failure, attempts, endpoint, key });
    }
  };
}
