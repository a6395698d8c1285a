import { z } from 'zod';
import type { Post, Prefix } from '../../src/data/thread.ts';
import type { Random } from '../../src/tensor/random.ts';
import type { Detector, Judgement } from '../detector.ts';
import { type JudgingTask, judgementLabels } from '../judging-task.ts';
import type { Environment } from '../llm/api-key.ts';
import { type ChatMessage, type ChatService, usageOf } from '../llm/chat.ts';
import { chatJson } from '../llm/chat-json.ts';
import { DryRunChatService } from '../llm/dry-run-chat-service.ts';
import type { Endpoint } from '../llm/endpoint.ts';
import { once, type RememberedCalls } from '../remembered-calls.ts';
import { type AskOnce, askOnceIn } from '../retrieval/ask-once.ts';
import { cutoffOf } from '../retrieval/cutoff.ts';
import type { Evidence } from '../retrieval/evidence.ts';
import { createRetrieval, type Keyword, retrievalSchema } from '../retrieval/retrieval.ts';
import { endpointOf, endpointsSchema, modelSchema, speakerOptions } from './models-by-role.ts';
import { numberedPosts } from './numbered-posts.ts';
import { checkedQuotation } from './quotation.ts';
import { inSession, type Session, speak } from './session.ts';
import { dialogueOf, type TranscriptEntry } from './transcript.ts';
import { insufficient, linguisticDimensions, PROMPT_VERSION, prompts } from './zofia-prompts.ts';
import { type Side, sidesOf } from './zofia-sides.ts';

/*
 * ZoFia: entity-guided retrieval, then analysts that do not hear one another, then a debate (Algorithm 1).
 *
 *   T      the news, here the first post                 K        keywords of T (§3.1–3.3, experts/retrieval)
 *   I_web  what the web says on K (Eq. 6)                I_wiki   what Wikipedia says on each of K (Eq. 7)
 *   q      a claim that T makes (Eq. 8)                  C_rel(q) passages of I_web that speak to q (Eq. 9)
 *   E      the pool of all that the analysts found       H        the debate so far
 *
 * Differences from the paper:
 *   - Real and fake are two labels of the task (`sides`), so that it can also be asked about rumours.
 *   - The paper knows no replies. The analysts read the first post alone and are asked once a thread; later posts reach
 *     the debaters and the judge as reactions. `analyses: prefix` lets the analysts read all posts instead.
 *   - A debater sees its own earlier arguments as its own turns, and so can tell what is new; Algorithm 1 names the
 *     opponent's last alone.
 *   - The judge reads T beside H. Without debate it decides once, from E.
 *   - A claim that no passage speaks to has not enough information, which follows without asking: the verifier may use
 *     nothing but C_rel(q).
 *   - A quotation that stands in no passage is dropped and said to be; the paper only asks the model to quote.
 *   - An analyst that is switched off takes its source with it, as nobody else reads that.
 *   - The extracted paper lost the prompts (Appendix B); these are written after §4.
 */

const VERSION = '1';

const sideSchema = z.string().min(1).optional();

export const zofiaOptionsSchema = z.strictObject({
  name: z
    .literal('zofia')
    .describe(
      'searches evidence by the entities of a claim, analyses, verifies, debates until the judge decides (ZoFia)',
    ),
  endpoints: endpointsSchema,
  models: z
    .strictObject({
      judge: modelSchema.describe('decides; every role not given is its, too'),
      linguist: modelSchema.optional().describe('examines the language'),
      expert: modelSchema.optional().describe('chooses the field and examines as its expert'),
      extractor: modelSchema.optional().describe('names the claims'),
      verifier: modelSchema.optional().describe('verifies a claim by passages from the web'),
      pro: modelSchema.optional().describe('debater for the real side'),
      con: modelSchema.optional().describe('debater for the fake side'),
    })
    .describe('an endpoint, or the name of one, for each role'),
  temperature: z
    .number()
    .min(0)
    .max(2)
    .nullable()
    .default(0)
    .describe("of every call, instead of the endpoints' own; null: not sent"),
  maxRounds: z.int().min(1).max(20).default(5).describe('rounds of debate before the evidence counts as insufficient'),
  maxSubclaims: z
    .int()
    .min(0)
    .nullable()
    .default(null)
    .describe('at most so many claims are verified beside the core claim; null: all that were named'),
  use: z
    .strictObject({
      web: z.boolean().default(true).describe('search in the open web'),
      wikipedia: z.boolean().default(true).describe('look-up in Wikipedia'),
      linguist: z.boolean().default(true).describe('linguist analysis'),
      expert: z.boolean().default(true).describe('expert analysis'),
      claims: z.boolean().default(true).describe('claim extraction and verification'),
      debate: z.boolean().default(true).describe('debate; without it the judge decides from the evidence at once'),
    })
    .prefault({})
    .describe('ablations: what takes part'),
  analyses: z
    .enum(['claim', 'prefix'])
    .default('claim')
    .describe('what the analysts read: the first post, once a thread, or all posts so far, once a prefix'),
  sides: z
    .strictObject({
      real: sideSchema.describe("the label that the pro side argues for; default: the task's first of two"),
      fake: sideSchema.describe("the label that the con side argues for; default: the task's second of two"),
    })
    .prefault({})
    .describe('which labels the two sides argue for'),
  insufficientLabel: z
    .string()
    .nullable()
    .default(null)
    .describe('label of "insufficient" judgements, such as unverified; null: none, which scores as wrong'),
  retrieval: retrievalSchema,
});
export type ZofiaOptions = z.output<typeof zofiaOptionsSchema>;

