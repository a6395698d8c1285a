import { z } from 'zod';
import type { Post } from '../../../src/data/thread.ts';
import { type AskShared, askModel, type ModelQuestion } from '../../asking/shared-questions.ts';
import type { TranscriptEntry } from '../../detector.ts';
import type { ChatService } from '../../llm/chat.ts';
import { answerRelevantOptions, type Endpoint } from '../../llm/endpoint.ts';
import { promptLine, quotedEvidence } from '../../llm/prompt-text.ts';
import type { Evidence } from '../../retrieval/evidence.ts';
import type { Retrieval } from '../../retrieval/retrieval.ts';
import type { Prompts } from '../prompt-templates.ts';
import { bothSides, type ZofiaOptions, type ZofiaRole, type ZofiaSides } from './options.ts';

/** Raised when an analyst could answer differently. */
const VERSION = '3';

/** The settings that the analysts of all judgements share. */
export interface AnalystSettings {
  readonly prompts: Prompts;
  readonly options: ZofiaOptions;
  /** The endpoint of a role. */
  readonly endpointFor: (role: ZofiaRole) => Endpoint;
  /** A service beyond one judgement: others wait for the same answers and get them even if that judgement fails. */
  readonly service: ChatService;
  readonly sides: ZofiaSides;
  readonly retrieval: Retrieval;
}

/** The input of the analysts for one prefix. */
export interface AnalystInput {
  /** T, the news. */
  readonly claim: Post;
  readonly askShared: AskShared;
}

export interface Analysis {
  /** The material behind the findings. The debaters do not see it. */
  readonly material: readonly TranscriptEntry[];
  readonly findings: readonly Finding[];
}

/** A finding of an analyst, for people to read. */
export interface Finding extends TranscriptEntry {
  /** The finding for debaters, with foreign words as quoted evidence; `text` by default. */
  readonly inPrompt?: string;
}

/** The round of the findings in the transcript. */
export const round = 'Analysis';

/** An answer in a dry run, as long as a typical analysis. */
export const pretended = 'This is one of the sentences that an analysis of a text consists of. '.repeat(4).trim();

/** Asks an analyst, who sees only the question. Returns its answer and the fields of a transcript entry. */
export async function askAnalyst<T>(
  settings: AnalystSettings,
  question: Omit<ModelQuestion<T>, 'model' | 'version' | 'promptVersion'> & { readonly role: ZofiaRole },
): Promise<{ readonly value: T; readonly entry: Pick<TranscriptEntry, 'round' | 'model' | 'usage'> }> {
  const { part, role, ...request } = question;
  const endpoint = settings.endpointFor(role);
  const model = { service: settings.service, endpoint, options: answerRelevantOptions(endpoint) };
  const { value, usage } = await askModel({
    model,
    part: `zofia/${part}`,
    version: VERSION,
    promptVersion: settings.prompts.version,
    ...request,
  });
  return { value, entry: { round, model: endpoint.model, usage } };
}

export function listOf(items: readonly string[]): string {
  return items.length === 0 ? '(none)' : items.map((item) => `- ${promptLine(item)}`).join('\n');
}

const linguisticDimensions = [
  { name: 'sentence', meaning: 'how complex the words are, how long the sentences, how formal the tone' },
  { name: 'word', meaning: 'how frequent superlatives and words of emotion are, and which pronouns are used' },
  { name: 'grammar', meaning: 'how speech is reported, and how the passive voice and negation are used' },
  { name: 'emotion', meaning: 'words of emotion in text and headline, and how inflammatory the tone is' },
  {
    name: 'information quality',
    meaning: 'signs of clickbait, of overload with information, and of statements out of their context',
  },
];

