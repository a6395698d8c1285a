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
import { providerErrorOf } from '../provider-error.ts';
import type { Environment } from '../secrets.ts';
import { Waits } from '../waits.ts';
import { namedRefusal, type Refusals, weakerForm, withoutRefused } from './endpoint-capabilities.ts';
import { EndpointLine, lineKey } from './endpoint-line.ts';
import { type Attempt, requestSender, waitInWords } from './request-sender.ts';
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
  private readonly onNote: (line: string) => void;
  private readonly lines = new Map<string, EndpointLine>();
  // Hard private, so that no dump or log of the service shows a key.
  readonly #env: Environment;
  readonly #send: (attempt: Attempt) => Promise<ChatAnswer>;

  constructor(options: LiveChatOptions) {
    const { onNote = () => {}, graceMs = 5000, env = process.env } = options;
    this.random = options.random;
    this.budget = new Budget(options.budget, options.ledger);
    this.policy = retrySchema.parse(options.retry ?? {});
    this.signal = options.signal ?? null;
    this.onNote = onNote;
    this.#env = env;
    const { budget, tally, waits, policy } = this;
    this.#send = requestSender({ budget, tally, waits, policy, graceMs, env });
  }

  usage(): EndpointUsage[] {
    return this.tally.rows();
  }

  async chat(request: ChatRequest): Promise<ChatAnswer> {
    const { endpoint } = request;
    this.budget.checkPrices(endpoint);
    const signal = this.signalOf(request);
    const line = this.lineOf(endpoint);
    // Ends the waiting, not sent requests, which are paid for.
    const waiting = signal ? AbortSignal.any([signal, line.ended]) : line.ended;
    const trial = { form: fullForm(request), signal: waiting, isFailing: () => line.isFailing };
    return line.capabilities.afterTrial(trial, () =>
      this.ask({ request, line, signals: { signal, waiting }, counter: { requests: 0 } }),
    );
  }

  private lineOf(endpoint: Endpoint): EndpointLine {
    const key = lineKey(endpoint);
    const { policy, onNote } = this;
    const line = this.lines.get(key) ?? new EndpointLine(endpoint, { policy, onNote });
    this.lines.set(key, line);
    return line;
  }

  private async ask(call: Omit<Attempt, 'form'>): Promise<ChatAnswer> {
    const { request, line, signals, counter } = call;
    const { endpoint } = request;
    const { capabilities } = line;
    let form = capabilities.allowed(fullForm(request));
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
          attempt: () => this.#send({ ...call, form }),
          policy,
          random: this.random,
          signal: signals.waiting,
          isFinal: (failure) => namedRefusal({ form, failure, endpoint }) !== null,
          onWait,
        });
        if (guess !== null) {
          const { json: _, ...named } = refused;
          const again = await this.failsAgain(guess, call);
          if (again instanceof CallFailure) capabilities.learn({ form, refused });
          else capabilities.learn({ form: again === null ? form : guess.form, refused: named });
          return again === null || again instanceof CallFailure ? answer : again;
        }
        // Stored after a success only: the request may have been refused for another reason.
        capabilities.learn({ form, refused });
        return answer;
      } catch (error) {
        const ended = error instanceof RetriesEndedError ? error : null;
        const named = ended && namedRefusal({ form, failure: ended.failure, endpoint });
        const hasTakenSchema = capabilities.hasTakenSchema();
        const refusal = named ?? (ended && weakerForm({ form, failure: ended.failure, endpoint, hasTakenSchema }));
        const weaker = withoutRefused(form, refusal ?? {});
        // A server may refuse each replacement of what it refused.
        if (ended === null || refusal === null || tried.has(JSON.stringify(weaker))) {
          if (Object.keys(refused).length > 0) capabilities.suspect(null);
          if (ended === null) throw error;
          const { failure } = ended;
          const attempts = counter.requests;
          // An endpoint that answers other requests is only slow.
          const askedMs = line.answers === answersBefore ? ended.askedMs : 0;
          const { maxWaitMs } = this.policy;
          const described = providerErrorOf({ failure, endpoint, env: this.#env, attempts, maxWaitMs, askedMs });
          line.failed(failure, { isFinal: true, attempts, message: described.message });
          if (described instanceof EndpointUnusableError) line.end(described);
          throw described;
        }
        if (named !== null) capabilities.suspect(named);
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
    call: Omit<Attempt, 'form'>,
  ): Promise<CallFailure | ChatAnswer | null> {
    if (call.line.capabilities.hasTakenSchema()) return null;
    try {
      return await this.#send({ ...call, form });
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