const triageSchema = z.object({ domain: z.string().min(1), expert: z.string().min(1).describe('a profession') });
const claimsSchema = z.object({
  core: z.string().min(1).describe('the core claim'),
  subclaims: z.array(z.string().min(1)).describe('the claims that support it; may be empty'),
});
const verificationSchema = z.object({
  label: z.enum(['supports', 'refutes', 'not enough information']),
  reasoning: z.string(),
  evidence: z.array(z.string()).describe('quotations, word for word'),
});
type Verification = z.output<typeof verificationSchema>;

/** What of a prefix ZoFia reads, for annotation keys: the texts, and the last day of evidence. */
export function zofiaInputOf(options: Pick<ZofiaOptions, 'retrieval' | 'use'>): (prefix: Prefix) => unknown {
  const { web, wikipedia } = sourcesOf(options.use);
  return ({ posts }) => {
    const day = web || wikipedia ? cutoffOf(posts[0], options.retrieval.cutoff) : null;
    return [{ cutoff: day }, ...posts.map(({ text }) => text)];
  };
}

export async function createZofia(settings: {
  options: ZofiaOptions;
  task: JudgingTask;
  service: ChatService;
  /** Keeps evidence and analyses beyond this process; their usage then counts there, not in judgements. */
  remember?: RememberedCalls;
  /** Where the key of the web search is looked up. */
  env?: Environment;
  /** Draws the jitter of waiting times in retrieval. */
  random?: Random;
  /** Ends waiting for evidence. */
  signal?: AbortSignal;
}): Promise<Detector> {
  const { options, task, service, remember, env, random, signal } = settings;
  const { use, analyses, maxRounds, maxSubclaims, insufficientLabel } = options;
  const sides = sidesOf({ options, task });
  const endpoints = rolesOf(options);
  const sources = sourcesOf(use);
  const retrieval = await createRetrieval({
    options: options.retrieval,
    use: sources,
    isDryRun: service instanceof DryRunChatService,
    ...(env && { env }),
    ...(random && { random }),
    ...(signal && { signal }),
  });
  const bothSides = `- ${sides.real.name}: ${sides.real.meaning}\n- ${sides.fake.name}: ${sides.fake.meaning}`;
  const sideEnum = z.enum([sides.real.name, sides.fake.name]);
  const analysisSchema = z.object({ analysis: z.string(), verdict: sideEnum });
  const expertSchema = z.object({ knowledge: z.string(), logic: z.string(), verdict: sideEnum });
  const decisionSchema = z.object({
    reasoning: z.string(),
    decision: z.enum([sides.real.name, sides.fake.name, insufficient]),
  });
  const known = new Map<string, Promise<string>>();
  const keywordsKnown = new Map<string, Promise<readonly Keyword[]>>();

  /** An analyst answers from what it is shown alone, so that the same question needs no second answer. */
  function analyst<T>(question: {
    part: string;
    endpoint: Endpoint;
    content: string;
    schema: z.ZodType<T>;
    dryRunValue: T;
    askOnce: AskOnce;
  }): Promise<T> {
    const { part, endpoint, content, schema, dryRunValue, askOnce } = question;
    const call = {
      detector: `zofia/${part}`,
      version: VERSION,
      options: { promptVersion: PROMPT_VERSION, model: speakerOptions(endpoint) },
      input: content,
      schema,
    };
    const messages: ChatMessage[] = [{ role: 'user', content }];
    return askOnce(call, () =>
      chatJson({ service, endpoint, messages, schema, schemaName: part.replaceAll('-', '_'), dryRunValue }),
    );
  }

  const keywordsOf = (claim: Post) =>
    once({ known: keywordsKnown, key: claim.text, ask: () => retrieval.keywordsOf(claim.text) });

  /** §4.1.1: five sessions that know nothing of one another. */
  async function linguist(news: string, askOnce: AskOnce): Promise<TranscriptEntry[]> {
    const sessions = linguisticDimensions.map(async (dimension) => {
      const { analysis, verdict } = await analyst({
        part: 'linguist',
        endpoint: endpoints.linguist,
        content: prompts.linguist({ dimension, news, sides: bothSides }),
        schema: analysisSchema,
        dryRunValue: { analysis: pretended, verdict: sides.real.name },
        askOnce,
      });
      return { role: `linguist: ${dimension.name}`, text: `${analysis}\nPoints to: ${verdict}` };
    });
    return Promise.all(sessions);
  }

  /** §4.1.2 */
  async function expert(reading: Reading): Promise<TranscriptEntry[]> {
    const { news, claim, askOnce } = reading;
    const triage = () =>
      analyst({
        part: 'expert-triage',
        endpoint: endpoints.expert,
        content: prompts.triage({ news }),
        schema: triageSchema,
        dryRunValue: { domain: 'Politics', expert: 'Political scientist' },
        askOnce,
      });
    const lookUp = async () =>
      sources.wikipedia ? retrieval.fromWikipedia({ claim, keywords: await keywordsOf(claim), askOnce }) : [];
    const [role, articles] = await Promise.all([triage(), lookUp()]);
    const wikipedia = listOf(articles.map(({ title, text }) => `${title}: ${text}`));
    const { knowledge, logic, verdict } = await analyst({
      part: 'expert',
      endpoint: endpoints.expert,
      content: prompts.expert({ ...role, news, wikipedia, sides: bothSides }),
      schema: expertSchema,
      dryRunValue: { knowledge: pretended, logic: pretended, verdict: sides.real.name },
      askOnce,
    });
    return [
      ...(sources.wikipedia ? [{ role: 'wikipedia', text: wikipedia }] : []),
      { role: 'expert triage', text: `${role.domain}: ${role.expert}` },
      { role: `expert: ${role.expert}`, text: `Knowledge: ${knowledge}\nLogic: ${logic}\nPoints to: ${verdict}` },
    ];
  }

  /** §4.1.3: extract, then verify each claim on its own. */
  async function claimVerification(reading: Reading): Promise<TranscriptEntry[]> {
    const { news, claim, askOnce } = reading;
    // About as many claims as the paper counts (3.24), like enough to the evidence that they will be verified.
    const excerpt = news.slice(0, 200);
    const extraction = analyst({
      part: 'claim-extraction',
      endpoint: endpoints.extractor,
      content: prompts.extract({ news }),
      schema: claimsSchema,
      dryRunValue: { core: excerpt, subclaims: [`Second claim: ${excerpt}`, `Third claim: ${excerpt}`] },
      askOnce,
    });
    const search = async (): Promise<Evidence[]> => {
      if (!sources.web) return [];
      const coreClaim = options.retrieval.query === 'core-claim' ? (await extraction).core : null;
      return retrieval.fromWeb({ claim, keywords: await keywordsOf(claim), coreClaim, askOnce });
    };
    const [claims, web] = await Promise.all([extraction, search()]);
    const all = [claims.core, ...claims.subclaims.slice(0, maxSubclaims ?? undefined)];
    const verified = await Promise.all(all.map(async (q) => ({ q, ...(await verification({ q, web, askOnce })) })));
    return [
      ...(sources.web ? [{ role: 'web', text: listOf(web.map(described)) }] : []),
      { role: 'claim extractor', text: `Core claim: ${claims.core}\n${listOf(claims.subclaims)}` },
      ...verified.map(({ q, label, reasoning, evidence }, index) => ({
        role: `claim verifier: ${index === 0 ? 'core claim' : `claim ${index + 1}`}`,
        text: [
          `Claim: ${q}`,
          `Verdict: ${label}`,
          `Reasoning: ${reasoning}`,
          ...evidence.map((quotation) => `Evidence: ${quotation}`),
        ].join('\n'),
      })),
    ];
  }

  async function verification(options: {
    q: string;
    web: readonly Evidence[];
    askOnce: AskOnce;
  }): Promise<Verification> {
    const { q, web, askOnce } = options;
    const passages = await retrieval.passagesFor(q, web);
    if (passages.length === 0)
      return { label: 'not enough information', reasoning: 'Nothing was found that speaks to it.', evidence: [] };
    const shown = passages.map(({ text, source }) => described({ ...source, text }));
    const verified = await analyst({
      part: 'claim-verification',
      endpoint: endpoints.verifier,
      content: prompts.verify({ claim: q, passages: listOf(shown) }),
      schema: verificationSchema,
      dryRunValue: { label: 'supports' as const, reasoning: pretended, evidence: [passages[0].text.slice(0, 100)] },
      askOnce,
    });
    return {
      ...verified,
      evidence: verified.evidence.map((quotation) => checkedQuotation({ quotation, passages: shown })),
    };
  }

  async function decide(material: string, session: Session) {
    const { value } = await chatJson({
      service: session.service,
      endpoint: endpoints.judge,
      messages: [{ role: 'user', content: prompts.judge({ material, sides: bothSides }) }],
      schema: decisionSchema,
      schemaName: 'verdict',
      // The most that can happen: a dry run should not promise less than the bill.
      dryRunValue: { reasoning: pretended, decision: insufficient },
    });
    return value;
  }

  async function judge(prefix: Prefix, session: Session): Promise<Judgement> {
    const [claim, ...replies] = prefix.posts;
    const news = analyses === 'claim' ? claim.text : numberedPosts(prefix.posts);
    const reactions = analyses === 'claim' ? replies : [];
    const askOnce = askOnceIn({
      known,
      remember,
      // The first post is all that most questions read; the store should not name a later one.
      place: { threadId: prefix.threadId, prefixLength: analyses === 'claim' ? 1 : prefix.posts.length },
      onAnswers: (answers) => session.answers.push(...answers),
    });
    const reading: Reading = { news, claim, askOnce };

    // Stage 1 and LLM Collaboration: retrieval is part of the analysis that reads it, and all run at the same time.
    const [language, knowledge, facts] = await Promise.all([
      use.linguist ? linguist(news, askOnce) : [],
      use.expert ? expert(reading) : [],
      use.claims ? claimVerification(reading) : [],
    ]);
    const keywords =
      sources.web || sources.wikipedia
        ? [{ role: 'keywords', text: listOf((await keywordsOf(claim)).map(({ text }) => text)) }]
        : [];
    const transcript: TranscriptEntry[] = [...keywords, ...language, ...knowledge, ...facts];
    const text = [
      `The text:\n${news}`,
      ...(reactions.length > 0 ? [`Reactions to it so far:\n${numberedPosts(reactions)}`] : []),
    ].join('\n\n');
    // E. What was only looked up is in it through those who read it.
    const raw = ['keywords', 'wikipedia', 'web', 'expert triage', 'claim extractor'];
    const findings = transcript.filter(({ role }) => !raw.includes(role));
    const pool = findings.length === 0 ? text : `${text}\n\nEvidence:\n${dialogueOf(findings)}`;

    const decided = (verdict: z.output<typeof decisionSchema>): Judgement => ({
      label: verdict.decision === insufficient ? insufficientLabel : verdict.decision,
      probabilities: null,
      explanation:
        verdict.decision === insufficient ? `insufficient evidence: ${verdict.reasoning}` : verdict.reasoning,
      transcript,
      usage: usageOf(session.answers),
    });
    const say = (role: string, said: string) => transcript.push({ role, text: said });
    if (!use.debate) {
      const verdict = await decide(pool, session);
      say('judge', `${verdict.reasoning}\nDecision: ${verdict.decision}`);
      return decided(verdict);
    }

    // Algorithm 1
    const history: TranscriptEntry[] = [];
    const pro: ChatMessage[] = [opening({ own: sides.real, other: sides.fake, pool })];
    const con: ChatMessage[] = [opening({ own: sides.fake, other: sides.real, pool })];
    let A_con: string | null = null;
    for (let round = 1; ; round++) {
      const A_pro = await argue({ endpoint: endpoints.pro, messages: pro, opponent: A_con, session });
      A_con = await argue({ endpoint: endpoints.con, messages: con, opponent: A_pro, session });
      history.push({ role: `for ${sides.real.name}, round ${round}`, text: A_pro });
      history.push({ role: `for ${sides.fake.name}, round ${round}`, text: A_con });
      say(`pro, round ${round}`, A_pro);
      say(`con, round ${round}`, A_con);
      const verdict = await decide(`${text}\n\nThe debate:\n${dialogueOf(history)}`, session);
      say(`judge, round ${round}`, `${verdict.reasoning}\nDecision: ${verdict.decision}`);
      if (verdict.decision !== insufficient || round === maxRounds) return decided(verdict);
    }
  }

  return {
    name: 'zofia',
    version: VERSION,
    // What an ablation takes out cannot change a judgement and is left out.
    options: {
      task,
      promptVersion: PROMPT_VERSION,
      use,
      analyses,
      sides: { real: sides.real.name, fake: sides.fake.name },
      insufficientLabel,
      judge: speakerOptions(endpoints.judge),
      ...(use.linguist && { linguist: speakerOptions(endpoints.linguist) }),
      ...(use.expert && { expert: speakerOptions(endpoints.expert) }),
      ...(use.claims && {
        extractor: speakerOptions(endpoints.extractor),
        verifier: speakerOptions(endpoints.verifier),
        maxSubclaims,
      }),
      ...(use.debate && { maxRounds, pro: speakerOptions(endpoints.pro), con: speakerOptions(endpoints.con) }),
      retrieval: retrieval.options,
    },
    labels: judgementLabels(task),
    judge: (prefix) => inSession(service, (session) => judge(prefix, session)),
  };
}

