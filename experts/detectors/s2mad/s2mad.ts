import { z } from 'zod';
import type { Prefix } from '../../../src/data/thread.ts';
import { InputError } from '../../../src/errors.ts';
import { Random } from '../../../src/tensor/random.ts';
import type { KeptParts } from '../../annotations/kept-calls.ts';
import type { Detector, Judgement } from '../../detector.ts';
import { askWithRepair } from '../../llm/answers/ask-with-repair.ts';
import { type ChatAnswer, type ChatMessage, type ChatService, whyIncomplete } from '../../llm/chat.ts';
import type { Endpoint } from '../../llm/endpoint.ts';
import { oneLine, quotedEvidence, quotedPosts, type TranscriptEntry } from '../../llm/prompt-text.ts';
import { type JudgingTask, judgementLabels } from '../../tasks/task-file.ts';
import { answerNames, concludingAnswer } from '../answers.ts';
import { endpointsByRole, endpointsSchema, modelSchema, speakerOptions } from '../models-by-role.ts';
import { loadPrompts, promptsSchema } from '../prompt-templates.ts';
import { countsIn, inSession, type Session, speechRequest, spoken } from '../session.ts';
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
 *   - A score depends only on the claim and the comment, and subjectivity only on the claim, so each is asked once a
 *     thread, not once a prefix (comments-and-claim.ts). A score that cannot be read even after one repair counts as 0.
 *   - Eq. 1 scores below 0 whatever does not support the claim, so a neutral comment counts as opposition. The prompt
 *     `scale-oppose` says so to the scorer.
 *   - The comments of P and N are shown in order of time, which the paper leaves open. Of equal scores the earlier
 *     comment is taken.
 *   - A debater sees its own earlier opinions as its own turns of one conversation: p_d says "the opinion of yourself",
 *     while Eq. 4 mentions only the other's.
 *   - Opinions are read strictly, by their last line. One without a label agrees with nothing, so the judge is asked. The
 *     judge, or an agent that decides alone, is asked once more where its last line is no label.
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
  seed: z.int().default(1).describe('draws the comments if stances are not separated'),
});
export type S2madOptions = z.infer<typeof s2madOptionsSchema>;

