import { setMaxListeners } from 'node:events';
import type OpenAI from 'openai';
import type { z } from 'zod';
import type { Random } from '../../../src/tensor/random.ts';
import { readCompletion } from '../answers/completion.ts';
import { completionBody, fullForm, type RequestForm } from '../answers/request-form.ts';
import { CallFailure, callFailureOf } from '../call-failure.ts';
import type { ChatAnswer, ChatRequest, ChatService } from '../chat.ts';
import { Budget, type budgetSchema, type Took } from '../cost/budget.ts';
import { knownCostOf, mostOf } from '../cost/cost-of.ts';
import type { Ledger } from '../cost/ledger.ts';
import { type EndpointUsage, UsageTally } from '../cost/usage.ts';
import { COMPLETIONS_PATH, type Endpoint, secretsOf } from '../endpoint.ts';
import { EndpointUnusableError } from '../failures.ts';
import { providerErrorOf } from '../provider-error.ts';
import type { Environment } from '../secrets.ts';
import { Waits } from '../waits.ts';
import { CircuitBreaker } from './circuit-breaker.ts';
import { ConcurrencyLimiter } from './concurrency-limiter.ts';
import {
  EndpointCapabilities,
  lineKey,
  namedRefusal,
  type Refusals,
  weakerForm,
  withoutRefused,
} from './endpoint-capabilities.ts';
import { endpointClient, send } from './endpoint-client.ts';
import { type RateLimiter, rateLimiter } from './rate-limiter.ts';
import { RetriesEndedError, type RetryPolicy, retrySchema, withRetries } from './retry.ts';

export interface LiveChatOptions {
  /** Draws the jitter of waiting times; it does not influence any answer. */
  random: Random;
  budget?: z.input<typeof budgetSchema>;
  /** What the budget is a limit of; what this process spends, unless given. */
  ledger?: Ledger;
  retry?: z.input<typeof retrySchema>;
  /**
   * Cancels every call: waiting ones at once, sent ones after `graceMs`. Answers that arrive before that are
   * returned.
   */
  signal?: AbortSignal;
  graceMs?: number;
  env?: Environment;
  /** Keeps what endpoints refuse, so that the next process need not ask for it; none where null. */
  capabilitiesPath?: string | null;
  /** Hears, once, what an endpoint refuses. */
  onNote?: ((line: string) => void) | undefined;
}

/** What all calls to one model at one address share. */
interface Line {
  readonly limiter: ConcurrencyLimiter;
  readonly breaker: CircuitBreaker;
  readonly rate: RateLimiter;
  answers: number;
  /** Ends what waits, once nothing of it can be answered. */
  ending: AbortController;
}

/** What cancels a call. */
interface Signals {
  /** At any time: after a grace period once it was sent. */
  readonly signal: AbortSignal | null;
  /** While it is not sent. */
  readonly waiting: AbortSignal;
}

/** The endpoint refuses a part of the protocol by name, so the same request is not worth a second attempt. */
class PartRefusedError extends Error {
  readonly refusal: Refusals;
  readonly failure: CallFailure;

  constructor({ refusal, failure }: { refusal: Refusals; failure: CallFailure }) {
    super(failure.message);
    this.refusal = refusal;
    this.failure = failure;
  }
}

/**
 * Sends requests. Each one, including retries, takes one place in the queue, one reservation of the budget and one
 * count.
 */
export class LiveChatService implements ChatService {
  private readonly random: Random;
  private readonly budget: Budget;
  private readonly policy: RetryPolicy;
  private readonly onNote: (line: string) => void;
  private readonly signal: AbortSignal | null;
  private readonly graceMs: number;
  private readonly tally = new UsageTally();
  /** What requests wait for. */
  readonly waits = new Waits();
  private readonly lines = new Map<string, Line>();
  private readonly capabilities: EndpointCapabilities;
  // Hard private, so that no dump or log of the service shows a key.
  readonly #clients = new WeakMap<Endpoint, Promise<OpenAI>>();
  readonly #env: Environment;

