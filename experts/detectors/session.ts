import type { Detector, Judgement, TranscriptEntry, Usage } from '../detector.ts';
import { addedUsage, type ChatAnswer, type ChatRequest, type ChatService, usageOf } from '../llm/chat.ts';
import type { Endpoint } from '../llm/endpoint.ts';

/** The calls of one judgement. */
export interface JudgementSession {
  /** Counts every answer, including unusable ones. */
  readonly service: ChatService;
  readonly answers: ChatAnswer[];
  /** What the shared parts took, whoever asked for them first; they are annotations of their own. */
  readonly parts: Usage[];
  /** Answers that could not be read and that the judgement does without. */
  unreadableParts: number;
}

/**
 * Runs the calls of one judgement. When one of them fails, the others are cancelled, since nobody waits for them any
 * more. Aborting the judgement's context cancels them all.
 */
export async function inSession<T>(
  options: { service: ChatService; context: Parameters<Detector['judge']>[1] },
  work: (session: JudgementSession) => Promise<T>,
): Promise<T> {
  const { service, context } = options;
  const controller = new AbortController();
  const signal = context ? AbortSignal.any([controller.signal, context.signal]) : controller.signal;
  const answers: ChatAnswer[] = [];
  const chat: ChatService['chat'] = async (request) => {
    signal.throwIfAborted();
    const answer = await service.chat({ ...request, signal });
    answers.push(answer);
    return answer;
  };
  try {
    return await work({ service: { chat }, answers, parts: [], unreadableParts: 0 });
  } catch (error) {
    controller.abort(error);
    throw error;
  }
}

/** What a judgement has taken so far, and what of it could not be read. */
export function countsIn(session: JudgementSession): Pick<Judgement, 'usage' | 'partsUsage' | 'unreadableParts'> {
  const { answers, parts, unreadableParts } = session;
  return {
    usage: usageOf(answers),
    ...(parts.length > 0 && { partsUsage: parts.reduce(addedUsage) }),
    ...(unreadableParts > 0 && { unreadableParts }),
  };
}

/** Answer of a dry run, as long as a typical argument. */
const pretendedArgument = 'This is one of the sentences that an argument in a debate is made of. '.repeat(8);

/** The reason of a verdict in a dry run. */
export const pretendedReason = 'This is one of the sentences that explain a verdict. '.repeat(3);

interface Speech extends Pick<ChatRequest, 'endpoint' | 'messages'> {
  session: JudgementSession;
  /** How the answer of a dry run ends. */
  dryRunText?: string;
  /** The same for the fewest calls. */
  shortestDryRunText?: string;
}

/** What a model says in a debate, as an entry of the transcript. Never empty, since some endpoints refuse empty messages. */
export async function speak({
  role,
  round,
  session,
  ...speech
}: Speech & Pick<TranscriptEntry, 'role' | 'round'>): Promise<TranscriptEntry> {
  const answer = await session.service.chat(speechRequest(speech));
  const text = answer.text.trim() || '(said nothing)';
  return entryOf({ role, round, text, endpoint: speech.endpoint, answers: [answer] });
}

/** An entry of the transcript, with what the answers took that it was made of. */
export function entryOf(of: {
  role: string;
  round?: string;
  text: string;
  /** Null where it votes for nothing that can be read. */
  vote?: string | null;
  endpoint: Endpoint;
  answers: readonly ChatAnswer[];
}): TranscriptEntry {
  const { endpoint, answers, vote = null, ...entry } = of;
  return { ...entry, ...(vote !== null && { vote }), model: endpoint.model, usage: usageOf(answers) };
}

export function speechRequest(speech: Omit<Speech, 'session'>): ChatRequest {
  const { dryRunText = '', shortestDryRunText = dryRunText, ...request } = speech;
  const pretended = (end: string) => `${pretendedArgument}\n${end}`.trim();
  return { ...request, dryRunText: pretended(dryRunText), shortestDryRunText: pretended(shortestDryRunText) };
}
