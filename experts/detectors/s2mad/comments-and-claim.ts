import { z } from 'zod';
import { once, type RememberedCalls } from '../../annotations/remembered-calls.ts';
import type { Judgement, Usage } from '../../detector.ts';
import { type ChatService, usageOf } from '../../llm/chat.ts';
import { chatJson } from '../../llm/chat-json.ts';
import type { Endpoint } from '../../llm/endpoint.ts';
import { MalformedAnswerError } from '../../llm/failures.ts';
import { strictAnswer } from '../answers.ts';
import { speakerOptions } from '../models-by-role.ts';
import type { Session } from '../session.ts';

const SCORE_PROMPT_VERSION = 1;

/** p_ss of S2MAD (Eq. 1) */
const scorePrompt = ({ claim, comment }: { claim: string; comment: string }) =>
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

type CommentScorer = (question: {
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
        messages: [{ role: 'user', content: scorePrompt({ claim, comment: comment.text }) }],
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
      options: { promptVersion: SCORE_PROMPT_VERSION, scorer: speakerOptions(endpoint) },
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

const SUBJECTIVITY_PROMPT_VERSION = 1;

const subjectivityPrompt = ({ claim }: { claim: string }) =>
  `Claim: ${claim}\nDoes the claim only express the personal opinions of its author? Answer Yes or No.`;

type SubjectivityClassifier = (question: { claim: string; threadId: string; session: Session }) => Promise<boolean>;

/**
 * Tells whether a claim is but an opinion (S2MAD, §3.3); what is no clear yes counts as no. Asks once for each claim, and
 * counts usage as `createCommentScorer` does.
 */
export function createSubjectivityClassifier(settings: {
  service: ChatService;
  endpoint: Endpoint;
  remember?: RememberedCalls;
}): SubjectivityClassifier {
  const { service, endpoint, remember } = settings;
  const known = new Map<string, Promise<Judgement>>();

  return async ({ claim, threadId, session }) => {
    const ask = async (): Promise<Judgement> => {
      const messages = [{ role: 'user' as const, content: subjectivityPrompt({ claim }) }];
      const answer = await service.chat({ endpoint, messages, dryRunText: 'No' });
      if (!remember) session.answers.push(answer);
      return {
        label: strictAnswer({ text: answer.text, words: { yes: ['Yes'], no: ['No'] } }),
        probabilities: null,
        explanation: '',
        transcript: [{ role: 'classifier', text: answer.text }],
        usage: usageOf([answer]),
      };
    };
    const call = {
      detector: 's2mad/claim-subjectivity',
      version: '1',
      options: { promptVersion: SUBJECTIVITY_PROMPT_VERSION, classifier: speakerOptions(endpoint) },
      input: claim,
      threadId,
      prefixLength: 1,
    };
    const answered = () => (remember ? remember.remember(call, ask) : ask());
    const { label, usage } = await once({ known, key: claim, ask: answered });
    if (remember) session.parts.push(usage);
    return label === 'yes';
  };
}
