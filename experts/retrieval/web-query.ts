import { withoutLinks } from './without-links.ts';

const QUOTES = 2;

export interface WebQueryLimits {
  readonly maxCharacters: number;
  readonly maxWords: number;
}

/**
 * Eq. 6: all keywords at once, each as a phrase, then the domains to leave out. Keywords come in order of importance and
 * are dropped from the end where the service's limits are reached; of the domains those that still fit are named, and the
 * results are checked against all.
 */
export function webQuery(options: {
  keywords: readonly string[];
  composition: 'and' | 'or';
  excludedDomains: readonly string[];
  limits: WebQueryLimits;
}): string {
  const { composition, excludedDomains, limits } = options;
  // A headline in capitals can be one name that is longer than a query: its beginning asks for more than nothing does.
  const room = { ...limits, maxCharacters: limits.maxCharacters - QUOTES };
  let query = '';
  for (const keyword of options.keywords) {
    const phrase = quoted(beginningOf(keyword, room));
    if (phrase === null) continue;
    const longer = query === '' ? phrase : `${query} ${composition === 'and' ? 'AND' : 'OR'} ${phrase}`;
    if (query !== '' && !fits(longer, limits)) break;
    query = longer;
  }
  return withExclusions(query, { excludedDomains, limits });
}

/** A sentence as it is, cut to the service's limits, without links and without what the service would take for commands. */
export function sentenceQuery(options: {
  sentence: string;
  excludedDomains: readonly string[];
  limits: WebQueryLimits;
}): string {
  const { sentence, excludedDomains, limits } = options;
  const words = withoutLinks(sentence)
    .replace(/["“”]/g, ' ')
    .replace(/(?<!\S)[-+]+/g, ' ')
    .replace(/(?<!\S)(?:AND|OR|NOT)(?!\S)/g, (operator) => operator.toLowerCase());
  return withExclusions(beginningOf(words, limits), { excludedDomains, limits });
}

function beginningOf(text: string, limits: WebQueryLimits): string {
  const words = text.trim().split(/\s+/).slice(0, limits.maxWords);
  while (words.length > 1 && words.join(' ').length > limits.maxCharacters) words.pop();
  return words.join(' ').slice(0, limits.maxCharacters);
}

function withExclusions(
  query: string,
  options: { excludedDomains: readonly string[]; limits: WebQueryLimits },
): string {
  if (query === '') return '';
  let longest = query;
  for (const domain of options.excludedDomains) {
    const longer = `${longest} -site:${domain}`;
    if (fits(longer, options.limits)) longest = longer;
  }
  return longest;
}

function quoted(keyword: string): string | null {
  const clean = keyword.replace(/["“”]/g, ' ').replace(/\s+/g, ' ').trim();
  return clean === '' ? null : `"${clean}"`;
}

function fits(query: string, limits: WebQueryLimits): boolean {
  return query.length <= limits.maxCharacters && query.split(' ').length <= limits.maxWords;
}
