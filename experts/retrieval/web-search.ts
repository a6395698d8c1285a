import { z } from 'zod';
import { InputError } from '../../src/errors.ts';
import type { AskShared } from '../asking/shared-questions.ts';
import { secretIn } from '../llm/secrets.ts';
import { type Evidence, htmlText } from './evidence.ts';
import { type FetchContext, fetchJson, serviceUrl } from './fetch-json.ts';
import { searchWords } from './text-spans.ts';

/** Fact checkers publish the verdicts that detectors are measured by. The first three domains are the paper's. */
const factCheckDomains = (
  'gossipcop.com politifact.com snopes.com factcheck.org fullfact.org leadstories.com checkyourfact.com ' +
  'truthorfiction.com hoax-slayer.com hoax-slayer.net factcheck.afp.com mediabiasfactcheck.com emergent.info ' +
  'poynter.org climatefeedback.org healthfeedback.org sciencefeedback.co africacheck.org altnews.in boomlive.in ' +
  'factly.in aap.com.au correctiv.org maldita.es newtral.es stopfake.org piyao.org.cn tfc-taiwan.org.tw ' +
  'mygopen.com'
).split(' ');

/** News sites would mostly return the report itself and its copies. The most frequent ones come first. */
const newsDomains = (
  'nytimes.com cnn.com bbc.com washingtonpost.com foxnews.com theguardian.com dailymail.co.uk people.com ' +
  'reuters.com news.yahoo.com msn.com news.google.com wsj.com usatoday.com latimes.com nypost.com nbcnews.com ' +
  'cbsnews.com abcnews.go.com npr.org apnews.com bbc.co.uk telegraph.co.uk independent.co.uk thesun.co.uk ' +
  'mirror.co.uk politico.com thehill.com huffpost.com huffingtonpost.com breitbart.com time.com newsweek.com ' +
  'usmagazine.com eonline.com etonline.com tmz.com radaronline.com hollywoodlife.com'
).split(' ');

/** Wikipedia is queried separately; the others copy its present state. */
const encyclopediaDomains = ['wikipedia.org', 'wikiwand.com', 'dbpedia.org'];

/** Results per request that Brave allows. */
const MOST_RESULTS = 20;
/** Brave refuses longer queries. */
const MOST_CHARACTERS = 400;
const MOST_WORDS = 50;
/** A date range needs a first day; older pages have none. */
const EARLIEST_DATE = '1990-01-01';
/** No longer settings. They stay in the key, so that stored answers keep theirs. */
const settled = {
  country: null,
  earliestDate: EARLIEST_DATE,
  dropUndated: true,
  excludedEncyclopedias: encyclopediaDomains,
  maxQueryCharacters: MOST_CHARACTERS,
  maxQueryWords: MOST_WORDS,
};

const domains = z.array(z.string().regex(/^[^\s/:]+\.[^\s/:]+$/, 'must be a domain such as snopes.com'));

export const webSearchSchema = z
  .strictObject({
    baseURL: z
      .url({ protocol: /^https?$/ })
      .default('https://api.search.brave.com/res/v1')
      .describe("address of Brave's web search API, or of a compatible one"),
    apiKeyEnv: z
      .string()
      .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of an environment variable, not the key itself')
      .nullable()
      .default('BRAVE_API_KEY')
      .describe('name of the environment variable that holds the key; null for services without keys'),
    maxResults: z.int().min(1).max(MOST_RESULTS).default(10).describe('most results used'),
    composition: z
      .enum(['and', 'or'])
      .default('and')
      .describe('results must concern all keywords, or (ablation, Table 3) any'),
    language: z.string().nullable().default(null).describe('language of the results, such as en; null: any'),
    excludedFactChecks: domains.default(factCheckDomains).describe('fact checkers, which publish the answers'),
    excludedNews: domains.default(newsDomains).describe('news sites, which have copies of the report'),
    timeoutMs: z.int().positive().default(30_000).describe('for one request'),
  })
  .prefault({})
  .describe('search of the open web');

type WebSearchOptions = z.output<typeof webSearchSchema>;

/** A query of keywords, or a sentence as it stands. */
export type WebQuestion = { readonly keywords: readonly string[] } | { readonly sentence: string };

/** @param request.cutoff the last day of a result @throws ProviderError of the service */
export type WebSearch = (request: { ask: WebQuestion; cutoff: string; askShared: AskShared }) => Promise<Evidence[]>;

const resultSchema = z.object({
  title: z.string().catch(''),
  url: z.string(),
  description: z.string().catch(''),
  extra_snippets: z.array(z.string()).nullish().catch(null),
  page_age: z.string().nullish().catch(null),
  age: z.string().nullish().catch(null),
});
const responseSchema = z.object({ web: z.object({ results: z.array(resultSchema) }).nullish() });
type Result = z.output<typeof resultSchema>;

/** The settings that can change the results. */
export function webSearchIdentity(options: WebSearchOptions): Readonly<Record<string, unknown>> {
  const { apiKeyEnv: _, timeoutMs: __, ...relevant } = options;
  return { ...relevant, ...settled };
}

