import { namesAsWords } from '../../llm/answers/answer-words.ts';
import { askVerdict, lastLineAsked, verdictInWords } from '../../llm/answers/verdict.ts';
import type { ChatMessage } from '../../llm/chat.ts';
import type { Endpoint } from '../../llm/endpoint.ts';
import type { Prompts } from '../prompt-templates.ts';
import { type Session, speak } from '../session.ts';
import { pretended } from './analysts.ts';
import { bothSides, type Side, type Sides } from './options.ts';
import { insufficient } from './words.ts';

interface Debater {
  /** Rebuts what the opponent said last, if anything, and adds an argument. */
  generateArgument(opponent: string | null): Promise<string>;
}

/** M_pro or M_con. Each has a conversation of its own, which grows with every turn. */
export function createDebater(settings: {
  prompts: Prompts;
  own: Side;
  other: Side;
  pool: string;
  endpoint: Endpoint;
  session: Session;
}): Debater {
  const { prompts, own, other, pool, endpoint, session } = settings;
  const named = ({ name, meaning }: Side) => `${name} (${meaning})`;
  const briefing = prompts.render('debater', { side: named(own), other: named(other), pool });
  const messages: ChatMessage[] = [];
  return {
    async generateArgument(opponent) {
      const asked = opponent === null ? prompts.render('opening') : prompts.render('turn', { opponent });
      // The first turn is asked for in the same message as the evidence, because some endpoints require the roles to
      // alternate.
      messages.push({ role: 'user', content: messages.length === 0 ? `${briefing}\n\n${asked}` : asked });
      const argument = await speak({ session, endpoint, messages: [...messages] });
      messages.push({ role: 'assistant', content: argument });
      return argument;
    },
  };
}

export interface Decision {
  readonly reasoning: string;
  /** The name of a side, or `insufficient`. */
  readonly decision: string;
}

/** Judge.Assess */
export async function assess(question: {
  prompts: Prompts;
  material: string;
  sides: Sides;
  endpoint: Endpoint;
  session: Session;
}): Promise<Decision> {
  const { prompts, material, sides, endpoint, session } = question;
  const words = namesAsWords([sides.real.name, sides.fake.name, insufficient]);
  const content = prompts.render('judge', { material, sides: bothSides(sides) });
  const { label, reason } = await askVerdict({
    service: session.service,
    request: {
      endpoint,
      messages: [{ role: 'user', content: `${content}\n\n${lastLineAsked(words)}` }],
      // The most expensive answer: a dry run should not promise less than the bill.
      dryRunText: verdictInWords({ words, label: insufficient, reason: pretended }),
      shortestDryRunText: verdictInWords({ words, label: sides.real.name, reason: pretended }),
    },
    words,
    reasons: true,
  });
  return { reasoning: reason, decision: label };
}
