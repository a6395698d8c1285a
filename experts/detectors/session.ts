import type { ChatAnswer, ChatMessage, ChatService } from '../llm/chat.ts';
import type { Endpoint } from '../llm/endpoint.ts';
import { withoutThinking } from './strict-answer.ts';

/** The calls of one judgement. */
export interface Session {
  /** Counts every answer, unusable ones included. */
  readonly service: ChatService;
  readonly answers: ChatAnswer[];
}

/** Runs the calls of one judgement. When one fails, the others under way are ended: nobody waits for them any more. */
export async function inSession<T>(service: ChatService, work: (session: Session) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const answers: ChatAnswer[] = [];
  const chat: ChatService['chat'] = async (request) => {
    controller.signal.throwIfAborted();
    const answer = await service.chat({ ...request, signal: controller.signal });
    answers.push(answer);
    return answer;
  };
  try {
    return await work({ service: { chat }, answers });
  } catch (error) {
    controller.abort(error);
    throw error;
  }
}

/** As long as a typical argument. */
const pretendedArgument = 'This is one of the sentences that an argument in a debate is made of. '.repeat(8);

/** What a model says, without what it thought aloud before; never empty, since some endpoints refuse empty messages. */
export async function speak(options: {
  session: Session;
  endpoint: Endpoint;
  messages: readonly ChatMessage[];
  dryRunText?: string;
}): Promise<string> {
  const { session, endpoint, messages, dryRunText = '' } = options;
  const dryRun = `${pretendedArgument}\n${dryRunText}`.trim();
  const answer = await session.service.chat({ endpoint, messages, dryRunText: dryRun });
  return withoutThinking(answer.text) || '(said nothing)';
}
