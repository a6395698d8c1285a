import { z } from 'zod';
import type { Post } from '../../src/data/thread.ts';
import { Random } from '../../src/tensor/random.ts';
import { createEncoder, encoderSchema } from '../../src/text/create-encoder.ts';
import type { Environment } from '../llm/api-key.ts';
import { retrySchema } from '../llm/retry.ts';
import type { AskOnce } from './ask-once.ts';
import { chunksSchema, type RetrievedChunk, retrieveChunks, splitIntoChunks } from './chunks.ts';
import { cosine } from './cosine.ts';
import { cutoffOf, cutoffSchema } from './cutoff.ts';
import { dryRunWebSearch, dryRunWikipedia } from './dry-run-retrieval.ts';
import { embedTexts } from './embed-texts.ts';
import { createEntityRecognizer, entitiesSchema } from './entities.ts';
import type { Evidence } from './evidence.ts';
import { salientEntities } from './salience.ts';
import { scMmrSchema, selectKeywords } from './sc-mmr.ts';
import { splitSentences } from './sentences.ts';
import { createWebSearch, webSearchSchema } from './web-search.ts';
import { createWikipedia, wikipediaSchema } from './wikipedia.ts';

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
      .describe('what the web is asked: the keywords, or (ablations) the most salient sentence, the core claim'),
    withoutEntities: z
      .enum(['sentence', 'skip'])
      .default('sentence')
      .describe('a text without any entity: ask the web with its most salient sentence, or not at all'),
    cutoff: cutoffSchema,
    webSearch: webSearchSchema,
    wikipedia: wikipediaSchema,
    chunks: chunksSchema,
    retry: retrySchema.prefault({}),
  })
  .prefault({})
  .describe('how evidence is found');

export type RetrievalOptions = z.output<typeof retrievalSchema>;

export interface Keyword {
  readonly text: string;
  readonly context: string;
  readonly salience: number;
}

/** Stage 1 of ZoFia: from a claim to keywords, and from keywords to evidence that is not younger than the cut-off. */
export interface Retrieval {
  /** What of the configuration can change the evidence. */
  readonly options: Readonly<Record<string, unknown>>;
  keywordsOf(text: string): Promise<readonly Keyword[]>;
  fromWeb(request: {
    claim: Post;
    keywords: readonly Keyword[];
    /** Needed for `query: core-claim` alone. */
    coreClaim: string | null;
    askOnce: AskOnce;
  }): Promise<Evidence[]>;
  fromWikipedia(request: { claim: Post; keywords: readonly Keyword[]; askOnce: AskOnce }): Promise<Evidence[]>;
  /** The passages that speak to a claim. */
  passagesFor(claim: string, evidence: readonly Evidence[]): Promise<RetrievedChunk[]>;
}

export async function createRetrieval(settings: {
  options: RetrievalOptions;
  /** Which sources will be asked; the others take no part in the options. */
  use: { readonly web: boolean; readonly wikipedia: boolean };
  env?: Environment;
  random?: Random;
  signal?: AbortSignal;
  isDryRun?: boolean;
}): Promise<Retrieval> {
  const { options, use, env = process.env, signal = null, isDryRun = false } = settings;
  const { chunks, query } = options;
  const random = settings.random ?? Random.seeded({ seed: 0, purpose: 'waiting times of retrieval' });
  const context = { retry: options.retry, random, signal };
  const encoder = await createEncoder(options.encoder);
  const recognizer = use.web || use.wikipedia ? await createEntityRecognizer(options.entities) : null;
  const liveWeb = createWebSearch({ options: options.webSearch, context, env });
  const liveWikipedia = createWikipedia({ options: options.wikipedia, encoder, context });
  const web = isDryRun ? dryRunWebSearch(liveWeb.options) : liveWeb;
  const wikipedia = isDryRun ? dryRunWikipedia(liveWikipedia.options) : liveWikipedia;

  async function salientSentence(text: string): Promise<string> {
    const sentences = splitSentences(text).map((sentence) => sentence.text);
    if (sentences.length < 2) return text;
    const [whole, ...vectors] = await embedTexts({ encoder, texts: [text, ...sentences] });
    const saliences = vectors.map((vector) => cosine(vector, whole));
    return sentences[saliences.indexOf(Math.max(...saliences))];
  }

  return {
    options: {
      ...(recognizer && {
        encoder: encoder.identity,
        entities: recognizer.options,
        keywords: options.keywords,
        cutoff: options.cutoff,
      }),
      ...(use.web && { query, withoutEntities: options.withoutEntities, web: web.options, chunks }),
      ...(use.wikipedia && { wikipedia: wikipedia.options }),
    },

    async keywordsOf(text) {
      if (recognizer === null) return [];
      const entities = await salientEntities({ text, entities: await recognizer.recognize(text), encoder });
      const similarity = entities.map(({ vector }) => entities.map((other) => cosine(vector, other.vector)));
      const salience = entities.map((entity) => entity.salience);
      return selectKeywords({ salience, similarity }, options.keywords).map((index) => {
        const { text: keyword, context, salience: own } = entities[index];
        return { text: keyword, context, salience: own };
      });
    },

    async fromWeb({ claim, keywords, coreClaim, askOnce }) {
      const cutoff = cutoffOf(claim, options.cutoff);
      if (cutoff === 'none') return [];
      if (query === 'core-claim' && coreClaim !== null)
        return web.search({ ask: { sentence: coreClaim }, cutoff, askOnce });
      if (query === 'entities' && keywords.length > 0)
        return web.search({ ask: { keywords: keywords.map(({ text }) => text) }, cutoff, askOnce });
      if (query === 'entities' && options.withoutEntities === 'skip') return [];
      return web.search({ ask: { sentence: await salientSentence(claim.text) }, cutoff, askOnce });
    },

    async fromWikipedia({ claim, keywords, askOnce }) {
      const cutoff = cutoffOf(claim, options.cutoff);
      if (cutoff === 'none') return [];
      const found = await Promise.all(
        keywords.map(({ text, context: around }) =>
          wikipedia.lookUp({ keyword: text, context: around, cutoff, askOnce }),
        ),
      );
      // Two keywords may mean the same article.
      return [...new Map(found.flatMap((entry) => (entry === null ? [] : [[entry.url, entry] as const]))).values()];
    },

    passagesFor: (claim, evidence) =>
      retrieveChunks({ claim, chunks: splitIntoChunks(evidence, chunks), encoder, ...chunks }),
  };
}
