import { z } from 'zod';
import type { Detector, TranscriptEntry } from '../../detector.ts';
import { sampledProbabilities } from '../../llm/answers/class-probabilities.ts';
import type { Endpoint } from '../../llm/endpoint.ts';
import { MalformedAnswerError, orUnreadable } from '../../llm/failures.ts';
import { dialogueOf } from '../../llm/prompt-text.ts';
import type { DetectorSettings } from '../detector-settings.ts';
import { endpointOf, endpointsSchema, modelSchema, speakerOptions } from '../models-by-role.ts';
import { loadPrompts, type Prompts, promptsSchema } from '../prompt-templates.ts';
import { speak } from '../session.ts';
import { askForSide, type SaidVerdict, sidesInWords } from './debate-question.ts';
import { type DebateOutcome, type DebateSetting, debatingDetector } from './debating-detector.ts';

/*
 * Council debate (TurQUaz at CheckThat! 2025, §3.3, Algorithm 3; prompts of A.5 in meaning).
 *
 *   C      council members            V   their votes, one per member
 *   chair  chairperson, no vote       θ   share of equal votes that is a consensus, 0.8          R   rounds, 5
 *
 * Differences from the paper:
 *   - Our text of the paper lost parts of A.2's descriptions of categories. The task `checkthat4a-guided` rephrases the
 *     rest: which links count, and what only sounds like science.
 *   - Question, categories and implications come from the task file; with labels the council votes for one of them.
 *   - The paper does not define "votes stabilized". Its Table 5 goes on after a first round that changed no vote, so here
 *     every member must vote the same in two consecutive rounds of discussion; the initial votes do not count.
 *   - The paper does not mention ties: here the chairperson decides between the leading sides, in one more call.
 *   - The prompts ask the chairperson whether a consensus was reached; Algorithm 3 counts votes, and so do we.
 *   - Members vote at the same time and learn of each other's votes in the next round. The chairperson's summary is the
 *     last entry of the discussion; the paper's prompt has a separate place for it.
 *   - A vote that cannot be read even after one repair is an abstention: the member still counts as not agreeing, and the
 *     judgement counts it. If there is no vote at all at the end, the judgement fails.
 *   - The shares of the final votes serve as probabilities.
 */

export const debateCouncilOptionsSchema = z.strictObject({
  name: z.literal('debate-council').describe('several models discuss and vote, led by a chairperson'),
  endpoints: endpointsSchema,
  prompts: promptsSchema,
  models: z
    .strictObject({
      members: z.array(modelSchema).min(1).describe('each has one vote; the paper has five different ones'),
      chairperson: modelSchema.describe('sums up before each round and decides ties'),
    })
    .describe('an endpoint, or the name of one, for each member'),
  rounds: z.int().min(0).max(20).default(5).describe('rounds of discussion after the initial votes, at most'),
  consensus: z
    .number()
    .gt(0)
    .max(1)
    .default(0.8)
    .describe('share of all members that must vote alike to end the discussion'),
});
export type DebateCouncilOptions = z.infer<typeof debateCouncilOptionsSchema>;

/** The side that each member votes for; null for an abstention. */
type Votes = readonly (string | null)[];

/** The answer of each member in a round: a verdict, or an abstention. */
type Ballot = readonly (SaidVerdict | MalformedAnswerError)[];

export function createDebateCouncil({ options, task, service }: DetectorSettings<DebateCouncilOptions>): Detector {
  const prompts = loadPrompts({ detector: 'debate-council', path: options.prompts });
  const { models, endpoints, rounds, consensus } = options;
  const members = models.members.map((model) => endpointOf({ role: 'members', model, endpoints }));
  const chairperson = endpointOf({ role: 'chairperson', model: models.chairperson, endpoints });
  return debatingDetector({
    name: 'debate-council',
    // 4: a vote is asked for as a field of a JSON schema or a last line that is the vote alone.
    version: '4',
    options: {
      promptVersion: prompts.version,
      rounds,
      consensus,
      // No longer a setting. It stays in the key, so that stored judgements keep theirs.
      stableRounds: 2,
      members: members.map(speakerOptions),
      chairperson: speakerOptions(chairperson),
    },
    task,
    service,
    debate: (debate) => discuss({ ...debate, prompts, members, chairperson, rounds, consensus, discussion: [] }),
  });
}

interface Discussion extends DebateSetting, Pick<DebateCouncilOptions, 'rounds' | 'consensus'> {
  readonly prompts: Prompts;
  readonly members: readonly Endpoint[];
  readonly chairperson: Endpoint;
  readonly discussion: TranscriptEntry[];
}

const roundName = (round: number) => (round === 0 ? 'Initial votes' : `Round ${round}`);

