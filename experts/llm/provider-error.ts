import { ProviderError } from '../../src/errors.ts';
import type { CallFailure, CallFailureKind } from './call-failure.ts';
import { type Endpoint, keyAdvice, secretsOf } from './endpoint.ts';
import { ContextLengthError, EndpointUnusableError, QuotaSpentError } from './failures.ts';
import { minuteAfter } from './retry-after.ts';
import { type Environment, withoutSecrets } from './secrets.ts';

const PROXIES = ['https_proxy', 'HTTPS_PROXY', 'http_proxy', 'HTTP_PROXY'];

/**
 * Describes a failure for the user: place, problem, attempts and remedy. The client's error is not the cause, because
 * it quotes the server, and servers quote keys.
 */
export function providerErrorOf(options: {
  failure: CallFailure;
  endpoint: Endpoint;
  env: Environment;
  attempts: number;
  /** The longest wait that the caller accepts. */
  maxWaitMs: number;
  /** The total time that the endpoint asked this request to wait, if it answered no other one. */
  askedMs?: number;
}): ProviderError {
  const { failure, endpoint, env, attempts, maxWaitMs, askedMs = 0 } = options;
  const detail = withoutSecrets(failure.message, secretsOf({ endpoint, env })).replace(/\s+/g, ' ').slice(0, 500);
  const where = `endpoint ${endpoint.name} (${endpoint.baseURL}, model ${endpoint.model})`;
  const status = failure.status === null ? '' : ` with status ${failure.status}`;
  const tried = attempts === 1 ? 'at the first attempt' : `after ${attempts} attempts`;
  const quota = quotaInWords(failure, { maxWaitMs, askedMs });
  if (quota !== null)
    return new QuotaSpentError(`${where} ${quota} (asked ${tried}${status}: ${detail}); the same command goes on then`);
  if (failure.kind === 'context-length') return contextLengthError({ detail, where, endpoint });
  const message = messages[failure.kind]({ failure, endpoint, detail, where, status, tried, env });
  return failure.concerns === 'all' ? new EndpointUnusableError(message) : new ProviderError(message);
}

/** The parts of messages. */
interface FailureFacts extends Record<'detail' | 'where' | 'status' | 'tried', string> {
  readonly failure: CallFailure;
  readonly endpoint: Endpoint;
  readonly env: Environment;
}

const messages: Readonly<Record<Exclude<CallFailureKind, 'context-length'>, (facts: FailureFacts) => string>> = {
  key: ({ endpoint, failure, detail }) =>
    `${keyAdvice(endpoint)} (status ${failure.status} from ${endpoint.baseURL}: ${detail})`,
  'not-found': ({ endpoint: { name, model, baseURL }, detail }) =>
    `endpoint ${name} knows no model ${JSON.stringify(model)}, or ${baseURL} is not where it speaks chat completions: ` +
    `check model and baseURL (${baseURL}/models lists its models; it said: ${detail})`,
  quota: ({ where, detail }) =>
    `${where} has no quota or credit left (${detail}); waiting does not help: top it up, then run again`,
  forbidden: ({ where, status, detail }) =>
    `${where} forbids this request${status}: ${detail}; check what the account and key may use`,
  'bad-request': ({ where, status, detail }) =>
    `${where} refused the request${status}: ${detail}; check the parameters of the endpoint (temperature, reasoningEffort, maxTokensField, extraBody)`,
  redirect: ({ where, detail }) => `${where} ${detail}`,
  proxy: ({ where, detail }) => `${where} could not be asked: ${detail}`,
  'too-large': ({ where, detail }) => `${where}: ${detail}; lower maxTokens`,
  filtered: ({ failure, where, status, detail }) =>
    failure.status === null
      ? `${where}: ${detail}`
      : `${where} refused the text${status}: ${detail}; use an endpoint that accepts such posts`,
  'no-answer': ({ where, detail }) => `${where}: ${detail}`,
  malformed: ({ where, tried, detail }) =>
    `${where} gave no usable answer ${tried}: ${detail}; check that baseURL is right (it usually ends in /v1) and speaks chat completions`,
  empty: ({ where, tried, detail }) =>
    `${where} said nothing ${tried}: ${detail}; check that it is a model for chats, or use another one`,
  'no-completion': ({ where, tried, detail }) =>
    `${where} gave no completion ${tried}: ${detail}; if that tells of a text that it does not take, use an endpoint that ` +
    'accepts such posts; else check that baseURL is right (it usually ends in /v1) and speaks chat completions',
  'rate-limit': ({ where, tried, status, detail }) =>
    `${where} limited the rate ${tried}${status}: ${detail}; set requestsPerMinute or tokensPerMinute to what it allows, or run again later`,
  timeout: ({ endpoint, where, tried, status, detail }) =>
    `${where} did not answer within ${endpoint.timeoutMs} ms ${tried}${status}: ${detail}; raise timeoutMs, or lower maxTokens or concurrency`,
  connection({ env, where, tried, detail }) {
    const proxy = PROXIES.find((name) => env[name]);
    const through = proxy === undefined ? '' : `, and the proxy that ${proxy} names (NO_PROXY lists what needs none)`;
    return `${where} could not be reached ${tried}: ${detail}; check that it runs and that baseURL is right${through}, then run again`;
  },
  tls: ({ where, detail }) =>
    `${where} could not be asked over TLS: ${detail}; if its certificate is of an authority of your own, name that ` +
    "authority's file in the environment variable NODE_EXTRA_CA_CERTS; if it speaks no TLS, write http:// in baseURL",
  server: ({ where, status, tried, detail }) => `${where} failed${status} ${tried}: ${detail}; run again later`,
};

