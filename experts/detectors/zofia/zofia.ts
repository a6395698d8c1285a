import type { Prefix } from '../../../src/data/thread.ts';
import { type AskPart, partAsker, sharedAsker } from '../../asking/shared-questions.ts';
import type { Detector, Judgement, TranscriptEntry } from '../../detector.ts';
import type { ChatMessage } from '../../llm/chat.ts';
import { DryRunChatService } from '../../llm/cost/dry-run-chat-service.ts';
import { answerRelevantOptions, type Endpoint } from '../../llm/endpoint.ts';
import { dialogueOf, quotedEvidence, quotedPosts } from '../../llm/prompt-text.ts';
import { createRetrieval, type EvidenceServices } from '../../retrieval/retrieval.ts';
import { judgementLabels } from '../../tasks/task-file.ts';
import { askForSide, type DebateVerdict } from '../debate/debate-question.ts';
import type { DetectorSettings } from '../detector-settings.ts';
import { endpointsByRole, speakerOptions } from '../models-by-role.ts';
import { loadPrompts, type Prompts } from '../prompt-templates.ts';
import { countsIn, inSession, type JudgementSession, speak } from '../session.ts';
import {
  type Analysis,
  type AnalystInput,
  type AnalystSettings,
  expert,
  type Finding,
  linguist,
  listOf,
  pretended,
  round,
  wikipediaAsFound,
} from './analysts.ts';
import { claimVerification, webAsFound } from './claims.ts';
import { bothSides, sidesOf, type ZofiaOptions, type ZofiaSide, zofiaInputOf } from './options.ts';

/*
 * ZoFia: entity-guided retrieval, then analysts who do not hear each other, then a debate (Algorithm 1).
 *
 *   T      the news, here the first post                 K        keywords of T (§3.1–3.3, experts/retrieval)
 *   I_web  what the web says about K (Eq. 6)             I_wiki   what Wikipedia says about each of K (Eq. 7)
 *   q      a claim that T makes (Eq. 8)                  C_rel(q) passages of I_web relevant to q (Eq. 9)
 *   E      everything that the analysts found            H        the debate so far
 *
 * §4.1 is in analysts.ts and claims.ts.
 *
 * Differences from the paper:
 *   - Real and fake are two labels of the task (`sides`), so that it can also be asked about rumours.
 *   - The paper has no replies. Here the analysts read only the first post, once per thread, and later posts reach the
 *     debaters and the judge as reactions.
 *   - A debater sees its own earlier arguments as its own turns, so it can tell what is new. Algorithm 1 mentions only
 *     the opponent's last argument.
 *   - The judge reads T as well as H. Without debate it decides once, from E.
 *   - A claim without any relevant passage has "not enough information", without a query: the verifier may use only
 *     C_rel(q).
 *   - A quotation that occurs in no passage is dropped, and a note says so; the paper only asks the model to quote.
 *   - If an analyst is switched off, its input becomes part of E. The paper does not specify this, but in its Table 2 the
 *     system without claim verification does better than the one without the web.
 *   - Besides the paper's three fact checkers, 26 more and many news sites and encyclopedias are excluded, because they
 *     publish the verdicts or copies of the report. The paper excludes news without a list.
 *   - Results of the web without a date are dropped, because they may be later than the cut-off.
 *   - By default, patterns name entities and hashed n-grams compare texts, so that nothing is downloaded. The paper's model
 *     is dslim/bert-base-NER (`entities: { method: model }`), and its encoder all-MiniLM-L6-v2.
 *   - Eq. 2 is the mean over an entity's word pieces, without pieces inside a word that have another label.
 *   - Eq. 3 counts a name once, at its most salient place (experts/retrieval/keywords.ts).
 *   - Eq. 7 chooses among the entries of a keyword. Here they are the five best hits of the full-text search, and the first
 *     sentence of each replaces the keyword (experts/retrieval/wikipedia.ts).
 *   - The expert names the label that its findings support, as the linguist does; §4.1.2 does not ask for that.
 *   - Wikipedia is read as of the last day, also to distinguish the senses of a keyword. The candidate articles and their
 *     order come from today's search, because older states cannot be searched.
 *   - Our extraction of the paper lost the prompts (Appendix B); these are based on §4.
 */

