import type { Detector, Judgement, TranscriptEntry, Usage } from '../detector.ts';
import { addedUsage, type ChatAnswer, type ChatRequest, type ChatService, usageOf } from '../llm/chat.ts';
import type { Endpoint } from '../llm/endpoint.ts';

/** The calls of one judgement. */
export interface JudgementSession {
  /** Counts every answer, including unusable ones. */
  readonly service: ChatService;
  readonly answers: ChatAnswer[];
  /** The usage of shared parts, even if another judgement asked for them first; they are annotations. */
  readonly parts: Usage[];
  /** Unreadable answers that the judgement does without. */
  unreadableParts: number;
}

/**
 * Runs the calls of one judgement. If one fails, the others are cancelled, because their answers are useless. Aborting
 * the judgement's context cancels all of them.
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

/** The usage and the unreadable parts of a judgement so far. */
export function countsIn(session: JudgementSession): Pick<Judgement, 'usage' | 'partsUsage' | 'unreadableParts'> {
  const { answers, parts, unreadableParts } = session;
  return {
    usage: usageOf(answers),
    ...(parts.length > 0 && { partsUsage: parts.reduce(addedUsage) }),
    ...(unreadableParts > 0 && { unreadableParts }),
  };
}

/** An answer in a dry run, as long as a typical argument. */
const pretendedArgument = 'This is one of the sentences that an argument in a debate is made of. '.repeat(8);

/** The reason of a verdict in a dry run. */
export const pretendedReason = 'This is one of the sentences that explain a verdict. '.repeat(3);

interface Speech extends Pick<ChatRequest, 'endpoint' | 'messages'> {
  session: JudgementSession;
  /** The end of the answer in a dry run. */
  dryRunText?: string;
  /** The end of the answer in a dry run with the fewest calls. */
  shortestDryRunText?: string;
}

/** Lets a model speak in a debate. The entry is never empty, because some endpoints refuse empty messages. */
export async function speak({
  role,
  round,
  session,
  ...speech
}: Speech & Pick<TranscriptEntry, 'role' | 'round'>): Promise<TranscriptEntry> {
  const answer = await session.service.chat(speechRequest(speech));
  const text = answer.text.trim() || '(said nothing)';
  return transcriptEntry({ role, round, text, endpoint: speech.endpoint, answers: [answer] });
}

/** A transcript entry with the usage of its answers. */
export function transcriptEntry(of: {
  role: string;
  round?: string;
  text: string;
  /** The vote; null if it cannot be read. */
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
