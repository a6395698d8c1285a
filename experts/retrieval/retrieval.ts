import { z } from 'zod';
import type { Post } from '../../src/data/thread.ts';
import { PromiseCache } from '../../src/promise-cache.ts';
import { Random } from '../../src/tensor/random.ts';
import { createEncoder, encoderSchema } from '../../src/text/create-encoder.ts';
import type { Encoder } from '../../src/text/encoder.ts';
import type { AskShared, RoleModel } from '../asking/shared-questions.ts';
import type { Environment } from '../llm/secrets.ts';
import { type RetryPolicy, retrySchema } from '../llm/sending/retry.ts';
import { createEntityRecognizer, entitiesSchema } from './entities.ts';
import {
  chunksSchema,
  cutoffOf,
  cutoffSchema,
  type Evidence,
  type RetrievedChunk,
  retrieveChunks,
  splitIntoChunks,
} from './evidence.ts';
import { type ScMmrOptions, salientEntities, scMmrSchema, selectKeywords } from './keywords.ts';
import { cosine, embedTexts } from './text-similarity.ts';
import { type Entity, splitSentences } from './text-spans.ts';
import { createWebSearch, type WebQuestion, type WebSearch, webSearchIdentity, webSearchSchema } from './web-search.ts';
import { createWikipedia, type Wikipedia, wikipediaIdentity, wikipediaSchema } from './wikipedia.ts';

export const retrievalSchema = z
  .strictObject({
    entities: entitiesSchema,
    encoder: encoderSchema
      .prefault({ name: 'hashing' })
      .describe("compares texts; the paper's is transformers with all-MiniLM-L6-v2, the default needs no download"),
    keywords: scMmrSchema,
    query: z
      .enum(['entities', 'sentence', 'core-claim'])
      .default('entities')
      .describe(
        'what the web is asked: the keywords, or (ablations, Table 3) the most salient sentence, the core claim',
      ),
    cutoff: cutoffSchema,
    webSearch: webSearchSchema,
    wikipedia: wikipediaSchema,
    chunks: chunksSchema,
  })
  .prefault({})
  .describe('how evidence is found');

export interface Keyword {
  readonly text: string;
  readonly context: string;
}

interface RetrievalRequest {
  readonly claim: Post;
  readonly askShared: AskShared;
}

/** Stage 1 of ZoFia: from a claim to keywords, and from keywords to evidence no later than the cut-off. */
export interface Retrieval {
  /** The settings that can change the evidence. */
  readonly options: Readonly<Record<string, unknown>>;
  /** §3.1–3.3; null if no source is searched by keywords. */
  keywordsOf(request: RetrievalRequest): Promise<readonly Keyword[] | null>;
  /** @param request.coreClaim called with `query: core-claim` only */
  fromWeb(request: RetrievalRequest & { coreClaim: () => Promise<string> }): Promise<Evidence[]>;
  fromWikipedia(request: RetrievalRequest): Promise<Evidence[]>;
  /** The passages that are relevant to a claim. */
  passagesFor(claim: string, evidence: readonly Evidence[]): Promise<RetrievedChunk[]>;
}

/** The settings of requests to the services with evidence. */
export interface EvidenceServices {
  /** The environment that holds their keys. */
  readonly env?: Environment;
  readonly retry?: RetryPolicy;
  /** Draws the jitter of waiting times. */
  readonly random?: Random;
  /** Aborting ends the waiting. */
  readonly signal?: AbortSignal;
}

interface RetrievalSettings extends EvidenceServices {
  readonly options: z.output<typeof retrievalSchema>;
  /** The parts in use. `options` leaves out the others. */
  readonly use: { readonly web: boolean; readonly wikipedia: boolean; readonly passages: boolean };
  /** The model that names the entities, if one is to do that. */
  readonly model: RoleModel;
  /** Sends nothing: `upper` pretends that there is evidence, `lower` that there is none. */
  readonly dryRun?: 'lower' | 'upper';
}

