import { AsyncLocalStorage } from 'node:async_hooks';
import { z } from 'zod';
import { ProviderError } from '../../src/errors.ts';
import type { ChatAnswer, ChatRequest, ChatService } from '../llm/chat.ts';
import type { AnsweredCall, AnsweredCalls } from './answered-calls.ts';
import { callKey } from './call-key.ts';

/** Something that is to become an annotation, and the calls made for it so far. */
interface Making {
  readonly judgement: string;
  /** How often each call was made. */
  readonly made: Map<string, number>;
}

/**
 * Keeps every answer at once, so that a judgement of many calls that was killed half-way goes on where it stopped. Calls
 * belong to the judgement they are made for, whichever service a detector sends them through: `ofJudgement` runs the
 * making of one, and what is asked meanwhile is found by its async context. So nothing is shared between judgements,
 * which stay as independent as without it, and all calls of one can go when it is stored.
 *
 * The answers keep their usage: a judgement counts what it took in all, the service below what was sent now.
 */
export class KeptCalls implements ChatService {
  private readonly service: ChatService;
  private readonly store: Pick<AnsweredCalls, 'find' | 'keep' | 'forget'>;
  private readonly making = new AsyncLocalStorage<Making>();
  private readonly underWay = new Set<Promise<unknown>>();
  /** What calls failed of. Any other failure of a judgement comes of what was answered. */
  private readonly callFailures = new WeakSet<Error>();
  /** Judgements and parts of them that failed of what was answered, with their failures. */
  private readonly unreadable = new Map<string, unknown>();

  constructor(options: { service: ChatService; store: Pick<AnsweredCalls, 'find' | 'keep' | 'forget'> }) {
    this.service = options.service;
    this.store = options.store;
  }

  /** Runs the making of the judgement, or of the remembered part of one, that will be annotated under this key. */
  ofJudgement<T>(judgement: string, make: () => Promise<T>): Promise<T> {
    return this.followed(this.make(judgement, make));
  }

  chat(request: ChatRequest): Promise<ChatAnswer> {
    const making = this.making.getStore();
    return making === undefined ? this.service.chat(request) : this.followed(this.keptOrAsked(making, request));
  }

  /** Waits for what is still under way for judgements that have failed: it is paid for, and a store should be open for it. */
  async settled(): Promise<void> {
    while (this.underWay.size > 0) await Promise.allSettled(this.underWay);
  }

  /**
   * To be called when nothing is left to judge: forgets the answers of parts that could not be read and that their
   * judgements did without, so that the next run asks again. Until then those judgements may have to be repeated.
   */
  forgetUnreadable(): void {
    this.store.forget([...this.unreadable.keys()]);
    this.unreadable.clear();
  }

  private async make<T>(judgement: string, make: () => Promise<T>): Promise<T> {
    const isPart = this.making.getStore() !== undefined;
    this.unreadable.delete(judgement);
    try {
      return await this.making.run({ judgement, made: new Map() }, make);
    } catch (error) {
      if (error instanceof ProviderError && !this.callFailures.has(error)) this.unreadable.set(judgement, error);
      // A recorded failure, which the next run must not repeat word for word; nor may it repeat the part it came from.
      if (!isPart) this.store.forget([...this.unreadable].flatMap(([key, of]) => (of === error ? [key] : [])));
      throw error;
    }
  }

  private async keptOrAsked({ judgement, made }: Making, request: ChatRequest): Promise<ChatAnswer> {
    request.signal?.throwIfAborted();
    const key = callKey(request);
    // Two debaters may be asked the same in the same words, and are two samples all the same.
    const before = made.get(key) ?? 0;
    made.set(key, before + 1);
    const id: AnsweredCall = { judgement, call: before === 0 ? key : `${key}-${before + 1}` };
    return this.kept(id) ?? (await this.ask(id, request));
  }

  private async ask(id: AnsweredCall, request: ChatRequest): Promise<ChatAnswer> {
    let answer: ChatAnswer;
    try {
      answer = await this.service.chat(request);
    } catch (error) {
      // What was ended failed of nothing of its own; its error may be the one its judgement failed of.
      if (error instanceof Error && !request.signal?.aborted) this.callFailures.add(error);
      throw error;
    }
    // An answer that comes late for a failed judgement must not be what the next run begins with.
    if (this.unreadable.has(id.judgement) || this.store.keep(id, JSON.stringify(answer))) return answer;
    // Another process was first: from here on both go on with the same answer, and can use each other's.
    return this.kept(id) ?? answer;
  }

  /** Null also for what cannot be read, which costs no more than asking again. */
  private kept(id: AnsweredCall): ChatAnswer | null {
    const json = this.store.find(id);
    return json === null ? null : (storedAnswerSchema.safeParse(json).data ?? null);
  }

  private followed<T>(promise: Promise<T>): Promise<T> {
    this.underWay.add(promise);
    const end = () => this.underWay.delete(promise);
    promise.then(end, end);
    return promise;
  }
}

const count = z.number().nonnegative();
const tokenSchema = z.object({ token: z.string(), logprob: z.number() });
const answerSchema: z.ZodType<ChatAnswer> = z.object({
  text: z.string(),
  logprobs: z.array(tokenSchema.extend({ top: z.array(tokenSchema) })).nullable(),
  usage: z.object({ requests: count, inputTokens: count, cachedInputTokens: count, outputTokens: count }),
  latencyMs: count,
  finishReason: z.string(),
});
const storedAnswerSchema = z
  .string()
  .transform((json, context) => {
    try {
      const value: unknown = JSON.parse(json);
      return value;
    } catch {
      context.addIssue({ code: 'custom', message: 'not JSON' });
      return z.NEVER;
    }
  })
  .pipe(answerSchema);
