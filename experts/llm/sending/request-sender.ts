import type OpenAI from 'openai';
import { readCompletion } from '../answers/completion.ts';
import { completionBody, type RequestForm } from '../answers/request-form.ts';
import { CallFailure, callFailureOf } from '../call-failure.ts';
import type { ChatAnswer, ChatRequest } from '../chat.ts';
import type { Budget, Took } from '../cost/budget.ts';
import { costField, mostOf } from '../cost/cost-of.ts';
import type { UsageTally } from '../cost/usage.ts';
import { COMPLETIONS_PATH, type Endpoint, secretsOf } from '../endpoint.ts';
import { providerErrorOf } from '../provider-error.ts';
import type { Environment } from '../secrets.ts';
import type { Waits } from '../waits.ts';
import { endpointClient, send as sendBody } from './endpoint-client.ts';
import type { EndpointLine } from './endpoint-line.ts';
import type { RetryPolicy } from './retry.ts';

/** Signals that cancel a call. */
export interface Signals {
  /** Cancels at any time: after a grace period once the request was sent. */
  readonly signal: AbortSignal | null;
  /** Cancels before the request is sent. */
  readonly waiting: AbortSignal;
}

/** One request of a call. */
export interface Attempt {
  readonly request: ChatRequest;
  readonly form: RequestForm;
  readonly line: EndpointLine;
  readonly signals: Signals;
  /** The number of the call's requests. */
  readonly counter: { requests: number };
}

/** Sends single requests. Each takes one place in the queue, one reservation of the budget and one count. */
export function requestSender(shared: {
  budget: Budget;
  tally: UsageTally;
  waits: Waits;
  policy: RetryPolicy;
  graceMs: number;
  env: Environment;
}) {
  const { budget, tally, waits, policy, graceMs, env } = shared;
  const clients = new WeakMap<Endpoint, Promise<OpenAI>>();

  /** @throws CallFailure, or the reason of an abort */
  async function send(attempt: Attempt): Promise<ChatAnswer> {
    const { line, signals } = attempt;
    line.check();
    return line.limiter.run(() => reserved(attempt), signals.waiting);
  }

  /** Waits for the limits and the budget, sends the request, and counts its spending. */
  async function reserved(attempt: Attempt): Promise<ChatAnswer> {
    const { request, line, signals } = attempt;
    const { endpoint } = request;
    const most = mostOf(request);
    await waited(
      { kind: 'pace', what: `the pace of endpoint ${endpoint.name} (requestsPerMinute, tokensPerMinute)` },
      line.rate.admit({ tokens: most.tokens, signal: signals.waiting }),
    );
    const reservation = await waited(
      { kind: 'budget', what: 'requests under way, since the budget may not suffice for more' },
      budget.reserve({ model: line.key, most }, signals.waiting),
    );
    let took: Took = 'unsent';
    try {
      // The endpoint may have become unusable while this call was waiting.
      line.check();
      signals.waiting.throwIfAborted();
      const client = await clientOf(endpoint);
      took = 'unknown';
      const { answer, spent } = await answered(client, attempt);
      took = spent.tokens === 0 ? 'nothing' : spent;
      line.rate.giveBack(most.tokens - spent.tokens);
      if (answer instanceof CallFailure) throw answer;
      line.answered();
      waits.answered();
      return answer;
    } catch (error) {
      const failure = await callFailureOf(error);
      if (failure !== null) noteFailure(failure, attempt);
      if (took === 'unknown' && failure?.isFree) took = 'nothing';
      throw error;
    } finally {
      reservation.settle(took);
    }
  }

  /** Sends the request and reads the body: an answer or a failure. */
  async function answered(client: OpenAI, { request, form, signals, counter }: Attempt) {
    const { endpoint } = request;
    counter.requests++;
    tally.addRequest(endpoint);
    const { body, latencyMs } = await waited(
      { kind: 'answer', what: `an answer of endpoint ${endpoint.name} (timeoutMs: ${endpoint.timeoutMs})` },
      sendBody({
        ...{ client, endpoint, graceMs, signal: signals.signal },
        secrets: secretsOf({ endpoint, env }),
        path: COMPLETIONS_PATH,
        body: completionBody({ request, form }),
      }),
    );
    const { answer: read, tokens, isEstimated, reportedCost } = readCompletion({ body, request });
    const isAnswer = !(read instanceof CallFailure);
    const cost = costField({ endpoint, usage: tokens, reportedCost });
    const model = isAnswer ? read.response?.model : null;
    tally.addTokens({ endpoint, tokens, isEstimated, isAnswer, model, reportedCost });
    const answer = isAnswer ? { ...read, latencyMs, usage: { requests: counter.requests, ...tokens, ...cost } } : read;
    return { answer, spent: { tokens: tokens.inputTokens + tokens.outputTokens, money: cost.cost ?? 0 } };
  }

  /** Updates the line's limits after a failure. */
  function noteFailure(failure: CallFailure, { line, request: { endpoint } }: Attempt): void {
    const { maxWaitMs } = policy;
    if (failure.isRetryable) {
      const { message } = providerErrorOf({ failure, endpoint, env, attempts: 1, maxWaitMs });
      line.failed(failure, { isFinal: false, attempts: 1, message });
    }
    if (failure.kind === 'rate-limit' && failure.retryAfterMs === null) line.rate.refused();
    const forMs = failure.retryAfterMs ?? 0;
    // No call waits longer than that.
    if (!failure.isCongestion || forMs <= 0 || forMs > maxWaitMs) return;
    line.limiter.pause(forMs);
    waits.begin({ kind: 'endpoint', what: waitInWords(failure, endpoint), forMs });
  }

  async function waited<T>(wait: Parameters<Waits['begin']>[0], promise: Promise<T>): Promise<T> {
    return promise.finally(waits.begin(wait));
  }

  function clientOf(endpoint: Endpoint): Promise<OpenAI> {
    const client = clients.get(endpoint) ?? endpointClient({ endpoint, env });
    clients.set(endpoint, client);
    return client;
  }

  return send;
}

/** The reason, in words, why a failed request waits before it is sent again. */
export function waitInWords({ kind, status, retryAfterMs }: CallFailure, { name, timeoutMs }: Endpoint): string {
  if (kind === 'timeout') return `endpoint ${name} (no answer in time, timeoutMs: ${timeoutMs})`;
  const why = status === null ? kind : `status ${status}`;
  return `endpoint ${name} (${why}${retryAfterMs === null ? '' : `, asks to wait ${Math.ceil(retryAfterMs / 1000)} s`})`;
}