export async function createZofia(settings: DetectorSettings<ZofiaOptions> & EvidenceServices): Promise<Detector> {
  const { options, task, service, askOnce, env, retry, random, signal } = settings;
  const { use, maxRounds, insufficientLabel } = options;
  const prompts = loadPrompts({ detector: 'zofia', path: options.prompts });
  const sides = sidesOf({ options, task });
  const { models, temperature } = options;
  const endpointFor = endpointsByRole({ models, byDefault: 'judge', endpoints: options.endpoints, temperature });
  const retrieval = await createRetrieval({
    options: options.retrieval,
    use: { web: use.web, wikipedia: use.wikipedia, passages: use.web && use.claims },
    model: { service, endpoint: endpointFor('recognizer'), options: answerRelevantOptions(endpointFor('recognizer')) },
    dryRun: service instanceof DryRunChatService ? service.bound : undefined,
    env,
    retry,
    random,
    signal,
  });
  const analysts: AnalystSettings = { prompts, options, endpointFor, service, sides, retrieval };
  const askPart = partAsker(askOnce);

  const extracts = use.claims || (use.web && options.retrieval.query === 'core-claim');
  return {
    name: 'zofia',
    // 5: the judge's decision is a field of a JSON schema or a last line that is the decision alone.
    version: '5',
    // Options of parts that an ablation switches off cannot change a judgement, so they are left out.
    options: {
      task,
      promptVersion: prompts.version,
      use,
      // No longer settings. They stay in the key, so that stored judgements keep theirs.
      analyses: 'claim',
      ...(use.claims && { maxSubclaims: null }),
      sides: { real: sides.real.name, fake: sides.fake.name },
      insufficientLabel,
      judge: speakerOptions(endpointFor('judge')),
      ...(use.linguist && { linguist: speakerOptions(endpointFor('linguist')) }),
      ...(use.expert && { expert: speakerOptions(endpointFor('expert')) }),
      ...(extracts && { extractor: speakerOptions(endpointFor('extractor')) }),
      ...(use.claims && use.web && { verifier: speakerOptions(endpointFor('verifier')) }),
      ...(use.debate && {
        maxRounds,
        pro: speakerOptions(endpointFor('pro')),
        con: speakerOptions(endpointFor('con')),
      }),
      retrieval: retrieval.options,
    },
    labels: judgementLabels(task),
    mayAbstain: insufficientLabel === null,
    inputOf: zofiaInputOf(options),
    judge: (prefix, context) =>
      inSession({ service, context }, (session) => judge(prefix, { analysts, askPart, session })),
  };
}

async function judge(
  prefix: Prefix,
  { analysts, askPart, session }: { analysts: AnalystSettings; askPart: AskPart; session: JudgementSession },
): Promise<Judgement> {
  const [claim, ...reactions] = prefix.posts;
  const { insufficientLabel } = analysts.options;
  const askShared = sharedAsker({
    askPart,
    // The analysts read only the first post, so the store should not name a later one.
    place: { threadId: prefix.threadId, prefixLength: 1 },
    counts: session,
  });
  const { transcript, findings } = await analyse(analysts, { claim, askShared });

  // E
  const text = [
    quotedEvidence('The text', [claim.text]),
    ...(reactions.length > 0 ? [quotedPosts('Reactions to it so far', reactions)] : []),
  ].join('\n\n');
  const found = findings.map((finding) => finding.inPrompt ?? dialogueOf([finding])).join('\n\n');
  const pool = findings.length === 0 ? text : `${text}\n\nWhat the analysts found:\n${found}`;

  const { verdict, explanation, spoken } = await decide(analysts, { text, pool, session });
  return {
    label: verdict === insufficient ? insufficientLabel : verdict,
    probabilities: null,
    explanation: verdict === insufficient ? `insufficient evidence: ${explanation}` : explanation,
    transcript: [...transcript, ...spoken],
    ...countsIn(session),
  };
}

