import { z } from 'zod';
import type { Prefix } from '../../../src/data/thread.ts';
import { InputError } from '../../../src/errors.ts';
import { seedSchema } from '../../../src/seed.ts';
import type { Detector, Judgement, TranscriptEntry, Usage } from '../../detector.ts';
import { namesAsWords } from '../../llm/answers/answer-words.ts';
import { askVerdict, lastLineAsked, type VerdictForm, verdictInWords } from '../../llm/answers/verdict.ts';
import { addedUsage, type ChatAnswer, type ChatMessage, type ChatService } from '../../llm/chat.ts';
import type { Endpoint } from '../../llm/endpoint.ts';
import { MalformedAnswerError, orUnreadable } from '../../llm/failures.ts';
import { promptLine, quotedEvidence, quotedPosts } from '../../llm/prompt-text.ts';
import { type JudgingTask, judgementLabels } from '../../tasks/task-file.ts';
import type { DetectorSettings } from '../detector-settings.ts';
import { drawnComments } from '../drawn-comments.ts';
import { endpointsByRole, endpointsSchema, modelSchema, speakerOptions } from '../models-by-role.ts';
import { loadPrompts, type Prompts, promptsSchema } from '../prompt-templates.ts';
import { countsIn, inSession, type JudgementSession, speechRequest, transcriptEntry } from '../session.ts';
import {
  type Comment,
  createCommentScorer,
  createSubjectivityClassifier,
  neutralComments,
} from './comments-and-claim.ts';

/*
 * S2MAD, stance-separated multi-agent debate (Algorithm 1).
 *
 *   c        the claim, the first post                    x_i   a comment, any later post
 *   s_i      how far x_i supports c, in [−1, 1] (Eq. 1)   P, N  the k most supporting, the k most opposing (Eq. 2)
 *   h_p^j    what debater p says in round j; 0 is the initial opinion (Eq. 3); h_n^j the other's (Eq. 4)
 *   M        rounds                                       J     the judge, asked where h_p^M ≠ h_n^M (Eq. 5)
 *
 * Differences from the paper:
 *   - "Fake" and "Real" are the labels of the task, so that it can also be asked about rumours or four classes.
 *   - A score depends only on the claim and the comment, and subjectivity only on the claim, so each is asked once per
 *     thread, not per prefix (comments-and-claim.ts). A score that cannot be read even after one repair counts as 0.
 *   - Eq. 1 scores every comment that does not support the claim below 0, so a neutral one counts as opposition. The
 *     prompt `scale-oppose` tells the scorer so.
 *   - The comments of P and N are shown in order of time, which the paper leaves open. Among equal scores the earlier
 *     comment wins.
 *   - A debater sees its own earlier opinions as its own turns of one conversation: p_d says "the opinion of yourself",
 *     while Eq. 4 mentions only the other's.
 *   - An opinion ends with its label: the last field if the endpoint takes a JSON schema, otherwise the last line. One
 *     without a label is asked for once more, as the label alone. An opinion that still has none agrees with nothing, so
 *     the judge decides; a decision without a label fails.
 *   - Without stance separation, up to 2k comments are drawn and dealt out in turn. Each comment's random number is
 *     independent of later comments.
 */

export const s2madOptionsSchema = z.strictObject({
  name: z.literal('s2mad').describe('comments separated by stance, two debaters, a judge (S2MAD)'),
  endpoints: endpointsSchema,
  prompts: promptsSchema,
  models: z
    .strictObject({
      supporter: modelSchema.describe(
        'debater who reads the supporting comments; plays every role that is not given, too',
      ),
      opposer: modelSchema.optional().describe('debater who reads the opposing comments'),
      scorer: modelSchema.optional().describe('scores comments'),
      classifier: modelSchema.optional().describe('distinguishes subjective claims from others'),
      judge: modelSchema.optional().describe('decides where the debaters differ'),
    })
    .describe('an endpoint, or the name of one, for each role'),
  topComments: z.int().min(1).default(20).describe('k: most comments of each side that its debater reads'),
  rounds: z.int().min(0).max(20).default(2).describe('M: rounds of debate after the initial opinions'),
  temperature: z
    .number()
    .min(0)
    .max(2)
    .nullable()
    .default(0.2)
    .describe("temperature of every call, instead of the endpoints' own; null: not sent"),
  stanceSeparation: z
    .boolean()
    .default(true)
    .describe('ablation: without it no comment is scored, and random ones are dealt out to the debaters'),
  claimPrompt: z
    .enum(['by-subjectivity', 'subjective', 'objective'])
    .default('by-subjectivity')
    .describe('ablation: all claims get the same prompt instead of the one that fits them'),
  debate: z.boolean().default(true).describe('ablation: without it one agent reads all comments and decides alone'),
  seed: seedSchema.default(1).describe('draws the comments if stances are not separated'),
});
type S2madOptions = z.infer<typeof s2madOptionsSchema>;

