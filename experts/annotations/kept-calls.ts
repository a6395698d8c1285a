import { AsyncLocalStorage } from 'node:async_hooks';
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { sha256 } from '../../src/content-hash.ts';
import { ProviderError } from '../../src/errors.ts';
import { jsonOrUndefined } from '../../src/json.ts';
import type { Judgement } from '../detector.ts';
import { maxTokensOf } from '../llm/answers/completion.ts';
import type { ChatAnswer, ChatRequest, ChatService } from '../llm/chat.ts';
import { answerRelevantOptions } from '../llm/endpoint.ts';
import { MalformedAnswerError, type UnreadableAnswer } from '../llm/failures.ts';
import type { AnnotationRequest, AnnotationRow } from './annotation-row.ts';
import type { ClaimTable } from './claim-table.ts';
import type { KeptCallId, KeptCallTable } from './kept-call-table.ts';
import type { UnreadableTable } from './unreadable-table.ts';

/** A part of a judgement that other judgements ask for as well, word for word. */
export interface PartQuestion {
  /** The detector's name, a slash and what is asked, such as `s2mad/comment-score`. */
  readonly detector: string;
  readonly version: string;
  /** Everything that can change the answer, like a detector's options. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly input: unknown;
  /** Where it was asked first; for people, not part of the key. */
  readonly threadId: string;
  readonly prefixLength: number;
}

/** Where the parts that judgements share are kept, so that no process pays for one twice. */
export interface KeptParts {
  /**
   * The answer kept for this question; asks when there is none.
   * @throws MalformedAnswerError where the answer cannot be read, now or when it was given; other failures are not kept
   */
  part(question: PartQuestion, ask: () => Promise<Judgement>): Promise<Judgement>;
}

/** Time between two looks at what another process is asking. */
const LOOK_MS = 50;

/** A judgement, or a part of one, that is being made. */
interface UnfinishedJudgement {
  readonly key: string;
  /** How often each call has been made for it so far. */
  readonly timesMade: Map<string, number>;
}

/**
 * Keeps every answer as soon as it arrives, so that a judgement of many calls that was killed half-way goes on where it
 * stopped. A call belongs to the judgement that it is made for, whichever service the detector sends it through:
 * `ofJudgement` runs the work of one judgement, and the async context tells which calls were made by it. Judgements do
 * not share calls, so they stay as independent of each other as they are without this class, and the calls of a judgement
 * can be deleted when it is stored. What judgements do share are parts, each of which becomes an annotation of its own.
 *
 * A kept answer keeps its usage: a judgement counts all that it took, the service below only what was sent just now.
 */
export class KeptCalls implements ChatService, KeptParts {
  private readonly service: ChatService;
  private readonly store: PartStore;
  private readonly table: Pick<KeptCallTable, 'find' | 'keep' | 'forget'> | null;
  private readonly signal: AbortSignal | undefined;
  private readonly current = new AsyncLocalStorage<UnfinishedJudgement>();
  private readonly underWay = new Set<Promise<unknown>>();
  /** Where each answer is kept, for the day that it turns out to be unreadable. */
  private readonly places = new WeakMap<UnreadableAnswer, KeptCallId>();
  private readonly partsUnderWay = new Map<string, Promise<Judgement>>();
  private isEnding = false;
  /** Why nothing can be kept any more. Then nothing more is asked: it would be paid for and lost. */
  private storageFailure: unknown = null;
  private readonly retryUnreadable: boolean;
  /** Parts that are answered with something unreadable in this run. */
  private readonly unreadable = new Set<string>();

  constructor(options: {
    service: ChatService;
    store: PartStore;
    /** Null keeps parts only, for judgements of one call, and for stores that do not outlive the process. */
    table: Pick<KeptCallTable, 'find' | 'keep' | 'forget'> | null;
    /** Aborting ends the waiting for other processes. */
    signal?: AbortSignal | undefined;
    /** Ask once more for parts whose earlier answers could not be read. */
    retryUnreadable?: boolean | undefined;
  }) {
    this.service = options.service;
    this.store = options.store;
    this.table = options.table;
    this.signal = options.signal;
    this.retryUnreadable = options.retryUnreadable ?? false;
  }

