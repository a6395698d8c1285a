import { setMaxListeners } from 'node:events';
import type { z } from 'zod';
import type { Random } from '../../../src/tensor/random.ts';
import { fullForm, type RequestForm } from '../answers/request-form.ts';
import { CallFailure, callFailureOf } from '../call-failure.ts';
import type { ChatAnswer, ChatRequest, ChatService } from '../chat.ts';
import { Budget, type budgetSchema } from '../cost/budget.ts';
import type { Ledger } from '../cost/ledger.ts';
import { type EndpointUsage, UsageTally } from '../cost/usage.ts';
import type { Endpoint } from '../endpoint.ts';
import { EndpointUnusableError } from '../failures.ts';
import type { Environment } from '../secrets.ts';
import { Waits } from '../waits.ts';
import {
  EndpointCapabilities,
  namedRefusal,
  type Refusals,
  weakerForm,
  withoutRefused,
} from './endpoint-capabilities.ts';
import { type Attempt, RequestSender, type Signals, waitInWords } from './request-sender.ts';
import { RetriesEndedError, type RetryPolicy, retrySchema, withRetries } from './retry.ts';

export interface LiveChatOptions {
  /** Draws the jitter of waiting times; it does not influence any answer. */
  random: Random;
  budget?: z.input<typeof budgetSchema>;
  /** The ledger that the budget limits; that of this process by default. */
  ledger?: Ledger;
  retry?: z.input<typeof retrySchema>;
  /** Cancels every call: waiting ones at once, sent ones after `graceMs`. Answers that arrive before are returned. */
  signal?: AbortSignal;
  graceMs?: number;
  env?: Environment;
  /** Called once for each refusal of an endpoint. */
  onNote?: ((line: string) => void) | undefined;
}

/** Sends requests with retries, and with as much of the protocol as each endpoint accepts. */
export class LiveChatService implements ChatService {
  private readonly random: Random;
  private readonly budget: Budget;
  private readonly policy: RetryPolicy;
  private readonly signal: AbortSignal | null;
  private readonly tally = new UsageTally();
  readonly waits = new Waits();
  private readonly capabilities: EndpointCapabilities;
  private readonly sender: RequestSender;

  constructor(options: LiveChatOptions) {
    this.random = options.random;
    this.budget = new Budget(options.budget, options.ledger);
    this.policy = retrySchema.parse(options.retry ?? {});
    this.signal = options.signal ?? null;
    const { onNote = () => {}, graceMs = 5000, env = process.env } = options;
    this.capabilities = new EndpointCapabilities(onNote);
    const { budget, tally, waits, policy } = this;
    this.sender = new RequestSender({ budget, tally, waits, policy, graceMs }, env);
  }

  usage(): EndpointUsage[] {
    return this.tally.rows();
  }

  /** Requests that may be in progress at the endpoint at present. */
  concurrencyOf(endpoint: Endpoint): number {
    return this.sender.lineOf(endpoint).limiter.limit;
  }

  async chat(request: ChatRequest): Promise<ChatAnswer> {
    const { endpoint } = request;
    this.budget.checkPrices(endpoint);
    const signal = this.signalOf(request);
    const form = this.capabilities.allowed(endpoint, fullForm(request));
    const line = this.sender.lineOf(endpoint);
    const isFailing = () => line.isFailing;
    // Ends the waiting, not sent requests, which are paid for.
    const waiting = signal ? AbortSignal.any([signal, line.ended]) : line.ended;
    return this.capabilities.afterTrial({ endpoint, form, signal: waiting, isFailing }, () =>
      this.ask(request, { signal, waiting }),
    );
  }

  private async ask(request: ChatRequest, signals: Signals): Promise<ChatAnswer> {
    const { endpoint } = request;
    const line = this.sender.lineOf(endpoint);
    const counter = { requests: 0 };
    let form = this.capabilities.allowed(endpoint, fullForm(request));
    let refused: Refusals = {};
    /** The failure of a form that named no part, so that JSON as its reason is a guess. */
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
          attempt: () => this.sender.send({ request, form, line, signals, counter }),
          policy,
          random: this.random,
          signal: signals.waiting,
          isFinal: (failure) => namedRefusal({ form, failure, endpoint }) !== null,
          onWait,
        });
        if (guess !== null) {
          const { json: _, ...named } = refused;
          const again = await this.failsAgain(guess, { request, line, signals, counter });
          if (again instanceof CallFailure) this.capabilities.learn(endpoint, { form, refused });
          else this.capabilities.learn(endpoint, { form: again === null ? form : guess.form, refused: named });
          return again === null || again instanceof CallFailure ? answer : again;
        }
        // Stored after a success only: the request may have been refused for another reason.
        this.capabilities.learn(endpoint, { form, refused });
        return answer;
      } catch (error) {
        const ended = error instanceof RetriesEndedError ? error : null;
        const named = ended && namedRefusal({ form, failure: ended.failure, endpoint });
        const hasTakenSchema = this.capabilities.hasTakenSchema(endpoint);
        const refusal = named ?? (ended && weakerForm({ form, failure: ended.failure, endpoint, hasTakenSchema }));
        const weaker = withoutRefused(form, refusal ?? {});
        // A server may refuse each replacement of what it refused.
        if (ended === null || refusal === null || tried.has(JSON.stringify(weaker))) {
          if (Object.keys(refused).length > 0) this.capabilities.suspect(endpoint, null);
          if (ended === null) throw error;
          const { failure } = ended;
          const attempts = counter.requests;
          // An endpoint that answers other requests is only slow.
          const askedMs = line.answers === answersBefore ? ended.askedMs : 0;
          const described = this.sender.described(failure, { endpoint, attempts, askedMs });
          line.failed(failure, { isFinal: true, attempts, message: described.message });
          if (described instanceof EndpointUnusableError) line.end(described);
          throw described;
        }
        if (named !== null) this.capabilities.suspect(endpoint, named);
        else {
          guess ??= { form, failure: ended.failure };
          // The server broke down over every attempt: without that part it answers soon, or not at all.
          if (ended.attempts > 1) policy = { ...policy, maxAttempts: 2 };
        }
        refused = { ...refused, ...refusal };
        form = weaker;
      }
    }
  }

  /**
   * Repeats a request whose failure looked like a refusal of JSON, after the endpoint answered without JSON: a
   * temporary failure must not disable JSON for good. Returns the failure if it repeats, the answer if there is one,
   * and null if unknown.
   */
  private async failsAgain(
    { form, failure }: { form: RequestForm; failure: CallFailure },
    { request, ...rest }: Omit<Attempt, 'form'>,
  ): Promise<CallFailure | ChatAnswer | null> {
    if (this.capabilities.hasTakenSchema(request.endpoint)) return null;
    try {
      return await this.sender.send({ request, form, ...rest });
    } catch (error) {
      const again = await callFailureOf(error);
      return again?.kind === failure.kind && again.status === failure.status ? again : null;
    }
  }

  private signalOf(request: ChatRequest): AbortSignal | null {
    const signal =
      this.signal && request.signal ? AbortSignal.any([this.signal, request.signal]) : (request.signal ?? this.signal);
    // Every call in progress listens to the signal, so many listeners are no leak.
    if (signal) setMaxListeners(0, signal);
    return signal;
  }
}