/** The values that every prompt needs. */
const partsOf = ({ about, wording, discussion }: Discussion) => ({
  about,
  asked: wording,
  discussion: dialogueOf(discussion),
});

async function discuss(debate: Discussion): Promise<DebateOutcome> {
  const { question, session, prompts, members, chairperson, rounds, consensus, discussion } = debate;
  const names = question.sides.map(({ name }) => name);
  const isConsensus = (votes: Votes) =>
    // Tolerates rounding: 4 of 5 are 0.8.
    Math.max(...names.map((name) => countOf(votes, name))) >= consensus * members.length - 1e-9;

  // Line 4: the initial votes. Lines 5–7: they may already be a consensus.
  let ballot = await collectVotes(debate, 0);
  if (isConsensus(votesOf(ballot))) return majority(debate, ballot);

  // Lines 8–15: the chairperson sums up, the members respond and vote again.
  for (let round = 1; round <= rounds; round++) {
    const before = votesOf(ballot);
    const content = prompts.render('chairperson', { ...partsOf(debate), votes: votesInWords(before, names) });
    const speaker = { role: 'chairperson', round: roundName(round), session, endpoint: chairperson };
    discussion.push(await speak({ ...speaker, messages: [{ role: 'user', content }] }));
    ballot = await collectVotes(debate, round);
    const votes = votesOf(ballot);
    const haveStabilized = round > 1 && votes.every((vote, member) => vote === before[member]);
    if (isConsensus(votes) || haveStabilized) break;
  }
  return majority(debate, ballot);
}

/** All members vote at the same time. Their statements join the discussion. */
async function collectVotes(debate: Discussion, round: number): Promise<Ballot> {
  const { question, session, prompts, members, discussion } = debate;
  const by = (member: number) => ({ role: `member ${member + 1}`, round: roundName(round) });
  const ballot = await Promise.all(
    members.map((endpoint, member) => {
      const content = prompts.render('member', { ...partsOf(debate), who: by(member).role });
      const speaker = { ...by(member), as: 'Vote' } as const;
      // In a dry run the votes keep changing, which costs the most.
      return orUnreadable(askForSide({ speaker, session, endpoint, content, question, dryRunSide: member + round }));
    }),
  );
  for (const [member, vote] of ballot.entries()) {
    const isAbstention = vote instanceof MalformedAnswerError;
    if (isAbstention) session.unreadableParts++;
    discussion.push(isAbstention ? { ...by(member), text: '(abstains)' } : vote.entry);
  }
  return ballot;
}

/** Line 16: the majority. The chairperson decides between sides that lead together. */
async function majority(debate: Discussion, ballot: Ballot): Promise<DebateOutcome> {
  const { question, session, prompts, members, chairperson, discussion } = debate;
  const names = question.sides.map(({ name }) => name);
  const votes = votesOf(ballot);
  const shares = sampledProbabilities({ labels: names, answers: votes });
  if (shares === null) {
    const abstentions = ballot.filter((vote) => vote instanceof MalformedAnswerError);
    throw new MalformedAnswerError(
      `debate-council: none of the ${members.length} members gave a vote that could be read; the last one: ${abstentions.at(-1)?.message}`,
      { answers: abstentions.flatMap(({ answers }) => answers) },
    );
  }
  const counted = votesInWords(votes, names);
  const most = Math.max(...names.map((name) => countOf(votes, name)));
  const leading = question.sides.filter(({ name }) => countOf(votes, name) === most);
  const [winner, tied] = leading;
  if (tied === undefined) {
    const [first] = ballot.flatMap((vote) => ('verdict' in vote && vote.verdict === winner.name ? [vote] : []));
    return { verdict: winner.name, explanation: `${counted}. ${first.explanation}`, shares, transcript: discussion };
  }
  const between = { ...question, sides: leading };
  const content = prompts.render('castingVote', { ...partsOf(debate), asked: sidesInWords(between), votes: counted });
  const speaker = { role: 'chairperson', round: 'Decision', as: 'Decision' } as const;
  const { entry, ...decision } = await askForSide({
    ...{ speaker, session, endpoint: chairperson, content, question: between },
  });
  return { ...decision, shares, transcript: [...discussion, entry] };
}

function votesOf(ballot: Ballot): Votes {
  return ballot.map((vote) => ('verdict' in vote ? vote.verdict : null));
}

function countOf(votes: Votes, name: string): number {
  return votes.filter((vote) => vote === name).length;
}

function votesInWords(votes: Votes, names: readonly string[]): string {
  const abstentions = votes.filter((vote) => vote === null).length;
  const counts = names.map((name) => `${name} ${countOf(votes, name)}`).join(', ');
  return abstentions === 0 ? counts : `${counts}, ${abstentions} abstained`;
}
