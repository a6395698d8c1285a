import { z } from 'zod';
import { chatJson } from '../../llm/chat-json.ts';
import type { Endpoint } from '../../llm/endpoint.ts';
import type { JudgingTask } from '../../tasks/task-file.ts';
import type { Session } from '../session.ts';

/** One of the answers that a debate can come to, with somebody to argue for it. */
export interface Side {
  /** What votes and verdicts call it. */
  readonly name: string;
  /** What its name means as an answer. */
  readonly meaning: string;
  /** Who argues for it, as the others call them. */
  readonly role: string;
  /** What its debater argues, after "that". */
  readonly position: string;
}

/** What one debate is about. */
export interface DebateQuestion {
  /** Null for a task of labels, which is a single question. */
  readonly category: string | null;
  readonly question: string;
  /** The first is the proponent's. */
  readonly sides: readonly Side[];
}

/** A task of labels is one question; of categories each is a question of its own, yes or no. */
export function debateQuestions({ subject, question, labels, categories = [] }: JudgingTask): DebateQuestion[] {
  if (labels) {
    // By convention the last label is the positive one, which the proponent argues for.
    const sides = labels.toReversed().map(({ name, description }, index) => ({
      name,
      meaning: description,
      role: index === 0 ? 'proponent' : labels.length === 2 ? 'opponent' : `opponent for ${name}`,
      position: `the answer is "${name}": ${description}`,
    }));
    return [{ category: null, question, sides }];
  }
  return categories.map(({ name, description }) => ({
    category: name,
    question: `Does this hold of the ${subject}: ${description}?`,
    sides: [
      { name: 'yes', meaning: 'it holds', role: 'proponent', position: `it holds that ${description}` },
      { name: 'no', meaning: 'it does not hold', role: 'opponent', position: `it does not hold that ${description}` },
    ],
  }));
}

export function sidesInWords({ question, sides }: DebateQuestion): string {
  return `${question}\n${sides.map(({ name, meaning }) => `- ${name}: ${meaning}`).join('\n')}`;
}

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
  dryRunSide?: number | undefined;
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