export function createS2mad({ options, task, service, askOnce }: DetectorSettings<S2madOptions>): Detector {
  const { models, temperature, topComments, rounds, stanceSeparation, claimPrompt, debate, seed } = options;
  const prompts = loadPrompts({ detector: 's2mad', path: options.prompts });
  const endpointFor = endpointsByRole({ models, byDefault: 'supporter', endpoints: options.endpoints, temperature });
  const shared = { prompts, service, askOnce };
  const debating: Debating = {
    options,
    prompts,
    endpointFor,
    ...questionOf(task),
    scoreOf: createCommentScorer({ ...shared, endpoint: endpointFor('scorer') }),
    isSubjective: createSubjectivityClassifier({ ...shared, endpoint: endpointFor('classifier') }),
  };
  return {
    name: 's2mad',
    // 4: a label is a field of its own, or the last line alone; an opinion without one is asked for again.
    version: '4',
    // Options of parts that an ablation switches off cannot change a judgement, so they are left out.
    options: {
      task,
      promptVersion: prompts.version,
      topComments,
      stanceSeparation,
      claimPrompt,
      debate,
      supporter: speakerOptions(endpointFor('supporter')),
      ...(stanceSeparation ? { scorer: speakerOptions(endpointFor('scorer')), neutralComments } : { seed }),
      ...(claimPrompt === 'by-subjectivity' && { classifier: speakerOptions(endpointFor('classifier')) }),
      ...(debate && {
        rounds,
        opposer: speakerOptions(endpointFor('opposer')),
        judge: speakerOptions(endpointFor('judge')),
      }),
    },
    labels: judgementLabels(task),
    judge: (prefix, context) => inSession({ service, context }, (session) => judge(prefix, { ...debating, session })),
  };
}

/** The settings that all judgements share. */
interface Debating {
  readonly options: S2madOptions;
  readonly prompts: Prompts;
  /** The endpoint of a role. */
  readonly endpointFor: (role: keyof S2madOptions['models']) => Endpoint;
  readonly form: VerdictForm;
  /** The request for a label at the end of an opinion. */
  readonly choice: string;
  /** The end of a prompt: the question, the meaning of the labels, and the choice. */
  readonly ending: string;
  readonly scoreOf: ReturnType<typeof createCommentScorer>;
  readonly isSubjective: ReturnType<typeof createSubjectivityClassifier>;
}

type S2madDebate = Debating & { readonly session: JudgementSession };

function questionOf({ name, question, labels }: JudgingTask): Pick<Debating, 'form' | 'choice' | 'ending'> {
  if (labels === undefined)
    throw new InputError(
      `s2mad debates whether a claim is one label or another; the task ${name} has categories, which debate-single, debate-team, debate-council and single-prompt can judge`,
    );
  const words = namesAsWords(labels.map((label) => label.name));
  const choice = lastLineAsked(words);
  const meanings = labels.map((label) => `- ${label.name}: ${label.description}`).join('\n');
  return { form: { words, reasons: true }, choice, ending: `${question}\n${meanings}\n${choice}` };
}

