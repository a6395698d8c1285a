import { z } from 'zod';
import type { Prefix } from '../../src/data/thread.ts';
import type { Detector } from '../detector.ts';
import { type JudgingTask, judgementLabels } from '../judging-task.ts';
import type { ChatService } from '../llm/chat.ts';
import type { Endpoint } from '../llm/endpoint.ts';
import {
  caseOf,
  type DebateOutcome,
  type DebateQuestion,
  judgeByDebates,
  type Side,
  sidesInWords,
} from './debate-question.ts';
import { endpointOf, endpointsSchema, modelSchema, speakerOptions } from './models-by-role.ts';
import { type Session, speak } from './session.ts';
import { dialogueOf, type TranscriptEntry } from './transcript.ts';
import { askVerdict } from './verdict.ts';

/*
 * Team debate (TurQUaz at CheckThat! 2025, §3.2, Algorithm 2; prompts of A.4 in meaning).
 *
 *   T_P, T_O   teams of proponents and opponents     S_P, S_O   what they discuss among themselves
 *   A_P, A_O   what they argue before the others     J          judge          R   rounds, 5
 *
 * Differences from the paper:
 *   - Question, categories and implications come from the task file; a task of labels has one team for each label, the
 *     proponents for the last (see debate-single.ts).
 *   - Within a team members speak one after the other and hear each other, in discussions as in arguments, since the
 *     prompts ask to build on teammates and not to repeat them. The teams prepare and speak at the same time: each plans
 *     against what the others argued in the round before, as in lines 11–14.
 *   - §4.1 gives 5 rounds to "collaborative methods" and 3 to "adversarial single debates"; a team debate is taken for
 *     the first. Its 80 % consensus has no place in Algorithm 2, where only the judge decides, and is left out.
 *   - A team's discussions stay its own: neither the others nor the judge hear them, but the transcript keeps them.
 */

const PROMPT_VERSION = 1;

const prompts = {
  discussion: ({ about, question, who, side, debate, discussion, plan }: TeamParts & { plan: string }) => `${about}

You take part in a formal debate between teams on this question.
${question}

The debate so far:
${dialogueOf(debate)}

You are ${who}. Your team argues that ${side.position}.
Your team's own discussion so far, which the other side does not hear:
${dialogueOf(discussion)}

${plan} Share your view, build on what your teammates said, find the strongest arguments and settle who makes which, \
so that nobody repeats another. Write your contribution to the discussion only.`,

  argument: ({
    about,
    question,
    who,
    side,
    debate,
    discussion,
    spoken,
    turn,
  }: TeamParts & { spoken: Entries; turn: string }) =>
    `${about}

You take part in a formal debate between teams on this question.
${question}

The debate so far:
${dialogueOf(debate)}

You are ${who}. Your team argues that ${side.position}.
Your team's strategy, which the other side does not hear:
${dialogueOf(discussion)}

Your teammates have just said:
${dialogueOf(spoken)}

${turn} Follow the strategy, do not repeat your teammates, and give specific evidence from the text and its links.
Write your contribution only.`,

  judge: ({ about, question, debate }: Pick<TeamParts, 'about' | 'question' | 'debate'>) => `${about}

You are the neutral judge of a debate between teams on this question.
${question}

The debate:
${dialogueOf(debate)}

Weigh the debate and the text itself, and decide. Name the team arguments that convinced you most.`,
};

const plans = {
  opening: 'Develop the strategy of your team.',
  rebuttal: 'Plan how your team rebuts what the other side argued last.',
};
const turns = {
  opening: 'Now present the case of your team.',
  rebuttal: 'Now rebut what the other side argued last.',
};

type Entries = readonly TranscriptEntry[];

interface TeamParts {
  readonly about: string;
  readonly question: string;
  readonly who: string;
  readonly side: Side;
  readonly debate: Entries;
  readonly discussion: Entries;
}

const teamSchema = z.array(modelSchema).min(1);

export const debateTeamOptionsSchema = z.strictObject({
  name: z.literal('debate-team').describe('two teams discuss among themselves, then argue; a judge decides'),
  endpoints: endpointsSchema,
  models: z
    .strictObject({
      proponents: teamSchema.describe('members of the team that argues for yes, or for the last label'),
      opponents: teamSchema.optional().describe('members of each other team; the same models unless given'),
      judge: modelSchema.describe('decides'),
    })
    .describe('an endpoint, or the name of one, for each member'),
  rounds: z.int().min(0).max(20).default(5).describe('rounds of rebuttals after the opening arguments'),
  discussionTurns: z
    .int()
    .min(0)
    .max(10)
    .default(1)
    .describe('times each member speaks in an internal discussion; 0: no discussions'),
});
export type DebateTeamOptions = z.infer<typeof debateTeamOptionsSchema>;

