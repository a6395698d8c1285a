import { AsyncLocalStorage } from 'node:async_hooks';
import { sha256 } from '../../src/content-hash.ts';
import { ProviderError } from '../../src/errors.ts';
import { jsonOrUndefined } from '../../src/json.ts';
import type { CallId, ResponseTable } from '../annotations/response-table.ts';
import { readCompletion } from '../llm/answers/completion.ts';
import { maxTokensOf } from '../llm/answers/request-form.ts';
import { CallFailure } from '../llm/call-failure.ts';
import { type ChatAnswer, type ChatRequest, type ChatService, chatAnswerSchema } from '../llm/chat.ts';
import { answerRelevantOptions } from '../llm/endpoint.ts';
import { MalformedAnswerError, type UnreadableAnswer } from '../llm/failures.ts';

/** A judgement, or a part of one, in progress. */
interface UnfinishedJudgement {
  readonly journal: CallJournal;
  readonly key: string;
  /** How often each call was made for the judgement so far. */
  readonly timesMade: Map<string, number>;
}

/** Shared by all journals, because each storage that was ever used slows every promise of the process. */
const current = new AsyncLocalStorage<UnfinishedJudgement>();

/**
 * Stores every answer when it arrives, so that a judgement of many calls resumes where it was killed. `ofJudgement`
 * runs the work of one judgement, and the async context tells which calls belong to it, through whichever service the
 * detector sends them. Judgements share no calls, so they stay independent. Judgements do share parts, each of which is
 * an annotation. A stored answer has its usage: the judgement counts it, the service below counts new requests only.
 */
export class CallJournal implements ChatService {
  private readonly service: ChatService;
  private readonly table: Pick<ResponseTable, 'find' | 'keep' | 'discard'> | null;
  private readonly underWay = new Set<Promise<unknown>>();
  /** The place of each answer, in case it turns out to be unreadable. */
  private readonly places = new WeakMap<UnreadableAnswer, CallId>();
  private readonly ending = new AbortController();
  /** Aborted at the end, and when nothing can be stored any more, so that no lost answer is paid for. */
  readonly ended: AbortSignal = this.ending.signal;

  constructor(options: {
    service: ChatService;
    /** Null for stores that do not outlive the process. */
    table: Pick<ResponseTable, 'find' | 'keep' | 'discard'> | null;
  }) {
    this.service = options.service;
    this.table = options.table;
  }

  /** Runs the work of the judgement, or the part of one, with this key. */
  ofJudgement<T>(key: string, work: () => Promise<T>): Promise<T> {
    const judgement = { journal: this, key, timesMade: new Map<string, number>() };
    const result = current.run(judgement, work).catch((error) => {
      // Another attempt must not get these answers. The judgement's other answers stay usable.
      const answers = error instanceof MalformedAnswerError ? error.answers : [];
      this.table?.discard(answers.flatMap((answer) => this.places.get(answer) ?? []));
      throw error;
    });
    return this.followed(result);
  }

  chat(request: ChatRequest): Promise<ChatAnswer> {
    if (this.ended.aborted) return Promise.reject(this.ended.reason);
    const judgement = current.getStore();
    return judgement?.journal === this ? this.followed(this.answer(judgement, request)) : this.service.chat(request);
  }

  /**
   * Waits for calls that failed judgements left in progress. They are paid for, so the store must stay open until then.
   */
  async settled(): Promise<void> {
    this.ending.abort(new ProviderError('it was still to be asked, here or by another process, when the run ended'));
    while (this.underWay.size > 0) await Promise.allSettled(this.underWay);
  }

  private async answer({ key, timesMade }: UnfinishedJudgement, request: ChatRequest): Promise<ChatAnswer> {
    request.signal?.throwIfAborted();
    const { table } = this;
    if (table === null) return this.service.chat(request);
    const call = callKey(request);
    // Two debaters may send equal requests. Their answers are two samples.
    const before = timesMade.get(call) ?? 0;
    timesMade.set(call, before + 1);
    const id: CallId = { judgement: key, call: before === 0 ? call : `${call}-${before + 1}` };
    const answer = storedAnswer(table.find(id), request) ?? (await this.sentAnswer(table, id, request));
    this.places.set(answer, id);
    return answer;
  }

  private async sentAnswer(table: Pick<ResponseTable, 'find' | 'keep'>, id: CallId, request: ChatRequest) {
    const sent = await this.service.chat(request);
    try {
      const isFirst = table.keep(id, { request, answer: sent });
      // If another process was faster, both continue with its answer and can share later ones.
      return isFirst ? sent : (storedAnswer(table.find(id), request) ?? sent);
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

/** Reads a stored answer again. Null if it cannot be read, which costs no more than asking again. */
function storedAnswer(stored: ReturnType<ResponseTable['find']>, request: ChatRequest): ChatAnswer | null {
  const answer = stored && chatAnswerSchema.safeParse(jsonOrUndefined(stored.answer)).data;
  if (!stored || !answer || stored.body === null) return answer || null;
  const { answer: read } = readCompletion({ body: stored.body, request });
  return read instanceof CallFailure ? null : { ...answer, ...read };
}

/**
 * SHA-256, in hexadecimal, of everything that can change a call's answer. The endpoint's name, key, prices, time limits
 * and concurrency cannot; nor can its log-probability settings if the call wants none.
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