/** The message for a spent quota; null if waiting is worth it. Otherwise every other request would wait in vain. */
function quotaInWords(
  { retryAfterMs, namesLongPeriod }: CallFailure,
  { maxWaitMs, askedMs }: { maxWaitMs: number; askedMs: number },
): string | null {
  if (retryAfterMs !== null && Math.max(retryAfterMs, askedMs) > maxWaitMs) {
    const back = minuteAfter(retryAfterMs);
    const before = retryAfterMs > maxWaitMs ? '' : ` after ${Math.floor((askedMs - retryAfterMs) / 1000)} s of waiting`;
    return (
      `takes no request for another ${Math.ceil(retryAfterMs / 1000)} s${before}, until ${back} UTC; a run waits ` +
      `${maxWaitMs / 1000} s at most (--max-wait, or retry.maxWaitMs)`
    );
  }
  // A server that names a day and still refuses after its own waiting time was too optimistic.
  if (!namesLongPeriod || (retryAfterMs !== null && askedMs === 0)) return null;
  return 'has used up a quota of an hour or longer, and it is not known when that is back';
}

function contextLengthError(options: { detail: string; where: string; endpoint: Endpoint }): ContextLengthError {
  const { detail, where, endpoint } = options;
  const numberAfter = (pattern: RegExp) => {
    const digits = pattern.exec(detail)?.[1];
    return digits === undefined ? null : Number(digits.replaceAll(',', ''));
  };
  const contextTokens =
    numberAfter(/maximum (?:context|model|input|prompt) length (?:is |of )?([\d,]+)/i) ??
    numberAfter(/context (?:size|length|window) (?:is |of )?\(?([\d,]+)/i) ??
    numberAfter(/> ([\d,]+)/) ??
    numberAfter(/(?:tokens allowed|max_new_tokens. must be <=|\blimit) \(?([\d,]+)/i) ??
    endpoint.contextLength;
  const stated =
    numberAfter(
      /(?:requested|resulted in|contains(?: at least)?|request|prompt|has|token count) \(?(?:length )?([\d,]+)/i,
    ) ?? numberAfter(/([\d,]+) (?:input )?tokens/i);
  const requestedTokens = stated === contextTokens ? null : stated;
  const numbers = `${requestedTokens ?? 'more'} tokens asked for, ${contextTokens ?? 'an unknown number'} possible`;
  return new ContextLengthError(
    `${where}: the messages are longer than the model reads (${numbers}; it said: ${detail}); ` +
      'judge shorter prefixes (maxPosts), lower maxTokens or choose a model with a longer context',
    { contextTokens, requestedTokens },
  );
}