/** Algorithm 1. */
async function judge(prefix: Prefix, debate: S2madDebate): Promise<Judgement> {
  const { options, prompts, endpointFor, ending, choice, session } = debate;
  const [claim, ...comments] = prefix.posts.map(({ text }, index) => ({ index, text: promptLine(text) }));
  const { threadId } = prefix;

  // Lines 3–9: stance separation, and the claim's subjectivity.
  const [sides, guidance] = await Promise.all([
    sidesOf({ claim, comments, threadId }, debate),
    guidanceOn({ claim, threadId }, debate),
  ]);
  const transcript: TranscriptEntry[] = [...sides.entries, ...guidance.entries];
  const decided = ({ label, explanation }: Pick<Judgement, 'label' | 'explanation'>): Judgement => {
    return { label, probabilities: null, explanation, transcript, ...countsIn(session) };
  };

  // Lines 10–11: initial opinions.
  const quotedClaim = quotedEvidence('Claim', [claim.text]);
  const opening = (comments: string) =>
    prompts.render('opinion', { guide: guidance.guide, claim: quotedClaim, comments, ending });
  const headings = options.stanceSeparation ? ['Supporting comments', 'Opposing comments'] : ['Comments', 'Comments'];
  const support = quotedPosts(headings[0], sides.support);
  const oppose = quotedPosts(headings[1], sides.oppose);
  if (!options.debate) {
    const all = quotedPosts('Comments', inTimeOrder([...sides.support, ...sides.oppose]));
    const content = opening(options.stanceSeparation ? `${support}\n${oppose}` : all);
    return decided(await decision({ role: 'supporter', content, transcript }, debate));
  }
  const supporter = createDebater({ endpoint: endpointFor('supporter'), side: 0 }, debate);
  const opposer = createDebater({ endpoint: endpointFor('opposer'), side: 1 }, debate);
  const bothSpeak = async (round: string, prompts: { readonly p: string; readonly n: string }) => {
    const [p, n] = await Promise.all([supporter(prompts.p), opposer(prompts.n)]);
    const entry = (role: 'supporter' | 'opposer', { text, label: vote, answers }: Opinion) =>
      transcriptEntry({ role, round, text, vote, endpoint: endpointFor(role), answers });
    transcript.push(entry('supporter', p), entry('opposer', n));
    return { p, n };
  };
  let h = await bothSpeak('Initial opinions', { p: opening(support), n: opening(oppose) });

  // Lines 13–16: each responds to the other's statement of the round before.
  const respond = (other: Opinion) => prompts.render('debate', { other: other.text, options: choice });
  for (let round = 1; round <= options.rounds; round++)
    h = await bothSpeak(`Round ${round}`, { p: respond(h.n), n: respond(h.p) });

  // Lines 17–21: agreement, or the judge.
  if (h.p.label !== null && h.p.label === h.n.label) return decided({ label: h.p.label, explanation: h.p.text });
  const content = prompts.render('judge', { claim: quotedClaim, h_p: h.p.text, h_n: h.n.text, ending });
  return decided(await decision({ role: 'judge', content, transcript }, debate));
}

/** The comments that each debater reads. */
interface CommentSides {
  readonly support: readonly Comment[];
  readonly oppose: readonly Comment[];
  readonly entries: readonly TranscriptEntry[];
}

/** P and N (Eq. 2). Without stance separation, up to 2k comments are drawn at random and dealt out in turn. */
async function sidesOf(
  { claim, comments, threadId }: { claim: Comment; comments: readonly Comment[]; threadId: string },
  { options, endpointFor, scoreOf, session }: S2madDebate,
): Promise<CommentSides> {
  const { topComments, stanceSeparation, seed } = options;
  if (!stanceSeparation) {
    const drawn = drawnComments({ comments, claim: claim.text, most: 2 * topComments, seed });
    const every = (parity: number) => inTimeOrder(drawn.filter((_, place) => place % 2 === parity));
    return { support: every(0), oppose: every(1), entries: [] };
  }
  const scored = await Promise.all(
    comments.map((comment) => scoreOf({ claim: claim.text, comment, threadId, session })),
  );
  const scores = scored.map((each) => each?.value.score ?? null);
  // Comments with score 0 or without a score are on neither side.
  const top = (sign: 1 | -1) => {
    const strength = (comment: Comment) => sign * (scores[comment.index - 1] ?? 0);
    const onSide = comments.filter((comment) => strength(comment) > 0);
    return inTimeOrder(onSide.sort((one, other) => strength(other) - strength(one)).slice(0, topComments));
  };
  const text = comments.map(({ index }) => `${index + 1}: ${scores[index - 1] ?? 'unreadable'}`).join('\n');
  const usages = scored.flatMap((each) => each?.usage ?? []);
  const scorer = sharedEntry({ role: 'scorer', text, endpoint: endpointFor('scorer'), usages });
  return { support: top(1), oppose: top(-1), entries: [scorer] };
}

