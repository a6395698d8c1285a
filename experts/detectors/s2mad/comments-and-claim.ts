import { z } from 'zod';
import type { AskOnce } from '../../asking/ask-once.ts';
import { partAsker, sharedAsker } from '../../asking/shared-questions.ts';
import { chatJson } from '../../llm/answers/ask-with-repair.ts';
import { askVerdict } from '../../llm/answers/verdict.ts';
import type { ChatService } from '../../llm/chat.ts';
import { answerRelevantOptions, type Endpoint } from '../../llm/endpoint.ts';
import { MalformedAnswerError, orUnreadable } from '../../llm/failures.ts';
import { quotedEvidence } from '../../llm/prompt-text.ts';
import type { Prompts } from '../prompt-templates.ts';
import type { JudgementSession } from '../session.ts';

/*
 * The two questions of S2MAD whose answers do not depend on the prefix, so each is asked once per thread: how far a
 * comment supports the claim, and whether the claim is subjective.
 */

/**
 * The side of comments without a stance. No longer a setting; it stays in keys, so that stored judgements keep theirs.
 */
export const neutralComments = 'oppose';

const scoreSchema = z.object({
  reason: z.string().describe('one sentence'),
  score: z.number().min(-1).max(1).describe('from -1 (does not support the claim) to 1 (supports it)'),
});

export interface Comment {
  /** The comment's place in the thread; the claim's is 0. */
  readonly index: number;
  readonly text: string;
}

interface Settings {
  readonly prompts: Prompts;
  /** A service beyond one judgement: others wait for the same answers and get them even if that judgement fails. */
  readonly service: ChatService;
  readonly endpoint: Endpoint;
  readonly askOnce: AskOnce | undefined;
}

/** Scores how far a comment supports the claim, in [−1, 1]; null if no score could be read after one repair. */
export function createCommentScorer({ prompts, service, endpoint, askOnce }: Settings) {
  const askPart = partAsker(askOnce);
  return async (question: { claim: string; comment: Comment; threadId: string; session: JudgementSession }) => {
    const { claim, comment, threadId, session } = question;
    const askShared = sharedAsker({ askPart, place: { threadId, prefixLength: comment.index + 1 }, counts: session });
    const part = {
      detector: 's2mad/comment-score',
      version: '1',
      options: { promptVersion: prompts.version, neutralComments, scorer: answerRelevantOptions(endpoint) },
      input: [claim, comment.text],
      schema: scoreSchema,
    };
    const content = prompts.render('score', {
      claim: quotedEvidence('Claim', [claim]),
      comment: quotedEvidence('Comment', [comment.text]),
      neutralScale: prompts.render('scale-oppose'),
    });
    const scored = askShared(part, async () => {
      const { value, answers } = await chatJson({
        service,
        endpoint,
        messages: [{ role: 'user', content }],
        schema: scoreSchema,
        schemaName: 'comment_score',
        dryRunValue: { reason: 'It says so.', score: comment.index % 2 === 0 ? 0.5 : -0.5 },
      });
      const label = value.score > 0 ? 'support' : value.score < 0 ? 'oppose' : 'none';
      return { value, answers, label, explanation: value.reason };
    });
    return orNull(scored, session);
  };
}

/** Whether a claim is only an opinion (§3.3): yes or no; null if the answer could not be read after one repair. */
export function createSubjectivityClassifier({ prompts, service, endpoint, askOnce }: Settings) {
  const askPart = partAsker(askOnce);
  return (question: { claim: string; threadId: string; session: JudgementSession }) => {
    const { claim, threadId, session } = question;
    const part = {
      detector: 's2mad/claim-subjectivity',
      // 2: endpoints that take JSON schemas are sent Yes and No as an enum.
      version: '2',
      options: { promptVersion: prompts.version, classifier: answerRelevantOptions(endpoint) },
      input: claim,
      threadId,
      prefixLength: 1,
    };
    const judged = askPart(part, session, async () => {
      const content = prompts.render('subjectivity', { claim: quotedEvidence('Claim', [claim]) });
      const { label, answers } = await askVerdict({
        service,
        request: { endpoint, messages: [{ role: 'user', content }], dryRunText: 'No' },
        words: { yes: ['Yes'], no: ['No'] },
        reasons: false,
      });
      const transcript = answers.map(({ text }) => ({ role: 'classifier', text }));
      return { label, explanation: '', transcript, answers };
    });
    return orNull(judged, session);
  };
}

/** The answer to a part that a judgement can do without: null if it could not be read. */
async function orNull<T>(asked: Promise<T>, session: JudgementSession): Promise<T | null> {
  const answer = await orUnreadable(asked);
  if (!(answer instanceof MalformedAnswerError)) return answer;
  session.unreadableParts++;
  return null;
}