export function createS2mad(settings: {
  options: S2madOptions;
  task: JudgingTask;
  service: ChatService;
  /**
   * Keeps scores and subjectivity beyond this process. They are then annotations of their own, and judgements count
   * them as parts.
   */
  keptParts?: KeptParts | undefined;
}): Detector {
  const { options, task, service, keptParts } = settings;
  const { topComments, rounds, stanceSeparation, claimPrompt, debate, seed } = options;
  const prompts = loadPrompts({ detector: 's2mad', path: options.prompts });
  const labels = task.labels;
  if (labels === undefined)
    throw new InputError(
      `s2mad debates whether a claim is one label or another; the task ${task.name} has categories, which debate-single, debate-team, debate-council and single-prompt can judge`,
    );
  const endpoints = rolesOf(options);
  const names = labels.map(({ name }) => name);
  // Without Yes and No: otherwise "no evidence" in a last line would name a label.
  const words = Object.fromEntries(
    labels.map(({ name, answers }) => [name, [name, ...answers.filter((answer) => !/^(?:yes|no)$/i.test(answer))]]),
  );
  const choice = `End with the answer alone on the last line, one of: ${names.join(', ')}.`;
  const meanings = labels.map(({ name, description }) => `- ${name}: ${description}`).join('\n');
  const ending = `${task.question}\n${meanings}\n${choice}`;
  const scoreOf = createCommentScorer({
    prompts,
    service,
    keptParts,
    endpoint: endpoints.scorer,
  });
  const isSubjective = createSubjectivityClassifier({ prompts, service, keptParts, endpoint: endpoints.classifier });

  /** What was cut off or refused concludes with nothing. */
  const conclusionOf = (opinion: ChatAnswer) =>
    whyIncomplete(opinion) === null ? concludingAnswer({ text: opinion.text, words }) : null;

  async function judge(prefix: Prefix, session: Session): Promise<Judgement> {
    const [claim, ...texts] = prefix.posts.map(({ text }) => oneLine(text));
    const comments = texts.map((text, index) => ({ index: index + 1, text }));
    const { threadId } = prefix;
    const transcript: TranscriptEntry[] = [];
    const say = (role: string, text: string) => transcript.push({ role, text });
    const speaking = (endpoint: Endpoint, messages: readonly ChatMessage[], dryRunLabel: number) =>
      spoken({ session, endpoint, messages, dryRunText: names[dryRunLabel], shortestDryRunText: names[0] });
    const decided = (label: string, explanation: string): Judgement => {
      return { label, probabilities: null, explanation, transcript, ...countsIn(session) };
    };
    /** Asks for a decision, which must end with a label. */
    const decisionOf = async (role: string, endpoint: Endpoint, content: string) => {
      const { value, answers } = await askWithRepair({
        service: session.service,
        request: speechRequest({ endpoint, messages: [{ role: 'user', content }], dryRunText: names[0] }),
        read: ({ text }) => {
          const label = concludingAnswer({ text, words });
          return label === null ? { problem: `its last line is none of: ${names.join(', ')}.` } : { value: label };
        },
        instruction: choice,
        wanted: `a text that ends with ${answerNames(words)}`,
      });
      for (const { text } of answers) say(role, text.trim());
      return decided(value, answers[answers.length - 1].text.trim());
    };

    // Lines 3–9: stance separation, and the claim's subjectivity.
    const [scored, subjective] = await Promise.all([
      stanceSeparation ? Promise.all(comments.map((comment) => scoreOf({ claim, comment, threadId, session }))) : null,
      claimPrompt === 'by-subjectivity' ? isSubjective({ claim, threadId, session }) : claimPrompt === 'subjective',
    ]);
    const sides =
      scored === null ? dealtOut({ comments, claim, topComments, seed }) : separated({ comments, scored, topComments });
    if (scored !== null)
      say('scorer', comments.map(({ index }) => `${index + 1}: ${scored[index - 1] ?? 'unreadable'}`).join('\n'));
    if (claimPrompt === 'by-subjectivity') say('classifier', subjective ? 'subjective' : 'not subjective');

    // Lines 10–11: initial opinions.
    const opening = (...shown: string[]): ChatMessage[] => [
      {
        role: 'user',
        content: prompts.render('opinion', {
          guide: prompts.render(subjective ? 'guide-subjective' : 'guide-objective'),
          claim: quotedEvidence('Claim', [claim]),
          comments: shown.join('\n'),
          ending,
        }),
      },
    ];
    const [support, oppose] = stanceSeparation
      ? [commentList('Supporting comments', sides.support), commentList('Opposing comments', sides.oppose)]
      : [commentList('Comments', sides.support), commentList('Comments', sides.oppose)];
    if (!debate) {
      const all = commentList('Comments', inTimeOrder([...sides.support, ...sides.oppose]));
      const [{ content }] = stanceSeparation ? opening(support, oppose) : opening(all);
      return decisionOf('supporter', endpoints.supporter, content);
    }
    const supporter = opening(support);
    const opposer = opening(oppose);
    const bothSpeak = async () => {
      const [h_p, h_n] = await Promise.all([
        speaking(endpoints.supporter, supporter, 0),
        speaking(endpoints.opposer, opposer, 1),
      ]);
      supporter.push({ role: 'assistant', content: h_p.text });
      opposer.push({ role: 'assistant', content: h_n.text });
      say('supporter', h_p.text);
      say('opposer', h_n.text);
      return { h_p, h_n };
    };
    let { h_p, h_n } = await bothSpeak();

    // Lines 13–16: each responds to what the other said in the round before.
    for (let round = 1; round <= rounds; round++) {
      supporter.push({ role: 'user', content: prompts.render('debate', { other: h_n.text, options: choice }) });
      opposer.push({ role: 'user', content: prompts.render('debate', { other: h_p.text, options: choice }) });
      ({ h_p, h_n } = await bothSpeak());
    }

    // Lines 17–21: agreement, or the judge.
    const agreed = conclusionOf(h_p);
    if (agreed !== null && agreed === conclusionOf(h_n)) return decided(agreed, h_p.text);
    const opinions = { h_p: h_p.text, h_n: h_n.text };
    const content = prompts.render('judge', { claim: quotedEvidence('Claim', [claim]), ...opinions, ending });
    return decisionOf('judge', endpoints.judge, content);
  }

  return {
    name: 's2mad',
    // 2: a label is read from a last line that holds nothing else; before, "I doubt that it is a rumor" was a rumor.
    version: '2',
    // Options of parts that an ablation switches off cannot change a judgement, so they are left out.
    options: {
      task,
      promptVersion: prompts.version,
      topComments,
      stanceSeparation,
      claimPrompt,
      debate,
      supporter: speakerOptions(endpoints.supporter),
      ...(stanceSeparation ? { scorer: speakerOptions(endpoints.scorer), neutralComments } : { seed }),
      ...(claimPrompt === 'by-subjectivity' && { classifier: speakerOptions(endpoints.classifier) }),
      ...(debate && {
        rounds,
        opposer: speakerOptions(endpoints.opposer),
        judge: speakerOptions(endpoints.judge),
      }),
    },
    labels: judgementLabels(task),
    judge: (prefix, context) => inSession({ service, context }, (session) => judge(prefix, session)),
  };
}