/** @throws InputError without a key, before anything that would need results is paid for */
export function createWebSearch({ options, context }: { options: WebSearchOptions; context: FetchContext }): WebSearch {
  const { baseURL, apiKeyEnv, timeoutMs, excludedFactChecks, excludedNews } = options;
  // Encyclopedias, too: Wikipedia is queried separately.
  const excludedDomains = dealtFrom([excludedFactChecks, encyclopediaDomains, excludedNews]);
  const secret = apiKeyEnv === null ? null : secretIn({ variable: apiKeyEnv, env: context.env });
  if (apiKeyEnv !== null && secret === null)
    throw new InputError(
      `web search needs a key in the environment variable ${apiKeyEnv}, which is not set; ` +
        'set it (keys: https://brave.com/search/api/), or switch web search off (use.web: false)',
    );
  const keyAdvice =
    apiKeyEnv === null
      ? 'if it wants a key, put it into an environment variable and name that in retrieval.webSearch.apiKeyEnv'
      : `check the key in the environment variable ${apiKeyEnv} and what its plan allows`;

  const fetchResults = async (parameters: Record<string, string>): Promise<Result[]> => {
    const { web } = await fetchJson({
      service: 'the web search',
      url: serviceUrl(baseURL, { path: '/web/search', query: parameters }),
      headers: { accept: 'application/json' },
      secret: secret === null ? undefined : { header: 'x-subscription-token', secret },
      schema: responseSchema,
      timeoutMs,
      context,
      keyAdvice,
    });
    return web?.results ?? [];
  };

  return async ({ ask, cutoff, askShared }) => {
    const query =
      'keywords' in ask
        ? webQuery({ keywords: ask.keywords, composition: options.composition, excludedDomains })
        : sentenceQuery({ sentence: ask.sentence, excludedDomains });
    if (query === '') return [];
    const parameters = {
      q: query,
      // More than are used: a query has no room for every exclusion, so some results are dropped.
      count: String(MOST_RESULTS),
      result_filter: 'web',
      text_decorations: 'false',
      // More than one passage per page, if the plan allows it.
      extra_snippets: 'true',
      ...(options.language !== null && { search_lang: options.language }),
      freshness: `${EARLIEST_DATE}to${cutoff}`,
    };
    // The raw results are stored, so that other exclusions need no new request.
    const { value: results } = await askShared(
      {
        detector: 'retrieval/web-search',
        version: '1',
        options: { baseURL },
        input: parameters,
        schema: z.array(resultSchema),
      },
      async () => ({ value: await fetchResults(parameters) }),
    );
    const usable = results.map(evidenceOf).filter((evidence) => {
      if (evidence.text === '' || isInDomains(evidence.url, excludedDomains)) return false;
      // Services apply their date filter loosely, so dates are checked again. A page without a date may be later.
      return evidence.date !== null && evidence.date <= cutoff;
    });
    return usable.slice(0, options.maxResults);
  };
}

/** The first of each list, then the second of each, and so on, so that the most important ones fit into a query. */
function dealtFrom(lists: readonly (readonly string[])[]): string[] {
  const longest = Math.max(...lists.map(({ length }) => length));
  return Array.from({ length: longest }, (_, place) =>
    lists.flatMap((list) => (place < list.length ? [list[place].toLowerCase()] : [])),
  ).flat();
}

function evidenceOf(result: Result): Evidence {
  const passages = [result.description, ...(result.extra_snippets ?? [])].map(htmlText).filter(Boolean);
  return {
    title: htmlText(result.title),
    url: result.url,
    text: [...new Set(passages)].join('\n'),
    date: dayOf(result.page_age) ?? dayOf(result.age),
  };
}

/** Ages such as "2 days ago" are relative to an unknown time, so they are not dates. */
function dayOf(text: string | null | undefined): string | null {
  if (!text) return null;
  const iso = /^\d{4}-\d{2}-\d{2}/.exec(text)?.[0];
  if (iso !== undefined) return iso;
  if (!/\b(?:19|20)\d\d\b/.test(text)) return null;
  const time = Date.parse(`${text} UTC`);
  return Number.isNaN(time) ? null : new Date(time).toISOString().slice(0, 10);
}

const QUOTES = 2;

/**
 * Eq. 6: all keywords as phrases, then the domains to exclude. Keywords come in order of importance and are dropped
 * from the end at the service's limits. Exclusions fill the rest; the results are checked against all of them.
 */
export function webQuery(options: {
  keywords: readonly string[];
  composition: 'and' | 'or';
  excludedDomains: readonly string[];
}): string {
  const { composition, excludedDomains } = options;
  // A headline in capitals can be a single name that is longer than a query. Its beginning is better than no query.
  const room = MOST_CHARACTERS - QUOTES;
  let query = '';
  for (const keyword of options.keywords) {
    const words = beginningOf(searchWords(keyword), room);
    if (words === '') continue;
    const longer = query === '' ? `"${words}"` : `${query} ${composition === 'and' ? 'AND' : 'OR'} "${words}"`;
    if (query !== '' && !fits(longer)) break;
    query = longer;
  }
  return withExclusions(query, excludedDomains);
}

/** A sentence cut to the service's limits. */
export function sentenceQuery(options: { sentence: string; excludedDomains: readonly string[] }): string {
  const { sentence, excludedDomains } = options;
  return withExclusions(beginningOf(searchWords(sentence), MOST_CHARACTERS), excludedDomains);
}

function beginningOf(text: string, mostCharacters: number): string {
  const words = text.trim().split(/\s+/).slice(0, MOST_WORDS);
  while (words.length > 1 && words.join(' ').length > mostCharacters) words.pop();
  return words.join(' ').slice(0, mostCharacters);
}

function withExclusions(query: string, excludedDomains: readonly string[]): string {
  if (query === '') return '';
  let longest = query;
  for (const domain of excludedDomains) {
    const longer = `${longest} -site:${domain}`;
    if (fits(longer)) longest = longer;
  }
  return longest;
}

function fits(query: string): boolean {
  return query.length <= MOST_CHARACTERS && query.split(' ').length <= MOST_WORDS;
}

/** Whether an address belongs to one of the domains or their subdomains; true for an address that cannot be parsed. */
function isInDomains(url: string, domains: readonly string[]): boolean {
  if (!URL.canParse(url)) return true;
  const host = new URL(url).hostname.toLowerCase();
  return domains.some((domain) => host === domain || host.endsWith(`.${domain}`));
}
