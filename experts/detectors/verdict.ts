import { z } from 'zod';
import { chatJson } from '../llm/chat-json.ts';
import type { Endpoint } from '../llm/endpoint.ts';
import type { DebateQuestion } from './debate/debate-question.ts';
import type { Session } from './session.ts';

export interface Verdict {
  readonly explanation: string;
  /** Name of one of the question's sides. */
  readonly verdict: string;
}

/** A decision for one side, with its reason before it. What cannot be read, even after one repair, is a failure. */
export async function askVerdict(options: {
  session: Session;
  endpoint: Endpoint;
  content: string;
  question: Pick<DebateQuestion, 'sides'>;
  /** What a dry run pretends was decided. */
  dryRunSide?: number;
}): Promise<Verdict> {
  const { session, endpoint, content, question, dryRunSide = 0 } = options;
  const names = question.sides.map(({ name }) => name);
  const schema = z.object({
    explanation: z.string().describe('the reason in a few sentences, with the arguments found most compelling'),
    verdict: z.enum(names).describe('the answer'),
  });
  const dryRunValue = {
    explanation: 'This is one of the sentences that explain a verdict. '.repeat(3),
    verdict: names[dryRunSide % names.length],
  };
  const { value } = await chatJson({
    service: session.service,
    endpoint,
    messages: [{ role: 'user', content }],
    schema,
    schemaName: 'verdict',
    dryRunValue,
  });
  return value;
}