export async function createRetrieval(settings: RetrievalSettings): Promise<Retrieval> {
  const { options, use, model, env = process.env, signal = null, dryRun } = settings;
  // Without a source there is nothing to load.
  if (!use.web && !use.wikipedia) return noRetrieval;
  const { chunks, query } = options;
  const random = settings.random ?? Random.seeded({ seed: 0, purpose: 'waiting times of retrieval' });
  const context = { retry: settings.retry ?? retrySchema.parse({}), random, signal, env };
  const encoder = await createEncoder(options.encoder);
  const usesKeywords = use.wikipedia || query === 'entities';
  const recognizer = usesKeywords ? await createEntityRecognizer({ options: options.entities, model }) : null;
  const liveWeb = () => (use.web ? createWebSearch({ options: options.webSearch, context }) : async () => []);
  const searchWeb = dryRun ? dryRunWebSearch(dryRun) : liveWeb();
  const lookUp = dryRun ? dryRunWikipedia : createWikipedia({ options: options.wikipedia, encoder, context });
  const webIdentity = webSearchIdentity(options.webSearch);
  const { composition: _, ...sentenceIdentity } = webIdentity;
  const keywordsByText = new PromiseCache<readonly Keyword[]>();

  async function keywordsOf({ claim, askShared }: RetrievalRequest): Promise<readonly Keyword[] | null> {
    if (recognizer === null || cutoffOf(claim, options.cutoff) === 'none') return null;
    return keywordsByText.get(claim.text, async () => {
      const entities = await recognizer.recognize(claim.text, askShared);
      return keywordsAmong(entities, { text: claim.text, encoder, options: options.keywords });
    });
  }

  /** The web query; for a text without entities its most salient sentence. */
  async function webQuestion(request: Parameters<Retrieval['fromWeb']>[0]): Promise<WebQuestion> {
    if (query === 'core-claim') return { sentence: await request.coreClaim() };
    const keywords = query === 'entities' ? await keywordsOf(request) : null;
    if (keywords !== null && keywords.length > 0) return { keywords: keywords.map(({ text }) => text) };
    return { sentence: await salientSentence(request.claim.text, encoder) };
  }

  return {
    options: {
      encoder: encoder.identity,
      cutoff: options.cutoff,
      // `seedScore`, like `withoutEntities` below, is no longer a setting. It stays in stored keys.
      ...(recognizer && { entities: recognizer.options, keywords: { ...options.keywords, seedScore: 'salience' } }),
      ...(use.web &&
        (query === 'entities'
          ? { query, withoutEntities: 'sentence', web: webIdentity }
          : { query, web: sentenceIdentity })),
      ...(use.passages && { chunks }),
      ...(use.wikipedia && { wikipedia: wikipediaIdentity(options.wikipedia) }),
    },

    keywordsOf,

    async fromWeb(request) {
      const cutoff = cutoffOf(request.claim, options.cutoff);
      if (cutoff === 'none') return [];
      return searchWeb({ ask: await webQuestion(request), cutoff, askShared: request.askShared });
    },

    async fromWikipedia(request) {
      const cutoff = cutoffOf(request.claim, options.cutoff);
      if (cutoff === 'none') return [];
      const articles = await Promise.all(
        ((await keywordsOf(request)) ?? []).map(({ text, context: around }) =>
          lookUp({ keyword: text, context: around, cutoff, askShared: request.askShared }),
        ),
      );
      // Two keywords may lead to the same article.
      return [...new Map(articles.flatMap((entry) => (entry === null ? [] : [[entry.url, entry] as const]))).values()];
    },

    passagesFor: (claim, evidence) =>
      retrieveChunks({ claim, chunks: splitIntoChunks(evidence, chunks), encoder, ...chunks }),
  };
}

async function keywordsAmong(
  candidates: readonly Entity[],
  { text, encoder, options }: { text: string; encoder: Encoder; options: ScMmrOptions },
): Promise<readonly Keyword[]> {
  const entities = await salientEntities({ text, entities: candidates, encoder });
  const similarity = entities.map(({ vector }) => entities.map((other) => cosine(vector, other.vector)));
  const salience = entities.map((entity) => entity.salience);
  return selectKeywords({ salience, similarity }, options).map((index) => entities[index]);
}

/** The sentence that is most similar to the whole text. */
async function salientSentence(text: string, encoder: Encoder): Promise<string> {
  const sentences = splitSentences(text).map((sentence) => sentence.text);
  if (sentences.length < 2) return text;
  const [whole, ...vectors] = await embedTexts({ encoder, texts: [text, ...sentences] });
  const saliences = vectors.map((vector) => cosine(vector, whole));
  return sentences[saliences.indexOf(Math.max(...saliences))];
}

const noRetrieval: Retrieval = {
  options: {},
  keywordsOf: async () => null,
  fromWeb: async () => [],
  fromWikipedia: async () => [],
  passagesFor: async () => [],
};

/** Sends nothing and returns the question as evidence, so that a dry run counts the calls that evidence causes. */
function dryRunWebSearch(bound: 'lower' | 'upper'): WebSearch {
  return async ({ ask, cutoff }) => {
    if (bound === 'lower') return [];
    const text = 'sentence' in ask ? ask.sentence : ask.keywords.join(', ');
    return [{ title: 'Pretended result', url: 'https://dry-run.invalid/', text, date: cutoff }];
  };
}

const dryRunWikipedia: Wikipedia = async ({ keyword, context, cutoff }) => {
  return { title: keyword, url: 'https://dry-run.invalid/', text: context, date: cutoff };
};