  constructor(options: LiveChatOptions) {
    this.random = options.random;
    this.budget = new Budget(options.budget, options.ledger);
    this.policy = retrySchema.parse(options.retry ?? {});
    this.signal = options.signal ?? null;
    this.graceMs = options.graceMs ?? 5000;
    this.#env = options.env ?? process.env;
    this.onNote = options.onNote ?? (() => {});
    this.capabilities = new EndpointCapabilities({
      path: options.capabilitiesPath ?? null,
      onNote: this.onNote,
    });
  }

  usage(): EndpointUsage[] {
    return this.tally.rows();
  }

  /** How many requests may be under way at the endpoint at present. */
  concurrencyOf(endpoint: Endpoint): number {
    return this.lineOf(endpoint).limiter.limit;
  }

  async chat(request: ChatRequest): Promise<ChatAnswer> {
    const { endpoint } = request;
    this.budget.checkPrices(endpoint);
    const signal = this.signalOf(request);
    const form = this.capabilities.allowed(endpoint, fullForm(request));
    const { breaker, ending } = this.lineOf(endpoint);
    const isFailing = () => breaker.isFailing;
    // Ends waiting, not what was sent: that is paid for.
    const waiting = signal ? AbortSignal.any([signal, ending.signal]) : ending.signal;
    return this.capabilities.afterTrial({ endpoint, form, signal: waiting, isFailing }, () =>
      this.ask(request, { signal, waiting }),
    );
  }

  /** Asks with as much of the protocol as the endpoint takes. */
  private async ask(request: ChatRequest, signals: Signals): Promise<ChatAnswer> {
    const { endpoint } = request;
    const line = this.lineOf(endpoint);
    const counter = { requests: 0 };
    let form = this.capabilities.allowed(endpoint, fullForm(request));
    let learnt: Refusals = {};
    /** What failed without naming a part, so that it is a guess that JSON was the reason. */
    let guess: { form: RequestForm; failure: CallFailure } | null = null;
    let { policy } = this;
    const tried = new Set<string>();
    let answersBefore: number | null = null;
    const onWait = (failure: CallFailure) => {
      answersBefore ??= line.answers;
      return this.waits.begin({ kind: 'endpoint', what: waitInWords(failure, endpoint) });
    };
    for (;;) {
      tried.add(JSON.stringify(form));
      try {
        const answer = await withRetries({
          attempt: () => this.attemptForm({ request, form, line, signals, counter }),
          policy,
          random: this.random,
          signal: signals.waiting,
          onWait,
        });
        if (guess !== null) {
          const { json: _, ...named } = learnt;
          const again = await this.failsAgain(guess, { request, line, signals, counter });
          if (again instanceof CallFailure) this.capabilities.learn(endpoint, { form, learnt });
          else this.capabilities.learn(endpoint, { form: again === null ? form : guess.form, learnt: named });
          return again === null || again instanceof CallFailure ? answer : again;
        }
        // Only remembered after a success: the request might have been refused for a reason of its own.
        this.capabilities.learn(endpoint, { form, learnt });
        return answer;
      } catch (error) {
        const hasTakenSchema = this.capabilities.hasTakenSchema(endpoint);
        const refusal = refusalOf({ error, form, endpoint, hasTakenSchema });
        const weaker = withoutRefused(form, refusal ?? {});
        // A server may refuse whatever stands in the place of what it refused.
        if (refusal === null || tried.has(JSON.stringify(weaker))) {
          if (Object.keys(learnt).length > 0) this.capabilities.suspect(endpoint, null);
          if (!(error instanceof RetriesEndedError || error instanceof PartRefusedError)) throw error;
          const { failure } = error;
          const attempts = counter.requests;
          // An endpoint that answers others is only slow.
          const askedMs = error instanceof RetriesEndedError && line.answers === answersBefore ? error.askedMs : 0;
          const described = this.described(failure, { endpoint, attempts, askedMs });
          line.breaker.failed(failure, { isFinal: true, attempts, message: described.message });
          if (described instanceof EndpointUnusableError) {
            const { ending } = line;
            // What a service that runs on is asked later is another matter.
            line.ending = endingController();
            ending.abort(described);
          }
          throw described;
        }
        if (error instanceof RetriesEndedError) guess ??= { form, failure: error.failure };
        learnt = { ...learnt, ...refusal };
        form = weaker;
        if (error instanceof PartRefusedError) this.capabilities.suspect(endpoint, refusal);
        // The server broke down over every attempt: without that part it answers soon, or not at all.
        else if (error instanceof RetriesEndedError && error.attempts > 1) policy = { ...policy, maxAttempts: 2 };
      }
    }
  }