function inTimeOrder(comments: readonly Comment[]): Comment[] {
  return comments.toSorted((one, other) => one.index - other.index);
}

/** Guidance for the debaters, which depends on whether the claim is an opinion. */
async function guidanceOn(
  { claim, threadId }: { claim: Comment; threadId: string },
  { options, prompts, endpointFor, isSubjective, session }: S2madDebate,
): Promise<{ guide: string; entries: TranscriptEntry[] }> {
  if (options.claimPrompt !== 'by-subjectivity')
    return { guide: prompts.render(`guide-${options.claimPrompt}`), entries: [] };
  const judgement = await isSubjective({ claim: claim.text, threadId, session });
  const isOpinion = judgement?.label === 'yes';
  const text = isOpinion ? 'subjective' : 'not subjective';
  const usages = judgement === null ? [] : [judgement.usage];
  return {
    guide: prompts.render(isOpinion ? 'guide-subjective' : 'guide-objective'),
    entries: [sharedEntry({ role: 'classifier', text, endpoint: endpointFor('classifier'), usages })],
  };
}

/** The transcript entry of parts that judgements share. */
function sharedEntry(of: {
  role: string;
  text: string;
  endpoint: Endpoint;
  usages: readonly Usage[];
}): TranscriptEntry {
  const { role, text, endpoint, usages } = of;
  const round = 'Claim and comments';
  return { role, round, text, model: endpoint.model, ...(usages.length > 0 && { usage: usages.reduce(addedUsage) }) };
}

interface Opinion {
  readonly text: string;
  /** Null if the opinion has no readable label. */
  readonly label: string | null;
  readonly answers: readonly ChatAnswer[];
}

/** A debater with its own conversation. */
function createDebater(
  { endpoint, side }: { endpoint: Endpoint; side: 0 | 1 },
  { session, form }: S2madDebate,
): (content: string) => Promise<Opinion> {
  const messages: ChatMessage[] = [];
  const names = Object.keys(form.words);
  return async (content) => {
    messages.push({ role: 'user', content });
    const answers: ChatAnswer[] = [];
    const chat: ChatService['chat'] = async (request) => {
      const answer = await session.service.chat(request);
      answers.push(answer);
      return answer;
    };
    const pretended = { dryRunText: names[side], shortestDryRunText: names[0] };
    const request = speechRequest({ endpoint, messages: [...messages], ...pretended });
    const verdict = await orUnreadable(askVerdict({ service: { chat }, request, ...form }));
    if (verdict instanceof MalformedAnswerError) session.unreadableParts++;
    const opinion =
      verdict instanceof MalformedAnswerError
        ? { text: answers[0]?.text.trim() || '(said nothing)', label: null, answers }
        : { text: verdictInWords({ ...form, ...verdict }), label: verdict.label, answers };
    messages.push({ role: 'assistant', content: opinion.text });
    return opinion;
  };
}

/** A decision by one agent, which must end with a label. */
async function decision(
  turn: { role: 'supporter' | 'judge'; content: string; transcript: TranscriptEntry[] },
  { endpointFor, session, form }: S2madDebate,
): Promise<Pick<Judgement, 'label' | 'explanation'>> {
  const { role, content, transcript } = turn;
  const endpoint = endpointFor(role);
  const messages = [{ role: 'user' as const, content }];
  const request = speechRequest({ endpoint, messages, dryRunText: Object.keys(form.words)[0] });
  const { label, reason, answers } = await askVerdict({ service: session.service, request, ...form });
  const explanation = verdictInWords({ ...form, label, reason });
  transcript.push(transcriptEntry({ role, round: 'Decision', text: explanation, vote: label, endpoint, answers }));
  return { label, explanation };
}
