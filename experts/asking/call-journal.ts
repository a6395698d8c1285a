import { AsyncLocalStorage } from 'node:async_hooks';
import { z } from 'zod';
import { sha256 } from '../../src/content-hash.ts';
import { ProviderError } from '../../src/errors.ts';
import { jsonOrUndefined } from '../../src/json.ts';
import type { CallId, ResponseTable } from '../annotations/response-table.ts';
import { readCompletion } from '../llm/answers/completion.ts';
import { outcomeOf, readerVersions } from '../llm/answers/read-again.ts';
import { maxTokensOf } from '../llm/answers/request-form.ts';
import { CallFailure } from '../llm/call-failure.ts';
import type { ChatAnswer, ChatRequest, ChatService } from '../llm/chat.ts';
import { answerRelevantOptions } from '../llm/endpoint.ts';
import { MalformedAnswerError, type UnreadableAnswer } from '../llm/failures.ts';

/** A judgement, or a part of one, that is being made. */
interface UnfinishedJudgement {
  readonly journal: CallJournal;
  readonly key: string;
  /** How often each call has been made for it so far. */
  readonly timesMade: Map<string, number>;
}

/** One for all journals, for each that was ever used slows every promise of the process down. */
const current = new AsyncLocalStorage<UnfinishedJudgement>();

/**
 * Keeps every answer as soon as it arrives, so that a judgement of many calls that was killed half-way goes on where it
 * stopped. A call belongs to the judgement that it is made for, whichever service the detector sends it through:
 * `ofJudgement` runs the work of one judgement, and the async context tells which calls were made by it. Judgements do
 * not share calls, so they stay as independent of each other as they are without this class. What judgements do share are parts, each of which becomes an annotation of its own.
 *
 * A kept answer keeps its usage: a judgement counts all that it took, the service below only what was sent just now.
 */
export class CallJournal implements ChatService {
  private readonly service: ChatService;
  private readonly table: Pick<ResponseTable, 'find' | 'keep' | 'use'> | null;
  private readonly underWay = new Set<Promise<unknown>>();
  /** Where each answer is kept, for the day that it turns out to be unreadable. */
  private readonly places = new WeakMap<UnreadableAnswer, CallId>();
  private readonly ending = new AbortController();
  /** Aborted where nothing can be kept any more, so that asking on would pay for what is lost, and at the end. */
  readonly ended: AbortSignal = this.ending.signal;

  constructor(options: {
    service: ChatService;
    /** Null for stores that do not outlive the process. */
    table: Pick<ResponseTable, 'find' | 'keep' | 'use'> | null;
  }) {
    this.service = options.service;
    this.table = options.table;
  }

  /** Does the work of the judgement, or of the part of one, that will be annotated under this key. */
  ofJudgement<T>(key: string, work: () => Promise<T>): Promise<T> {
    return this.followed(this.work(key, work));
  }

  chat(request: ChatRequest): Promise<ChatAnswer> {
    if (this.ended.aborted) return Promise.reject(this.ended.reason);
    const judgement = current.getStore();
    return judgement?.journal === this ? this.followed(this.answer(judgement, request)) : this.service.chat(request);
  }

  /**
   * To be called at the end. Waits for the calls that failed judgements left under way: they are paid for, so the store
   * should still be open.
   */
  async settled(): Promise<void> {
    this.ending.abort(new ProviderError('it was still to be asked, here or by another process, when the run ended'));
    while (this.underWay.size > 0) await Promise.allSettled(this.underWay);
  }

  private async work<T>(key: string, work: () => Promise<T>): Promise<T> {
    try {
      return await current.run({ journal: this, key, timesMade: new Map() }, work);
    } catch (error) {
      // Whoever asks again must not be given these answers, but all others of the judgement are as good as before.
      if (error instanceof MalformedAnswerError)
        this.table?.use(
          error.answers.flatMap((answer) => this.places.get(answer) ?? []),
          false,
        );
      throw error;
    }
  }

  private async answer({ key, timesMade }: UnfinishedJudgement, request: ChatRequest): Promise<ChatAnswer> {
    request.signal?.throwIfAborted();
    const { table } = this;
    if (table === null) return this.service.chat(request);
    const call = callKey(request);
    // Two debaters may be asked the same in the same words. Their answers are two samples all the same.
    const before = timesMade.get(call) ?? 0;
    timesMade.set(call, before + 1);
    const id: CallId = { judgement: key, call: before === 0 ? call : `${call}-${before + 1}` };
    const answer = keptAnswer(table.find(id), request) ?? (await this.sentAnswer(table, id, request));
    this.places.set(answer, id);
    return answer;
  }

  private async sentAnswer(table: Pick<ResponseTable, 'find' | 'keep'>, id: CallId, request: ChatRequest) {
    const sent = await this.service.chat(request);
    try {
      const isFirst = table.keep(id, { request, answer: sent, ...readingOf(request, sent) });
      // Where another process was first, both go on with the same answer and can use each other's.
      return isFirst ? sent : (keptAnswer(table.find(id), request) ?? sent);
    } catch (error) {
      this.ending.abort(error);
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

/** A kept answer, read again. Null also where it cannot be read, which costs no more than asking again. */
function keptAnswer(kept: ReturnType<ResponseTable['find']>, request: ChatRequest): ChatAnswer | null {
  const answer = kept && answerSchema.safeParse(jsonOrUndefined(kept.answer)).data;
  if (!kept || !answer || kept.body === null) return answer || null;
  const { answer: read } = readCompletion({ body: kept.body, request });
  return read instanceof CallFailure ? null : { ...answer, ...read };
}

/** What reads an answer, and what it says by that. */
function readingOf({ reader }: ChatRequest, answer: ChatAnswer): { reader: string | null; outcome: string | null } {
  if (reader === undefined) return { reader: null, outcome: null };
  const { completion } = readerVersions;
  return { reader: JSON.stringify({ ...reader, completion }), outcome: outcomeOf(reader, answer) };
}

const count = z.number().nonnegative();
const tokenSchema = z.object({ token: z.string(), logprob: z.number() });
const answerSchema: z.ZodType<ChatAnswer> = z.object({
  text: z.string(),
  thinking: z.string().optional(),
  logprobs: z.array(tokenSchema.extend({ top: z.array(tokenSchema) })).nullable(),
  usage: z.object({
    requests: count,
    inputTokens: count,
    cachedInputTokens: count,
    outputTokens: count,
    cost: count.optional(),
  }),
  latencyMs: count,
  finishReason: z.string(),
});

/**
 * SHA-256, in hexadecimal, of everything that can change a call's answer. The endpoint's name, key, prices, time limits
 * and concurrency cannot; nor can its settings for log-probabilities where the call wants none.
 */
export function callKey(request: ChatRequest): string {
  const { endpoint, messages, sampleIndex = 0, wantLogprobs = false, jsonSchema = null } = request;
  const { logprobs, topLogprobs } = endpoint;
  return sha256({
    endpoint: {
      ...answerRelevantOptions(endpoint),
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
