import { describe, expect, it } from 'vitest';
import { callFailureOf, failureOfStatus } from '../../../experts/llm/call-failure.ts';
import { ContextLengthError, EndpointUnusableError, QuotaSpentError } from '../../../experts/llm/failures.ts';
import { providerErrorOf } from '../../../experts/llm/provider-error.ts';
import { ask, endpointAt, quickService, startServer } from './service.ts';

const endpoint = endpointAt({ baseURL: 'http://localhost:1/v1' });

function told(status: number, message: string, code: string | null = null) {
  const failure = failureOfStatus({ status, message, code, headers: null });
  return { failure, error: providerErrorOf({ failure, endpoint, env: {}, attempts: 1, maxWaitMs: 60_000 }) };
}

describe('what services say in their own words', () => {
  it.each([
    [429, 'Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 free model requests per day'],
    [429, 'Rate limit reached for gpt-4o on requests per day (RPD): Limit 200, Used 200, Requested 1.'],
    [429, 'Quota exceeded for quotaId: GenerateRequestsPerDayPerProjectPerModel-FreeTier'],
    [429, 'You have reached your limit for this month.'],
    [403, 'Daily Limit Exceeded. The quota will be reset at midnight Pacific Time'],
    [403, 'dailyLimitExceeded'],
  ])('is a quota of more than a minute, which no wait is worth: %s %s', (status, message) => {
    const { failure, error } = told(status, message);
    expect(failure).toMatchObject({ kind: 'rate-limit', isRetryable: false });
    expect(error).toBeInstanceOf(QuotaSpentError);
    expect(error.message).toContain('has used up a quota of an hour or longer');
  });

  it.each([
    'Rate limit reached for gpt-4o on requests per min (RPM): Limit 3, Used 3, Requested 1.',
    'Request too large for gpt-4o on tokens per min (TPM): Limit 250000, Requested 546. Please try again later.',
    'Request too large for gpt-4o on input tokens per min: Limit: 250,000, Requested: 546.',
    'Too many requests',
  ])('is a limit that another attempt may pass: %s', (message) => {
    expect(told(429, message).failure).toMatchObject({ kind: 'rate-limit', isRetryable: true });
  });

  it.each([
    [400, 'API key not valid. Please pass a valid API key.'],
    [400, 'Missing API key'],
    [403, 'Invalid api-key provided'],
  ])('is a key: %s %s', (status, message) => {
    const { failure, error } = told(status, message);
    expect(failure.kind).toBe('key');
    expect(error).toBeInstanceOf(EndpointUnusableError);
    expect(error.message).toContain(`wants a key`);
    expect(error.message).toContain(`(status ${status} from`);
  });

  it.each([
    'foo/bar is not a valid model ID',
    'Invalid model: mistral-smal',
    'Model Not Exist',
    "{'error': '/chat/completions: Invalid model name passed in model=foo. Call `/v1/models`'}",
    'The model `tiny` does not exist',
  ])('is a wrong model: %s', (message) => {
    expect(told(400, message).failure.kind).toBe('not-found');
    expect(told(400, message).error).toBeInstanceOf(EndpointUnusableError);
  });

  it.each([404, 405, 410])('is an address where no completion is asked for: %i', (status) => {
    expect(told(status, '<html>Not here</html>').error.message).toMatch(
      /is not where it speaks chat completions: check/,
    );
  });

  it.each([
    [400, 'Your credit balance is too low to access the API.'],
    [403, 'Sorry, your account balance is not sufficient: insufficient balance'],
  ])('is a lack of credit: %s %s', (status, message) => {
    expect(told(status, message).failure.kind).toBe('quota');
  });

  it.each([
    [400, 'The input token count (2000) exceeds the maximum number of tokens allowed (1000).', 1000, 2000],
    [400, 'input length and `max_tokens` exceed context limit: 1882 + 213 > 2000, decrease input length', 2000, null],
    [422, '`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens', 4096, null],
    [400, "This model's maximum prompt length is 1310 but the request contains 5378 tokens.", 1310, 5378],
    [413, 'Request too large for model `m` on tokens per minute (TPM): Limit 6000, Requested 7000', 6000, 7000],
    [429, 'Request too large for gpt-4 on tokens per min (TPM): Limit 10000, Requested 12000.', 10_000, 12_000],
    [413, '<html><title>413 Request Entity Too Large</title></html>', null, null],
  ])('is a text that is too long: %s %s', (status, message, contextTokens, requestedTokens) => {
    const { failure, error } = told(status, message);
    expect(failure.isRetryable).toBe(false);
    expect(error).toBeInstanceOf(ContextLengthError);
    expect(error).toMatchObject({ contextTokens, requestedTokens });
  });

  it.each([
    [400, "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.", null],
    [400, 'Invalid prompt', 'content_filter'],
    [400, 'Content Exists Risk', 'invalid_request_error'],
    [400, 'Input data may contain inappropriate content.', 'data_inspection_failed'],
    [403, 'This request was flagged for "violence"', null],
    [400, '系统检测到输入或生成内容可能包含不安全或敏感内容', '1301'],
  ])('is a text that a filter refuses: %s %s', (status, message, code) => {
    const { failure, error } = told(status, message, code);
    expect(failure).toMatchObject({ kind: 'filtered', isRetryable: false });
    expect(error).not.toBeInstanceOf(EndpointUnusableError);
    expect(error.message).toMatch(/refused the text with status 40\d.*use an endpoint that accepts such posts/);
  });

  it.each([
    [
      400,
      "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.",
    ],
    [400, "Unsupported parameter: 'max_tokens' is not supported with this model."],
    [400, 'Invalid model parameters: top_k'],
    [400, 'seed must be odd'],
  ])('is none of these: %s %s', (status, message) => {
    expect(told(status, message).failure.kind).toBe('bad-request');
  });

  it.each([
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'self-signed certificate'],
    ['CERT_HAS_EXPIRED', 'certificate has expired'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'wrong version number'],
  ])('is TLS that fails now and later: %s', async (code, message) => {
    const cause = Object.assign(new Error(message), { code });
    const failure = await callFailureOf(new TypeError('fetch failed', { cause }));
    if (failure === null) throw new Error('it was read as a defect');
    expect(failure.isRetryable).toBe(false);
    const error = providerErrorOf({ failure, endpoint, env: {}, attempts: 1, maxWaitMs: 60_000 });
    expect(error).toBeInstanceOf(EndpointUnusableError);
    expect(error.message).toMatch(new RegExp(`${code} ${message}.*NODE_EXTRA_CA_CERTS.*http://`));
  });

  it.each([
    [{ choices: [{ message: { content: '' }, finish_reason: 'stop' }] }, /said nothing .*the answer is empty/],
    [{ error: 'model is loading' }, /failed .*model is loading; run again later/],
  ])('is no wrong address: %j', async (body, message) => {
    const server = await startServer(() => ({ body: JSON.stringify(body) }));
    const asked = quickService({ retry: { maxAttempts: 1 } }).chat(ask(endpointAt(server)));
    await expect(asked).rejects.toThrow(message);
    await expect(asked).rejects.not.toThrow(/baseURL/);
  });

  it('is perhaps the fault of a proxy', async () => {
    const cause = Object.assign(new Error('connect ECONNREFUSED 10.0.0.1:3128'), { code: 'ECONNREFUSED' });
    const failure = await callFailureOf(new TypeError('fetch failed', { cause }));
    if (failure === null) throw new Error('it was read as a defect');
    const toldIn = (env: Record<string, string>) =>
      providerErrorOf({ failure, endpoint, env, attempts: 1, maxWaitMs: 60_000 }).message;
    expect(toldIn({ HTTP_PROXY: 'http://10.0.0.1:3128' })).toMatch(/the proxy that HTTP_PROXY names \(NO_PROXY/);
    expect(toldIn({})).not.toContain('proxy');
  });

  it('still waits for a rate that was exceeded', () => {
    expect(told(429, 'You exceeded your current quota, please check your plan and billing details').failure.kind).toBe(
      'rate-limit',
    );
    expect(told(403, 'not for you').failure.kind).toBe('forbidden');
  });
});