interface Reading {
  /** T */
  readonly news: string;
  readonly claim: Post;
  readonly askOnce: AskOnce;
}

/** As long as a typical analysis. */
const pretended = 'This is one of the sentences that an analysis of a text consists of. '.repeat(4).trim();

/** Nothing is looked up for an analysis that is switched off. */
function sourcesOf(use: ZofiaOptions['use']): { web: boolean; wikipedia: boolean } {
  return { web: use.web && use.claims, wikipedia: use.wikipedia && use.expert };
}

function opening(options: { own: Side; other: Side; pool: string }): ChatMessage {
  const { own, other, pool } = options;
  const named = ({ name, meaning }: Side) => `${name} (${meaning})`;
  return { role: 'user', content: prompts.debater({ side: named(own), other: named(other), pool }) };
}

/** One turn; the debater's own conversation grows by it. */
async function argue(options: {
  endpoint: Endpoint;
  messages: ChatMessage[];
  opponent: string | null;
  session: Session;
}): Promise<string> {
  const { endpoint, messages, opponent, session } = options;
  const asked = opponent === null ? prompts.opening : prompts.turn({ opponent });
  const last = messages[messages.length - 1];
  // The first turn is asked for in the same message as the evidence: some endpoints want the roles to alternate.
  if (last.role === 'user') messages[messages.length - 1] = { role: 'user', content: `${last.content}\n\n${asked}` };
  else messages.push({ role: 'user', content: asked });
  const argument = await speak({ session, endpoint, messages: [...messages] });
  messages.push({ role: 'assistant', content: argument });
  return argument;
}

function described({ title, url, date, text }: Evidence): string {
  return `${title} (${URL.canParse(url) ? new URL(url).hostname : url}, ${date ?? 'no date'}): ${text}`;
}

function listOf(items: readonly string[]): string {
  return items.length === 0 ? '(none)' : items.map((item) => `- ${item.replace(/\s+/g, ' ')}`).join('\n');
}

/** The endpoint of each role, at the temperature of all. */
function rolesOf({ models, endpoints, temperature }: ZofiaOptions) {
  const of = (role: keyof typeof models): Endpoint => {
    const endpoint = endpointOf({ role, model: models[role] ?? models.judge, endpoints });
    return { ...endpoint, temperature };
  };
  return {
    judge: of('judge'),
    linguist: of('linguist'),
    expert: of('expert'),
    extractor: of('extractor'),
    verifier: of('verifier'),
    pro: of('pro'),
    con: of('con'),
  };
}