  /**
   * Sends a request whose failure is taken for a refusal of JSON once more, now that the endpoint has answered it without: had it
   * been a passing failure, JSON would be given up for good. Returns the failure where it is the same, the answer where there is
   * one, and null where that is not known.
   */
  private async failsAgain(
    { form, failure }: { form: RequestForm; failure: CallFailure },
    { request, ...rest }: Omit<Parameters<LiveChatService['attempt']>[0], 'form'>,
  ): Promise<CallFailure | ChatAnswer | null> {
    if (this.capabilities.hasTakenSchema(request.endpoint)) return null;
    try {
      return await this.attempt({ request, form, ...rest });
    } catch (error) {
      const again = await callFailureOf(error);
      return again?.kind === failure.kind && again.status === failure.status ? again : null;
    }
  }

  /** @throws PartRefusedError instead of a failure that names a part of the form */
  private async attemptForm(options: Parameters<LiveChatService['attempt']>[0]): Promise<ChatAnswer> {
    try {
      return await this.attempt(options);
    } catch (error) {
      const failure = await callFailureOf(error);
      const refusal = failure && namedRefusal({ form: options.form, failure, endpoint: options.request.endpoint });
      if (failure && refusal) throw new PartRefusedError({ refusal, failure });
      throw error;
    }
  }

