import { z } from 'zod';
import type { Encoder } from '../../src/text/encoder.ts';
import type { AskShared } from '../asking/shared-questions.ts';
import { type Evidence, htmlParagraphs } from './evidence.ts';
import { type FetchContext, fetchJson, serviceUrl } from './fetch-json.ts';
import { cosine, embedTexts } from './text-similarity.ts';
import { searchWords, splitSentences } from './text-spans.ts';

export const wikipediaSchema = z
  .strictObject({
    baseURL: z
      .url({ protocol: /^https?$/ })
      .default('https://en.wikipedia.org/w/api.php')
      .describe("a wiki's api.php; other languages have other hosts"),
    sentences: z.int().min(1).default(3).describe('how many of the first sentences of an article are used'),
    userAgent: z
      .string()
      .min(1)
      .default('Earshot/0.1 (research on rumours and false news)')
      .describe('Wikipedia asks for a name and a contact address'),
    timeoutMs: z.int().positive().default(30_000).describe('for one request'),
  })
  .prefault({})
  .describe('lookup of keywords in Wikipedia');

export type WikipediaOptions = z.output<typeof wikipediaSchema>;

/** The beginning of the article about a keyword; null if none existed on the last day of evidence. */
export type Wikipedia = (request: {
  keyword: string;
  context: string;
  cutoff: string;
  askShared: AskShared;
}) => Promise<Evidence | null>;

const pageSchema = z.object({
  title: z.string(),
  index: z.number().default(0),
  pageprops: z.object({ disambiguation: z.string().optional() }).optional(),
});
type WikipediaPage = z.output<typeof pageSchema>;

/** Errors come with status 200. Without `error`, "search is down" would be stored for ever as "there is no article". */
const searchSchema = z.object({
  error: z.never().optional(),
  query: z.object({ pages: z.array(pageSchema).default([]) }).optional(),
});
const revisionSchema = z.object({
  query: z.object({
    pages: z.array(z.object({ revisions: z.array(z.object({ revid: z.number(), timestamp: z.string() })).optional() })),
  }),
});
/** Permanent errors of hidden and lost revisions. Other errors may be temporary and are not stored. */
const lost = ['nosuchrevid', 'missingcontent', 'missingcontent-revid', 'missingcontent-revid-role', 'permissiondenied'];
const parseSchema = z.union([
  z.object({ parse: z.object({ text: z.string() }) }),
  z.object({ error: z.object({ code: z.enum(lost) }) }),
]);
/** The search refuses longer queries. */
const MOST_CHARACTERS = 300;
/** Articles that a keyword may mean; its context decides among them. */
const SENSES = 5;
/** No longer settings. They stay in the key, so that stored answers keep theirs. */
const settled = { senses: SENSES, disambiguation: 'context', asOf: 'cutoff' };

/** The settings that can change the article. */
export function wikipediaIdentity(options: WikipediaOptions): Readonly<Record<string, unknown>> {
  const { timeoutMs: _, userAgent: __, ...relevant } = options;
  return { ...relevant, ...settled };
}

export function createWikipedia(settings: {
  options: WikipediaOptions;
  encoder: Encoder;
  context: FetchContext;
}): Wikipedia {
  const { options, encoder } = settings;
  return async ({ keyword, context, cutoff, askShared }) => {
    const ask = askerWith(askShared, settings);
    const pages = await senses(keyword, ask);
    // The senses as they were on the day, so that none is chosen for later text.
    const beginnings = await Promise.all(pages.map(({ title }) => beginningOn(title, { day: cutoff, ask })));
    const candidates = beginnings.flatMap((sense) => sense ?? []);
    if (candidates.length === 0) return null;
    // Usually an article's first sentence names its subject and says what it is.
    const described = candidates.map(({ title, text }) => splitSentences(text)[0]?.text ?? title);
    const index = await disambiguate({ entity: keyword, context, senses: described, encoder });
    const { title, text, date } = candidates[index];
    const sentences = splitSentences(text).slice(0, options.sentences);
    if (sentences.length === 0) return null;
    return {
      title,
      url: new URL(`/wiki/${encodeURIComponent(title.replaceAll(' ', '_'))}`, options.baseURL).href,
      text: sentences.map((sentence) => sentence.text).join(' '),
      date,
    };
  };
}

/** Queries the wiki's API, each question once for all callers. */
type AskWikipedia = <T>(parameters: Record<string, string>, schema: z.ZodType<T>) => Promise<T>;

function askerWith(
  askShared: AskShared,
  { options: { baseURL, userAgent, timeoutMs }, context }: { options: WikipediaOptions; context: FetchContext },
): AskWikipedia {
  return async (parameters, schema) => {
    const query = { ...parameters, format: 'json', formatversion: '2' };
    const { value } = await askShared(
      { detector: 'retrieval/wikipedia', version: '2', options: { baseURL }, input: query, schema },
      async () => ({
        value: await fetchJson({
          service: 'Wikipedia',
          url: serviceUrl(baseURL, { path: '', query }),
          headers: { accept: 'application/json', 'user-agent': userAgent },
          schema,
          timeoutMs,
          context,
          keyAdvice: 'set retrieval.wikipedia.userAgent to a name with a contact address',
        }),
      }),
    );
    return value;
  };
}

async function senses(keyword: string, ask: AskWikipedia): Promise<WikipediaPage[]> {
  const words = searchWords(keyword).slice(0, MOST_CHARACTERS);
  if (words === '') return [];
  const search = { action: 'query', generator: 'search', gsrsearch: words, gsrlimit: String(SENSES) };
  const results = await ask({ ...search, prop: 'pageprops', ppprop: 'disambiguation', redirects: '1' }, searchSchema);
  return (results.query?.pages ?? [])
    .filter(({ pageprops }) => pageprops?.disambiguation === undefined)
    .sort((one, other) => one.index - other.index);
}

/** The article at the end of a day; null if it did not exist, or its revision is hidden. */
async function beginningOn(title: string, { day, ask }: { day: string; ask: AskWikipedia }) {
  const latest = { rvlimit: '1', rvdir: 'older', rvstart: `${day}T23:59:59Z`, rvprop: 'ids|timestamp' };
  const { query } = await ask({ action: 'query', prop: 'revisions', titles: title, ...latest }, revisionSchema);
  const revision = query.pages[0]?.revisions?.[0];
  if (revision === undefined || revision.timestamp.slice(0, 10) > day) return null;
  const bare = { disablelimitreport: '1', disableeditsection: '1' };
  const page = await ask(
    { action: 'parse', oldid: String(revision.revid), prop: 'text', section: '0', ...bare },
    parseSchema,
  );
  if (!('parse' in page)) return null;
  return { title, text: htmlParagraphs(page.parse.text).join('\n'), date: revision.timestamp.slice(0, 10) };
}

/**
 * Eq. 7: the index of the sense whose description, in place of the entity, changes its context least. Among equals the
 * encyclopedia's highest rank wins.
 */
export async function disambiguate(options: {
  entity: string;
  context: string;
  senses: readonly string[];
  encoder: Encoder;
}): Promise<number> {
  const { entity, context, senses, encoder } = options;
  if (senses.length < 2) return 0;
  const modified = senses.map((sense) =>
    context.includes(entity) ? context.replaceAll(entity, () => sense) : `${sense} ${context}`,
  );
  const [original, ...vectors] = await embedTexts({ encoder, texts: [context, ...modified] });
  const similarities = vectors.map((vector) => cosine(original, vector));
  return similarities.indexOf(Math.max(...similarities));
}
