import type { TranscriptEntry } from '../../detector.ts';
import type { ChatMessage } from '../../llm/chat.ts';
import type { Endpoint } from '../../llm/endpoint.ts';
import { askForSide, type SaidVerdict } from '../debate/debate-question.ts';
import type { Prompts } from '../prompt-templates.ts';
import { type JudgementSession, speak } from '../session.ts';
import { pretended } from './analysts.ts';
import { bothSides, type ZofiaSide, type ZofiaSides } from './options.ts';
import { insufficient } from './words.ts';

interface Debater {
  /** Rebuts the opponent's last argument, if any, and adds an argument. */
  generateArgument(turn: {
    readonly opponent: string | null;
    readonly role: string;
    readonly round: string;
  }): Promise<TranscriptEntry>;
}

/** M_pro or M_con. Each has its own conversation, which grows with every turn. */
export function createDebater(settings: {
  prompts: Prompts;
  side: ZofiaSide;
  other: ZofiaSide;
  pool: string;
  endpoint: Endpoint;
  session: JudgementSession;
}): Debater {
  const { prompts, side, other, pool, endpoint, session } = settings;
  const named = ({ name, meaning }: ZofiaSide) => `${name} (${meaning})`;
  const briefing = prompts.render('debater', { side: named(side), other: named(other), pool });
  const messages: ChatMessage[] = [];
  return {
    async generateArgument({ opponent, ...speaker }) {
      const content = opponent === null ? prompts.render('opening') : prompts.render('turn', { opponent });
      // The evidence and the first turn are one message, because some endpoints require the roles to alternate.
      messages.push({ role: 'user', content: messages.length === 0 ? `${briefing}\n\n${content}` : content });
      const argument = await speak({ ...speaker, session, endpoint, messages: [...messages] });
      messages.push({ role: 'assistant', content: argument.text });
      return argument;
    },
  };
}

/** Judge.Assess: for the name of a side, or `insufficient`. */
export function assess(question: {
  prompts: Prompts;
  round: string;
  material: string;
  sides: ZofiaSides;
  endpoint: Endpoint;
  session: JudgementSession;
}): Promise<SaidVerdict> {
  const { prompts, round, material, sides, endpoint, session } = question;
  return askForSide({
    speaker: { role: 'judge', round, as: 'Decision' },
    session,
    endpoint,
    content: prompts.render('judge', { material, sides: bothSides(sides) }),
    question: { sides: [sides.real, sides.fake, { name: insufficient }] },
    // The most expensive answer, so that a dry run does not promise less than the bill.
    dryRunSide: 2,
    dryRunReason: pretended,
  });
}
