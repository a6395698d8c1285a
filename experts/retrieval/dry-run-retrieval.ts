import type { WebSearch } from './web-search.ts';
import type { Wikipedia } from './wikipedia.ts';

/** Asks nobody and finds the question itself, so that a dry run counts the calls that evidence leads to. */
export function dryRunWebSearch(options: WebSearch['options']): WebSearch {
  return {
    options,
    search: async ({ ask, cutoff }) => {
      const text = 'sentence' in ask ? ask.sentence : ask.keywords.join(', ');
      return [{ title: 'Pretended result', url: 'https://dry-run.invalid/', text, date: cutoff }];
    },
  };
}

export function dryRunWikipedia(options: Wikipedia['options']): Wikipedia {
  return {
    options,
    lookUp: async ({ keyword, context, cutoff }) => ({
      title: keyword,
      url: 'https://dry-run.invalid/',
      text: context,
      date: cutoff,
    }),
  };
}
