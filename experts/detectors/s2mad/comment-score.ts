import { z } from 'zod';
import { once, type RememberedCalls } from '../../annotations/remembered-calls.ts';
import type { Judgement, Usage } from '../../detector.ts';
import { type ChatService, usageOf } from '../../llm/chat.ts';
import { chatJson } from '../../llm/chat-json.ts';
import type { Endpoint } from '../../llm/endpoint.ts';
import { MalformedAnswerError } from '../../llm/provider-failures.ts';
import { speakerOptions } from '../models-by-role.ts';
import type { Session } from '../session.ts';

const PROMPT_VERSION = 1;

/** p_ss of S2MAD (Eq. 1) */
const prompt = ({ claim, comment }: { claim: string; comment: string }) =>
  `Check first whether the comment agrees with common sense. If it does not, its score is 0.0.
Does the comment support that the claim is real? If so, score it above 0.0 and up to 1.0, the higher the stronger the \
support. If it opposes the claim, score it from -1.0 to below 0.0, the lower the stronger the opposition.
Claim: ${claim}
Comment: ${comment}`;

const scoreSchema = z.object({
  reason: z.string().describe('one sentence'),
  score: z.number().min(-1).max(1).describe('from -1 (opposes the claim) to 1 (supports it)'),
});

export interface Comment {
  /** Its place in the thread, where the claim is 0. */
  readonly index: number;
  readonly text: string;
}

export type CommentScorer = (question: {
  claim: string;
  comment: Comment;
  threadId: string;
  session: Session;
}) => Promise<number | null>;

/**
 * Tells how far a comment supports a claim, in [−1, 1], or null where no score could be read. Asks once for each claim and
 * comment, whatever else the thread holds. What is remembered elsewhere counts its usage there, else the judgement that
 * asked first counts it.
 */
export function createCommentScorer(settings: {
  service: ChatService;
  endpoint: Endpoint;
  remember?: RememberedCalls;
}): CommentScorer {
  const { service, endpoint, remember } = settings;
  const known = new Map<string, Promise<{ readonly score: number | null; readonly usage: Usage | null }>>();

  return async ({ claim, comment, threadId, session }) => {
    // Not through the session: others wait for the same answer, and must get it if this judgement fails.
    const ask = async (): Promise<Judgement> => {
      const { value, answers } = await chatJson({
        service,
        endpoint,
        messages: [{ role: 'user', content: prompt({ claim, comment: comment.text }) }],
        schema: scoreSchema,
        schemaName: 'comment_score',
        dryRunValue: { reason: 'It says so.', score: comment.index % 2 === 0 ? 0.5 : -0.5 },
      });
      if (!remember) session.answers.push(...answers);
      return {
        label: value.score > 0 ? 'support' : value.score < 0 ? 'oppose' : 'none',
        probabilities: null,
        explanation: value.reason,
        transcript: [{ role: 'scorer', text: JSON.stringify(value) }],
        usage: usageOf(answers),
      };
    };
    const call = {
      detector: 's2mad/comment-score',
      version: '1',
      options: { promptVersion: PROMPT_VERSION, scorer: speakerOptions(endpoint) },
      input: [claim, comment.text],
      threadId,
      prefixLength: comment.index + 1,
    };
    const answered = async () => {
      try {
        const { transcript, usage } = await (remember ? remember.remember(call, ask) : ask());
        return { score: scoreSchema.parse(JSON.parse(transcript[0].text)).score, usage: remember ? usage : null };
      } catch (error) {
        if (error instanceof MalformedAnswerError) return { score: null, usage: null };
        throw error;
      }
    };
    const { score, usage } = await once({ known, key: `${claim}\n${comment.text}`, ask: answered });
    if (usage !== null) session.parts.push(usage);
    return score;
  };
}