/** §4.1.1: five isolated sessions, one per dimension. */
export async function linguist(settings: AnalystSettings, { claim, askShared }: AnalystInput): Promise<Analysis> {
  const { real, fake } = settings.sides;
  const schema = z.object({ analysis: z.string(), verdict: z.enum([real.name, fake.name]) });
  const sessions = linguisticDimensions.map(async (dimension) => {
    const { value, entry } = await askAnalyst(settings, {
      part: 'linguist',
      role: 'linguist',
      content: settings.prompts.render('linguist', {
        dimension: `${dimension.name} (${dimension.meaning})`,
        news: quotedEvidence('The text', [claim.text]),
        sides: bothSides(settings.sides),
      }),
      schema,
      dryRunValue: { analysis: pretended, verdict: real.name },
      askShared,
    });
    const { analysis, verdict } = value;
    const text = `${promptLine(analysis)}\nPoints to: ${verdict}`;
    return { ...entry, role: `linguist: ${dimension.name}`, text, vote: verdict };
  });
  return { material: [], findings: await Promise.all(sessions) };
}

const triageSchema = z.object({ domain: z.string().min(1), expert: z.string().min(1).describe('a profession') });

/** §4.1.2: finds the field of the news and lets an expert of it examine the news, with notes from Wikipedia. */
export async function expert(settings: AnalystSettings, input: AnalystInput): Promise<Analysis> {
  const { claim, askShared } = input;
  const { real, fake } = settings.sides;
  const [triage, notes] = await Promise.all([
    askAnalyst(settings, {
      part: 'expert-triage',
      role: 'expert',
      content: settings.prompts.render('triage', { news: quotedEvidence('The text', [claim.text]) }),
      schema: triageSchema,
      dryRunValue: { domain: 'Politics', expert: 'Political scientist' },
      askShared,
    }),
    fromWikipedia(settings, input),
  ]);
  const { domain, expert } = triage.value;
  const { value, entry } = await askAnalyst(settings, {
    part: 'expert',
    role: 'expert',
    content: settings.prompts.render('expert', {
      expert: promptLine(expert),
      domain: promptLine(domain),
      news: quotedEvidence('The text', [claim.text]),
      wikipedia: quotedEvidence('Reference notes', notes?.map(({ text }) => text) ?? []),
      sides: bothSides(settings.sides),
    }),
    schema: z.object({ knowledge: z.string(), logic: z.string(), verdict: z.enum([real.name, fake.name]) }),
    dryRunValue: { knowledge: pretended, logic: pretended, verdict: real.name },
    askShared,
  });
  const { knowledge, logic, verdict } = value;
  const text = `Knowledge: ${promptLine(knowledge)}\nLogic: ${promptLine(logic)}\nPoints to: ${verdict}`;
  return {
    material: [...wikipediaFound(notes), { ...triage.entry, role: 'expert triage', text: `${domain}: ${expert}` }],
    findings: [{ ...entry, role: `expert: ${promptLine(expert)}`, text, vote: verdict }],
  };
}

/** Wikipedia's articles as a finding, for debaters without an expert. */
export async function wikipediaAsFound(settings: AnalystSettings, input: AnalystInput): Promise<Analysis> {
  return { material: [], findings: wikipediaFound(await fromWikipedia(settings, input)) };
}

/** Looks up the keywords in Wikipedia; null if it is switched off. */
async function fromWikipedia(
  { options, retrieval }: AnalystSettings,
  input: AnalystInput,
): Promise<readonly Evidence[] | null> {
  return options.use.wikipedia ? retrieval.fromWikipedia(input) : null;
}

/** Leaves out the titles of the articles: they are today's and may reveal the outcome. The texts name their subject. */
function wikipediaFound(notes: readonly Evidence[] | null): Finding[] {
  return asFound('wikipedia', notes, ({ text }) => text);
}

/** Evidence from outside as a finding; none if its source is switched off. */
export function asFound(
  role: string,
  evidence: readonly Evidence[] | null,
  textOf: (evidence: Evidence) => string = evidenceInWords,
): Finding[] {
  if (evidence === null) return [];
  const texts = evidence.map(textOf);
  return [
    { role, round, text: listOf(texts), sources: sourcesOf(evidence), inPrompt: quotedEvidence(`[${role}]`, texts) },
  ];
}

export function sourcesOf(evidence: readonly Evidence[]): NonNullable<TranscriptEntry['sources']> {
  return evidence.map(({ title, url, date }) => ({ title, url, date }));
}

export function evidenceInWords({ title, url, date, text }: Evidence): string {
  return `${title} (${URL.canParse(url) ? new URL(url).hostname : url}, ${date ?? 'no date'}): ${text}`;
}