/** The endpoint of each role, all at the same temperature. */
function rolesOf({ models, endpoints, temperature }: S2madOptions) {
  const of = endpointsByRole({ models, byDefault: models.supporter, endpoints, temperature });
  return {
    supporter: of('supporter'),
    opposer: of('opposer'),
    scorer: of('scorer'),
    classifier: of('classifier'),
    judge: of('judge'),
  };
}

interface Sides {
  readonly support: readonly Comment[];
  readonly oppose: readonly Comment[];
}

/** P and N (Eq. 2). Comments with score 0, or without a score, are on neither side. */
function separated(options: {
  comments: readonly Comment[];
  scored: readonly (number | null)[];
  topComments: number;
}): Sides {
  const { comments, scored, topComments } = options;
  const top = (sign: 1 | -1) => {
    const strength = (comment: Comment) => sign * (scored[comment.index - 1] ?? 0);
    const own = comments.filter((comment) => strength(comment) > 0);
    return inTimeOrder(own.sort((one, other) => strength(other) - strength(one)).slice(0, topComments));
  };
  return { support: top(1), oppose: top(-1) };
}

/**
 * Draws up to 2k comments at random and deals them out in turn. Each comment has its own random number, which does
 * not depend on later ones.
 */
function dealtOut(options: { comments: readonly Comment[]; claim: string; topComments: number; seed: number }): Sides {
  const { comments, claim, topComments, seed } = options;
  const random = Random.seeded({ seed, purpose: `comments on ${claim}` });
  const drawn = comments
    .map((comment) => ({ comment, draw: random.uniform() }))
    .sort((one, other) => one.draw - other.draw)
    .slice(0, 2 * topComments)
    .map(({ comment }) => comment);
  const every = (parity: number) => inTimeOrder(drawn.filter((_, place) => place % 2 === parity));
  return { support: every(0), oppose: every(1) };
}

function inTimeOrder(comments: readonly Comment[]): Comment[] {
  return comments.toSorted((one, other) => one.index - other.index);
}

function commentList(heading: string, comments: readonly Comment[]): string {
  return quotedPosts(heading, comments);
}
