import { ProviderError } from '../../src/errors.ts';
import { keyAdvice, withoutKey } from './api-key.ts';
import type { CallFailure } from './call-failure.ts';
import type { Endpoint } from './endpoint.ts';
import { ContextLengthError, EndpointUnusableError } from './provider-failures.ts';

const nobodyThere = /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|bad port/;

/**
 * The failure as a person reads it: where, what, how often it was tried, what to do. The client's error is not kept as
 * the cause, because it quotes what the server said, and servers quote keys.
 */
export function providerErrorOf(options: {
  failure: CallFailure;
  endpoint: Endpoint;
  key: string | null;
  attempts: number;
}): ProviderError {
  const { failure, endpoint, key, attempts } = options;
  const said = withoutKey({ text: failure.message, key, endpoint }).replace(/\s+/g, ' ').slice(0, 500);
  const where = `endpoint ${endpoint.name} (${endpoint.baseURL}, model ${endpoint.model})`;
  const status = failure.status === null ? '' : ` with status ${failure.status}`;
  const tried = attempts === 1 ? 'at the first attempt' : `after ${attempts} attempts`;
  switch (failure.kind) {
    case 'key':
      return new EndpointUnusableError(
        `${keyAdvice({ endpoint, key })} (status 401 from ${endpoint.baseURL}: ${said})`,
      );
    case 'not-found':
      return new EndpointUnusableError(
        `endpoint ${endpoint.name} knows no model ${JSON.stringify(endpoint.model)}, or ${endpoint.baseURL} is not ` +
          `where it speaks chat completions: check model and baseURL (${endpoint.baseURL}/models lists its models; it said: ${said})`,
      );
    case 'context-length':
      return contextLengthError({ said, where, endpoint });
    case 'quota':
      return new EndpointUnusableError(
        `${where} has no quota or credit left (${said}); waiting does not help: top it up, then run again`,
      );
    case 'forbidden':
      return new ProviderError(
        `${where} forbids this request${status}: ${said}; check what the account and key may use`,
      );
    case 'bad-request':
      return new ProviderError(
        `${where} refused the request${status}: ${said}; check the parameters of the endpoint (temperature, maxTokensField, extraBody)`,
      );
    case 'no-answer':
      return new ProviderError(`${where}: ${said}`);
    case 'malformed':
      return new ProviderError(
        `${where} gave no usable answer ${tried}: ${said}; check that baseURL is right (it ends in /v1 as a rule) and speaks chat completions`,
      );
    case 'rate-limit':
      return new ProviderError(
        `${where} limited the rate ${tried}${status}: ${said}; lower concurrency.max, or run again later: what was answered is kept`,
      );
    case 'timeout':
      return new ProviderError(
        `${where} did not answer within ${endpoint.timeoutMs} ms ${tried}${status}: ${said}; raise timeoutMs, or lower maxTokens or concurrency.max`,
      );
    case 'connection': {
      const unreachable = `${where} could not be reached ${tried}: ${said}; check that it runs and that baseURL is right, then run again`;
      // A connection that breaks may be one answer's misfortune; one that nobody takes is not.
      return nobodyThere.test(said) ? new EndpointUnusableError(unreachable) : new ProviderError(unreachable);
    }
    case 'server':
      return new ProviderError(
        `${where} failed${status} ${tried}: ${said}; run again later: what was answered is kept`,
      );
  }
}

function contextLengthError(options: { said: string; where: string; endpoint: Endpoint }): ContextLengthError {
  const { said, where, endpoint } = options;
  const numberAfter = (pattern: RegExp) => {
    const found = pattern.exec(said)?.[1];
    return found === undefined ? null : Number(found.replaceAll(',', ''));
  };
  const contextTokens =
    numberAfter(/maximum (?:context|model|input) length (?:is |of )?([\d,]+)/i) ??
    numberAfter(/context (?:size|length|window) (?:is |of )?\(?([\d,]+)/i) ??
    numberAfter(/> ([\d,]+) maximum/i) ??
    endpoint.contextLength;
  const told =
    numberAfter(/(?:requested|resulted in|contains(?: at least)?|request|prompt|has) \(?(?:length )?([\d,]+)/i) ??
    numberAfter(/([\d,]+) (?:input )?tokens/i);
  const requestedTokens = told === contextTokens ? null : told;
  const numbers = `${requestedTokens ?? 'more'} tokens asked for, ${contextTokens ?? 'an unknown number'} possible`;
  return new ContextLengthError(
    `${where}: the messages are longer than the model reads (${numbers}; it said: ${said}); ` +
      'judge shorter prefixes (maxPosts), lower maxTokens or choose a model with a longer context',
    { contextTokens, requestedTokens },
  );
}