interface Team {
  readonly name: string;
  readonly side: Side;
  readonly members: readonly Endpoint[];
  readonly discussion: TranscriptEntry[];
}

export function createDebateTeam(settings: {
  options: DebateTeamOptions;
  task: JudgingTask;
  service: ChatService;
}): Detector {
  const { options, task, service } = settings;
  const { models, rounds, discussionTurns } = options;
  const teamOf = (role: string, own: z.infer<typeof teamSchema>) =>
    own.map((model) => endpointOf({ role, model, endpoints: options.endpoints }));
  const proponents = teamOf('proponents', models.proponents);
  const opponents = teamOf('opponents', models.opponents ?? models.proponents);
  const judge = endpointOf({ role: 'judge', model: models.judge, endpoints: options.endpoints });

  async function debate(question: DebateQuestion, prefix: Prefix, session: Session): Promise<DebateOutcome> {
    const about = caseOf({ task, prefix });
    const asked = sidesInWords(question);
    const heard: TranscriptEntry[] = [];
    const whole: TranscriptEntry[] = [];
    // Lines 2–4: the teams.
    const teams = question.sides.map((side, index): Team => {
      const name = index === 0 ? 'proponent' : question.sides.length === 2 ? 'opponent' : `opponent for ${side.name}`;
      return { name, side, members: index === 0 ? proponents : opponents, discussion: [] };
    });
    const ask = (endpoint: Endpoint, content: string) =>
      speak({ session, endpoint, messages: [{ role: 'user', content }] });

    async function internalDiscussion(team: Team, plan: string): Promise<Entries> {
      const { name, side, members, discussion } = team;
      const before = discussion.length;
      for (let turn = 0; turn < discussionTurns; turn++)
        for (const [index, member] of members.entries()) {
          const who = `${name} ${index + 1}`;
          const content = prompts.discussion({ about, question: asked, who, side, debate: heard, discussion, plan });
          discussion.push({ role: who, text: await ask(member, content) });
        }
      return discussion.slice(before).map(({ role, text }) => ({ role: `${role}, within the team`, text }));
    }

    async function teamArguments(team: Team, turn: string): Promise<Entries> {
      const { name, side, members, discussion } = team;
      const spoken: TranscriptEntry[] = [];
      for (const [index, member] of members.entries()) {
        const who = `${name} ${index + 1}`;
        const content = prompts.argument({
          about,
          question: asked,
          who,
          side,
          debate: heard,
          discussion,
          spoken,
          turn,
        });
        spoken.push({ role: who, text: await ask(member, content) });
      }
      return spoken;
    }

    // Lines 5–9 open the debate, lines 10–16 are its rounds: discuss, then argue.
    for (let round = 0; round <= rounds; round++) {
      const kind = round === 0 ? 'opening' : 'rebuttal';
      const discussions = await Promise.all(teams.map((team) => internalDiscussion(team, plans[kind])));
      const argued = await Promise.all(teams.map((team) => teamArguments(team, turns[kind])));
      whole.push(...discussions.flat(), ...argued.flat());
      heard.push(...argued.flat());
    }

    // Lines 17–18: the judge's decision.
    const content = prompts.judge({ about, question: asked, debate: heard });
    const messages = [{ role: 'user' as const, content }];
    const { verdict, explanation } = await askVerdict({ session, endpoint: judge, messages, question });
    whole.push({ role: 'judge', text: `${explanation}\nVerdict: ${verdict}` });
    return { verdict, explanation, transcript: whole };
  }

  return {
    name: 'debate-team',
    version: '1',
    options: {
      task,
      promptVersion: PROMPT_VERSION,
      rounds,
      discussionTurns,
      proponents: proponents.map(speakerOptions),
      opponents: opponents.map(speakerOptions),
      judge: speakerOptions(judge),
    },
    labels: judgementLabels(task),
    judge: (prefix) =>
      judgeByDebates({ task, service, debate: (question, session) => debate(question, prefix, session) }),
  };
}
