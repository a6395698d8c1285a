import { once, type RememberedCalls } from '../../annotations/remembered-calls.ts';
import type { Judgement } from '../../detector.ts';
import { type ChatService, usageOf } from '../../llm/chat.ts';
import type { Endpoint } from '../../llm/endpoint.ts';
import { speakerOptions } from '../models-by-role.ts';
import type { Session } from '../session.ts';
import { strictAnswer } from '../strict-answer.ts';

const PROMPT_VERSION = 1;

const prompt = ({ claim }: { claim: string }) =>
  `Claim: ${claim}\nDoes the claim only express the personal opinions of its author? Answer Yes or No.`;

export type SubjectivityClassifier = (question: {
  claim: string;
  threadId: string;
  session: Session;
}) => Promise<boolean>;

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
      const messages = [{ role: 'user' as const, content: prompt({ claim }) }];
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
      options: { promptVersion: PROMPT_VERSION, classifier: speakerOptions(endpoint) },
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