  /** Does the work of the judgement, or of the part of one, that will be annotated under this key. */
  ofJudgement<T>(key: string, work: () => Promise<T>): Promise<T> {
    return this.followed(this.work(key, work));
  }

  async part(question: PartQuestion, ask: () => Promise<Judgement>): Promise<Judgement> {
    const { threadId, prefixLength, ...asked } = question;
    const request = { ...asked, sampleIndex: 0 };
    const key = this.store.keyOf(request);
    // Two who ask for the same part at the same time get one answer.
    const underWay = this.partsUnderWay.get(key);
    if (underWay !== undefined) return underWay;
    const known = this.store.getMany([key]).get(key);
    if (known !== undefined) return known;
    this.refuseUnreadable(key);
    const asking = this.ofJudgement(key, async () => {
      const elsewhere = await this.askedElsewhere(key);
      if (elsewhere !== undefined) return elsewhere;
      // Another process may have been told just now.
      this.refuseUnreadable(key);
      const started = performance.now();
      const judgement = await ask().catch((error: unknown) => {
        if (error instanceof MalformedAnswerError) this.keepUnreadable(error, { key, question });
        throw error;
      });
      const latencyMs = performance.now() - started;
      const rawResponse = judgement.transcript.at(-1)?.text ?? null;
      const row = { request, judgement, rawResponse, latencyMs, threadId, prefixLength };
      const isNew = this.kept(() => this.store.put(row));
      // Another process was first: its answer is the one that all go on with.
      return isNew ? judgement : (this.store.getMany([key]).get(key) ?? judgement);
    });
    this.partsUnderWay.set(key, asking);
    const end = () => {
      this.partsUnderWay.delete(key);
      this.store.claims?.release([key]);
    };
    return asking.finally(end);
  }

  private refuseUnreadable(key: string): void {
    if (this.retryUnreadable && !this.unreadable.has(key)) return;
    const problem = this.store.unreadable?.find([key]).get(key);
    if (problem !== undefined) throw new MalformedAnswerError(problem, { answers: [] });
  }

  private keepUnreadable(
    error: MalformedAnswerError,
    { key, question }: { key: string; question: PartQuestion },
  ): void {
    const { detector, threadId, prefixLength } = question;
    const { message: problem, answers } = error;
    const { unreadable } = this.store;
    this.unreadable.add(key);
    if (unreadable) this.kept(() => unreadable.put({ key, detector, threadId, prefixLength, problem, answers }));
  }

  /** Claims a part. While another process has it, waits for the answer; undefined where it is to be asked here. */
  private async askedElsewhere(key: string): Promise<Judgement | undefined> {
    const { claims } = this.store;
    if (!claims) return undefined;
    for (;;) {
      const isOwn = claims.take([key]).has(key);
      // It may have come since it was looked for.
      const known = this.store.getMany([key]).get(key);
      if (known !== undefined || isOwn) return known;
      await delay(LOOK_MS);
      if (this.storageFailure !== null) throw this.storageFailure;
      if (this.isEnding) throw new ProviderError('another process was still asking this when the run ended');
      this.signal?.throwIfAborted();
    }
  }

  chat(request: ChatRequest): Promise<ChatAnswer> {
    if (this.storageFailure !== null) return Promise.reject(this.storageFailure);
    const judgement = this.current.getStore();
    return judgement === undefined ? this.service.chat(request) : this.followed(this.answer(judgement, request));
  }

  /**
   * To be called at the end. Waits for the calls that failed judgements left under way: they are paid for, so the store
   * should still be open.
   */
  async settled(): Promise<void> {
    this.isEnding = true;
    while (this.underWay.size > 0) await Promise.allSettled(this.underWay);
  }