  private async attempt(options: {
    request: ChatRequest;
    form: RequestForm;
    line: Line;
    signals: Signals;
    counter: { requests: number };
  }): Promise<ChatAnswer> {
    const { request, form, line, counter } = options;
    const { signal, waiting } = options.signals;
    const { endpoint } = request;
    line.breaker.check();
    const permit = await line.limiter.acquire(waiting);
    let outcome: 'success' | 'congested' | 'neutral' = 'neutral';
    try {
      const most = mostOf(request);
      await this.waited(
        { kind: 'pace', what: `the pace of endpoint ${endpoint.name} (requestsPerMinute, tokensPerMinute)` },
        line.rate.admit({ tokens: most.tokens, signal: waiting }),
      );
      const reservation = await this.waited(
        { kind: 'budget', what: 'requests under way, since the budget may not suffice for more' },
        this.budget.reserve({ model: lineKey(endpoint), most }, waiting),
      );
      let took: Took = 'unsent';
      try {
        // It may have tripped while this call was waiting.
        line.breaker.check();
        waiting.throwIfAborted();
        const client = await this.clientOf(endpoint);
        took = 'unknown';
        counter.requests++;
        this.tally.addRequest(endpoint);
        const { body, latencyMs } = await this.waited(
          { kind: 'answer', what: `an answer of endpoint ${endpoint.name} (timeoutMs: ${endpoint.timeoutMs})` },
          send({
            client,
            endpoint,
            secrets: secretsOf({ endpoint, env: this.#env }),
            path: COMPLETIONS_PATH,
            body: completionBody({ request, form }),
            graceMs: this.graceMs,
            signal,
          }),
        );
        const { answer, tokens, isEstimated, toldCost } = readCompletion({ body, request });
        const isAnswer = !(answer instanceof CallFailure);
        const cost = knownCostOf({ endpoint, usage: tokens, toldCost });
        const spent = { tokens: tokens.inputTokens + tokens.outputTokens, money: cost.cost ?? 0 };
        took = spent.tokens === 0 ? 'nothing' : spent;
        const model = isAnswer ? answer.response?.model : null;
        this.tally.addTokens({ endpoint, tokens, isEstimated, isAnswer, model, toldCost });
        line.rate.giveBack(most.tokens - spent.tokens);
        if (!isAnswer) throw answer;
        outcome = 'success';
        line.answers++;
        this.waits.answered();
        line.breaker.answered();
        line.rate.answered();
        return { ...answer, latencyMs, usage: { requests: counter.requests, ...tokens, ...cost } };
      } catch (error) {
        if (took === 'unknown' && (await callFailureOf(error))?.isFree) took = 'nothing';
        throw error;
      } finally {
        await reservation.settle(took);
      }
    } catch (error) {
      const failure = await callFailureOf(error);
      if (failure?.isRetryable)
        line.breaker.failed(failure, {
          isFinal: false,
          attempts: 1,
          message: this.described(failure, { endpoint, attempts: 1 }).message,
        });
      if (failure?.isCongestion) outcome = 'congested';
      if (failure?.kind === 'rate-limit' && failure.retryAfterMs === null) line.rate.refused();
      const forMs = failure?.retryAfterMs ?? 0;
      // Nothing waits for longer than that.
      if (failure?.isCongestion && forMs > 0 && forMs <= this.policy.maxWaitMs) {
        line.limiter.pause(forMs);
        this.waits.begin({ kind: 'endpoint', what: waitInWords(failure, endpoint), forMs });
      }
      throw error;
    } finally {
      permit.release(outcome);
    }
  }

  private async waited<T>(wait: Parameters<Waits['begin']>[0], promise: Promise<T>): Promise<T> {
    return promise.finally(this.waits.begin(wait));
  }

  private described(
    failure: CallFailure,
    { endpoint, attempts, askedMs = 0 }: { endpoint: Endpoint; attempts: number; askedMs?: number },
  ) {
    const { maxWaitMs } = this.policy;
    return providerErrorOf({ failure, attempts, endpoint, env: this.#env, maxWaitMs, askedMs });
  }

  private lineOf(endpoint: Endpoint): Line {
    const key = lineKey(endpoint);
    const found = this.lines.get(key);
    if (found) return found;
    const { requestsPerMinute, tokensPerMinute, concurrency } = endpoint;
    const { baseMs, capMs } = this.policy;
    const line: Line = {
      answers: 0,
      ending: endingController(),
      limiter: new ConcurrencyLimiter(concurrency),
      breaker: new CircuitBreaker(),
      rate: rateLimiter({ requestsPerMinute, tokensPerMinute, stepMs: baseMs / 5, capMs }),
    };
    this.lines.set(key, line);
    return line;
  }

  private clientOf(endpoint: Endpoint): Promise<OpenAI> {
    const found = this.#clients.get(endpoint) ?? endpointClient({ endpoint, env: this.#env });
    this.#clients.set(endpoint, found);
    return found;
  }

  private signalOf(request: ChatRequest): AbortSignal | null {
    const signal =
      this.signal && request.signal ? AbortSignal.any([this.signal, request.signal]) : (request.signal ?? this.signal);
    // Every call under way listens to it, so many listeners are no leak.
    if (signal) setMaxListeners(0, signal);
    return signal;
  }
}

/** Many requests listen to it, so many listeners are no leak. */
function endingController(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}

function refusalOf(options: { error: unknown } & Omit<Parameters<typeof weakerForm>[0], 'failure'>): Refusals | null {
  const { error, ...asked } = options;
  if (error instanceof PartRefusedError) return error.refusal;
  return error instanceof RetriesEndedError ? weakerForm({ ...asked, failure: error.failure }) : null;
}

/** Whom a request that failed waits for before it is sent again, and why. */
function waitInWords({ kind, status, retryAfterMs }: CallFailure, { name, timeoutMs }: Endpoint): string {
  if (kind === 'timeout') return `endpoint ${name} (no answer in time, timeoutMs: ${timeoutMs})`;
  const why = status === null ? kind : `status ${status}`;
  return `endpoint ${name} (${why}${retryAfterMs === null ? '' : `, asks to wait ${Math.ceil(retryAfterMs / 1000)} s`})`;
}
