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
  let query = '';
  for (const keyword of options.keywords) {
    const phrase = quoted(keyword);
    if (phrase === null) continue;
    const longer = query === '' ? phrase : `${query} ${composition === 'and' ? 'AND' : 'OR'} ${phrase}`;
    if (query !== '' && !fits(longer, limits)) break;
    query = longer;
  }
  return withExclusions(query, { excludedDomains, limits });
}

/** A sentence as it is, cut to the service's limits. */
export function sentenceQuery(options: {
  sentence: string;
  excludedDomains: readonly string[];
  limits: WebQueryLimits;
}): string {
  const { sentence, excludedDomains, limits } = options;
  const words = sentence.replace(/["“”]/g, ' ').trim().split(/\s+/).slice(0, limits.maxWords);
  while (words.length > 1 && words.join(' ').length > limits.maxCharacters) words.pop();
  return withExclusions(words.join(' ').slice(0, limits.maxCharacters), { excludedDomains, limits });
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