/** Stage 1 and LLM collaboration. Each analysis retrieves its own evidence, and all analyses run at the same time. */
async function analyse(settings: AnalystSettings, input: AnalystInput) {
  const { use } = settings.options;
  const analyses = await Promise.all([
    use.linguist ? linguist(settings, input) : nothing,
    use.expert ? expert(settings, input) : wikipediaAsFound(settings, input),
    use.claims ? claimVerification(settings, input) : webAsFound(settings, input),
  ]);
  const keywords = await settings.retrieval.keywordsOf(input);
  const transcript: TranscriptEntry[] = [
    ...(keywords === null ? [] : [{ role: 'keywords', round, text: listOf(keywords.map(({ text }) => text)) }]),
    ...analyses
      .flatMap(({ material, findings }): readonly Finding[] => [...material, ...findings])
      .map(({ inPrompt: _, ...entry }) => entry),
  ];
  return { transcript, findings: analyses.flatMap(({ findings }) => findings) };
}

/** Algorithm 1; without debate, one decision from E. */
async function decide(
  { options, prompts, sides, endpointFor }: AnalystSettings,
  { text, pool, session }: { text: string; pool: string; session: JudgementSession },
): Promise<DebateVerdict & { readonly spoken: readonly TranscriptEntry[] }> {
  /** Judge.Assess: for the name of a side, or `insufficient`. */
  const judge = (material: string, round: string) =>
    askForSide({
      speaker: { role: 'judge', round, as: 'Decision' },
      session,
      endpoint: endpointFor('judge'),
      content: prompts.render('judge', { material, sides: bothSides(sides) }),
      question: { sides: [sides.real, sides.fake, { name: insufficient }] },
      // The most expensive answer, so that a dry run does not promise less than the bill.
      dryRunSide: 2,
      dryRunReason: pretended,
    });
  if (!options.use.debate) {
    const { entry, ...D } = await judge(pool, 'Decision');
    return { ...D, spoken: [entry] };
  }
  const { real, fake } = sides;
  const M_pro = createDebater({ prompts, side: real, other: fake, pool, endpoint: endpointFor('pro'), session });
  const M_con = createDebater({ prompts, side: fake, other: real, pool, endpoint: endpointFor('con'), session });
  const spoken: TranscriptEntry[] = [];
  const H: TranscriptEntry[] = [];
  let A_con: string | null = null;
  for (let number = 1; ; number++) {
    const round = `Round ${number}`;
    const pro = await M_pro.generateArgument({ opponent: A_con, role: 'pro', round });
    const con = await M_con.generateArgument({ opponent: pro.text, role: 'con', round });
    A_con = con.text;
    H.push({ role: `for ${real.name}, round ${number}`, text: pro.text });
    H.push({ role: `for ${fake.name}, round ${number}`, text: con.text });
    const { entry, ...D } = await judge(`${text}\n\nThe debate:\n${dialogueOf(H)}`, round);
    spoken.push(pro, con, entry);
    // Appendix B.6: a judge who still cannot decide after the last round found the evidence insufficient.
    if (D.verdict !== insufficient || number === options.maxRounds) return { ...D, spoken };
  }
}

/** The judge's answer when neither side is convincing. */
const insufficient = 'insufficient';

/** M_pro or M_con. Each has its own conversation, which grows with every turn: it rebuts the opponent and adds an argument. */
function createDebater(settings: {
  prompts: Prompts;
  side: ZofiaSide;
  other: ZofiaSide;
  pool: string;
  endpoint: Endpoint;
  session: JudgementSession;
}) {
  const { prompts, side, other, pool, endpoint, session } = settings;
  const named = ({ name, meaning }: ZofiaSide) => `${name} (${meaning})`;
  const briefing = prompts.render('debater', { side: named(side), other: named(other), pool });
  const messages: ChatMessage[] = [];
  return {
    async generateArgument({ opponent, ...speaker }: { opponent: string | null; role: string; round: string }) {
      const content = opponent === null ? prompts.render('opening') : prompts.render('turn', { opponent });
      // The evidence and the first turn are one message, because some endpoints require the roles to alternate.
      messages.push({ role: 'user', content: messages.length === 0 ? `${briefing}\n\n${content}` : content });
      const argument = await speak({ ...speaker, session, endpoint, messages: [...messages] });
      messages.push({ role: 'assistant', content: argument.text });
      return argument;
    },
  };
}

const nothing: Analysis = { material: [], findings: [] };