  private async work<T>(key: string, work: () => Promise<T>): Promise<T> {
    try {
      return await this.current.run({ key, timesMade: new Map() }, work);
    } catch (error) {
      // Whoever asks anew must not be given these answers, but all others of the judgement are as good as before.
      if (error instanceof MalformedAnswerError)
        this.table?.forget(error.answers.flatMap((answer) => this.places.get(answer) ?? []));
      throw error;
    }
  }

  private async answer({ key, timesMade }: UnfinishedJudgement, request: ChatRequest): Promise<ChatAnswer> {
    request.signal?.throwIfAborted();
    const call = callKey(request);
    // Two debaters may be asked the same in the same words. Their answers are two samples all the same.
    const before = timesMade.get(call) ?? 0;
    timesMade.set(call, before + 1);
    const id: KeptCallId = { judgement: key, call: before === 0 ? call : `${call}-${before + 1}` };
    const answer = this.find(id) ?? (await this.send(id, request));
    this.places.set(answer, id);
    return answer;
  }

  private async send(id: KeptCallId, request: ChatRequest): Promise<ChatAnswer> {
    const answer = await this.service.chat(request);
    const { table } = this;
    if (table === null || this.kept(() => table.keep(id, JSON.stringify(answer)))) return answer;
    // Another process was first. From here on both go on with the same answer and can use each other's.
    return this.find(id) ?? answer;
  }

  /** Null also where the kept answer cannot be read, which costs no more than asking again. */
  private find(id: KeptCallId): ChatAnswer | null {
    const json = this.table?.find(id) ?? null;
    return json === null ? null : (answerSchema.safeParse(jsonOrUndefined(json)).data ?? null);
  }

  private kept<T>(keep: () => T): T {
    try {
      return keep();
    } catch (error) {
      this.storageFailure = error;
      throw error;
    }
  }

  private followed<T>(promise: Promise<T>): Promise<T> {
    this.underWay.add(promise);
    const end = () => this.underWay.delete(promise);
    promise.then(end, end);
    return promise;
  }
}

/** What of the annotation store parts need; a dry run has a pretended one. */
interface PartStore {
  keyOf(request: AnnotationRequest): string;
  getMany(keys: readonly string[]): ReadonlyMap<string, Judgement>;
  /** Returns whether it was new. */
  put(row: AnnotationRow): boolean;
  /** Keeps other processes from asking the same at the same time. */
  readonly claims?: Pick<ClaimTable, 'take' | 'release'> | null | undefined;
  /** Where answers are kept that could not be read; without it they are asked for again. */
  readonly unreadable?: Pick<UnreadableTable, 'find' | 'put'> | undefined;
}

/**
 * SHA-256, in hexadecimal, of everything that can change a call's answer. The endpoint's name, key, prices, time limits
 * and concurrency cannot; nor can its settings for log-probabilities where the call wants none.
 */
export function callKey(request: ChatRequest): string {
  const { endpoint, messages, sampleIndex = 0, wantLogprobs = false, jsonSchema = null } = request;
  const { logprobs, topLogprobs, ...relevant } = answerRelevantOptions(endpoint);
  return sha256({
    endpoint: {
      ...relevant,
      temperature: request.temperature === undefined ? endpoint.temperature : request.temperature,
      maxTokens: maxTokensOf(request),
      ...(wantLogprobs && { logprobs, topLogprobs }),
    },
    messages: messages.map(({ role, content }) => ({ role, content })),
    sampleIndex,
    wantLogprobs,
    jsonSchema,
  });
}

const count = z.number().nonnegative();
const tokenSchema = z.object({ token: z.string(), logprob: z.number() });
const answerSchema: z.ZodType<ChatAnswer> = z.object({
  text: z.string(),
  thinking: z.string().optional(),
  logprobs: z.array(tokenSchema.extend({ top: z.array(tokenSchema) })).nullable(),
  usage: z.object({ requests: count, inputTokens: count, cachedInputTokens: count, outputTokens: count }),
  latencyMs: count,
  finishReason: z.string(),
});
