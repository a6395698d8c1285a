import { z } from 'zod';
import type { Detector, TranscriptEntry } from '../../detector.ts';
import type { Endpoint } from '../../llm/endpoint.ts';
import { dialogueOf } from '../../llm/prompt-text.ts';
import type { DetectorSettings } from '../detector-settings.ts';
import { endpointOf, endpointsSchema, modelSchema, speakerOptions } from '../models-by-role.ts';
import { loadPrompts, type Prompts, promptsSchema } from '../prompt-templates.ts';
import { speak } from '../session.ts';
import { askForSide, type DebateSide } from './debate-question.ts';
import { type DebateOutcome, type DebateSetting, debatingDetector } from './debating-detector.ts';

/*
 * Team debate (TurQUaz at CheckThat! 2025, §3.2, Algorithm 2; prompts of A.4 in meaning).
 *
 *   T_P, T_O   teams of proponents and opponents     S_P, S_O   what they discuss among themselves
 *   A_P, A_O   what they argue before the others     J          judge          R   rounds, 5
 *
 * Differences from the paper:
 *   - Our text of the paper lost parts of A.2's descriptions of categories. The task `checkthat4a-guided` rephrases the
 *     rest: which links count, and what only sounds like science.
 *   - Question, categories and implications come from the task file; a task of labels has one team for each label, the
 *     proponents for the last (see debate-single.ts).
 *   - Members of a team speak one after the other and hear each other, in discussions as well as in arguments, because
 *     the prompts ask them to build on their teammates without repeating them. The teams prepare and speak at the same
 *     time: each responds to what the others argued in the round before, as in lines 11–14.
 *   - §4.1 gives 5 rounds to "collaborative methods" and 3 to "adversarial single debates"; a team debate counts as one
 *     of the former. The 80% consensus is left out, since in Algorithm 2 only the judge decides.
 *   - A team's discussions are private: neither the others nor the judge hear them, but the transcript includes them.
 */

type Entries = readonly TranscriptEntry[];

interface RoundOfTeams {
  readonly kind: 'opening' | 'rebuttal';
  /** The round's name in transcripts. */
  readonly round: string;
}

/** The values that every prompt for a team member needs. */
type TeamParts = Readonly<Record<'about' | 'asked' | 'who' | 'position' | 'debate' | 'discussion', string>>;

const teamSchema = z.array(modelSchema).min(1);

export const debateTeamOptionsSchema = z.strictObject({
  name: z.literal('debate-team').describe('two teams discuss among themselves, then argue; a judge decides'),
  endpoints: endpointsSchema,
  prompts: promptsSchema,
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
  readonly side: DebateSide;
  readonly members: readonly Endpoint[];
  /** The members' statements among themselves in all rounds, S_P or S_O. */
  readonly discussion: TranscriptEntry[];
}

export function createDebateTeam({ options, task, service }: DetectorSettings<DebateTeamOptions>): Detector {
  const prompts = loadPrompts({ detector: 'debate-team', path: options.prompts });
  const { models, endpoints, rounds, discussionTurns } = options;
  const teamOf = (role: string, team: z.infer<typeof teamSchema>) =>
    team.map((model) => endpointOf({ role, model, endpoints }));
  const proponents = teamOf('proponents', models.proponents);
  const opponents = models.opponents === undefined ? proponents : teamOf('opponents', models.opponents);
  const judge = endpointOf({ role: 'judge', model: models.judge, endpoints });

  async function debate(setting: DebateSetting): Promise<DebateOutcome> {
    const { question, session, about, wording } = setting;
    const heard: TranscriptEntry[] = [];
    const whole: TranscriptEntry[] = [];
    // Lines 2–4: the teams.
    const teams = question.sides.map(
      (side, index): Team => ({ side, members: index === 0 ? proponents : opponents, discussion: [] }),
    );
    const heldBy = { ...setting, heard, prompts, discussionTurns };
    // Lines 5–9 open the debate, lines 10–16 are its rounds: discuss, then argue.
    for (let round = 0; round <= rounds; round++) {
      const now: RoundOfTeams =
        round === 0 ? { kind: 'opening', round: 'Opening arguments' } : { kind: 'rebuttal', round: `Round ${round}` };
      const discussions = await Promise.all(teams.map((team) => internalDiscussion(team, now, heldBy)));
      const argued = await Promise.all(teams.map((team) => teamArguments(team, now, heldBy)));
      whole.push(...discussions.flat(), ...argued.flat());
      heard.push(...argued.flat());
    }

    // Lines 17–18: the judge's decision.
    const content = prompts.render('judge', { about, asked: wording, debate: dialogueOf(heard) });
    const speaker = { role: 'judge', round: 'Decision', as: 'Verdict' } as const;
    const { entry, ...decision } = await askForSide({ speaker, session, endpoint: judge, content, question });
    return { ...decision, transcript: [...whole, entry] };
  }

  return debatingDetector({
    name: 'debate-team',
    // 3: a verdict is asked for as a field of a JSON schema or a last line that is the verdict alone.
    version: '3',
    options: {
      promptVersion: prompts.version,
      rounds,
      discussionTurns,
      proponents: proponents.map(speakerOptions),
      opponents: opponents.map(speakerOptions),
      judge: speakerOptions(judge),
    },
    task,
    service,
    debate,
  });
}

interface TeamDebate extends DebateSetting {
  /** The arguments before the other teams. */
  readonly heard: Entries;
  readonly prompts: Prompts;
  readonly discussionTurns: number;
}

/** Lets the members speak in turn. Each hears the earlier ones. */
async function speakInTurn(
  { side: { role, position }, members, discussion }: Team,
  { entries, round, prompt }: { entries: TranscriptEntry[]; round: string; prompt: (parts: TeamParts) => string },
  { about, wording, heard, session }: TeamDebate,
): Promise<void> {
  for (const [index, endpoint] of members.entries()) {
    const who = `${role} ${index + 1}`;
    const dialogues = { debate: dialogueOf(heard), discussion: dialogueOf(discussion) };
    const messages = [
      { role: 'user' as const, content: prompt({ about, asked: wording, who, position, ...dialogues }) },
    ];
    entries.push(await speak({ role: who, round, session, endpoint, messages }));
  }
}

async function internalDiscussion(team: Team, { kind, round }: RoundOfTeams, debate: TeamDebate): Promise<Entries> {
  const { discussion } = team;
  const { prompts, discussionTurns } = debate;
  const before = discussion.length;
  const prompt = (parts: TeamParts) => prompts.render('discussion', { ...parts, plan: prompts.render(`${kind}-plan`) });
  for (let turn = 0; turn < discussionTurns; turn++)
    await speakInTurn(team, { entries: discussion, round, prompt }, debate);
  return discussion.slice(before).map((entry) => ({ ...entry, role: `${entry.role}, within the team` }));
}

async function teamArguments(team: Team, { kind, round }: RoundOfTeams, debate: TeamDebate): Promise<Entries> {
  const { prompts } = debate;
  const spoken: TranscriptEntry[] = [];
  const prompt = (parts: TeamParts) =>
    prompts.render('argument', { ...parts, spoken: dialogueOf(spoken), turn: prompts.render(`${kind}-turn`) });
  await speakInTurn(team, { entries: spoken, round, prompt }, debate);
  return spoken;
}
