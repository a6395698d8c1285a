import { createHash } from 'node:crypto';
import { loadThreads } from '../../src/data/thread-file.ts';
import { namesNothing } from './pattern-entities.ts';
import { type Entity, withoutLinks } from './text-spans.ts';

/** How many documents contain each word, in lower case. */
export interface DocumentFrequencies {
  readonly documents: number;
  readonly of: ReadonlyMap<string, number>;
}

export function documentFrequencies(documents: Iterable<string>): DocumentFrequencies {
  const of = new Map<string, number>();
  let count = 0;
  for (const document of documents) {
    count++;
    for (const word of new Set(wordsOf(document).map(({ word }) => word))) of.set(word, (of.get(word) ?? 0) + 1);
  }
  return { documents: count, of };
}

/**
 * The words with the highest tf · (1 + ln((1 + N) / (1 + df))), at every place where they occur, in the order of the
 * text. Of equal weights the word that comes first wins. The confidence is the weight relative to the highest.
 */
export function tfIdfEntities(options: { text: string; frequencies: DocumentFrequencies; maxTerms: number }): Entity[] {
  const { text, frequencies, maxTerms } = options;
  const words = wordsOf(text);
  const counts = new Map<string, number>();
  for (const { word } of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  const rarity = (word: string) => 1 + Math.log((1 + frequencies.documents) / (1 + (frequencies.of.get(word) ?? 0)));
  const weights = [...counts]
    .map(([word, count]) => ({ word, weight: count * rarity(word) }))
    .sort((one, other) => other.weight - one.weight)
    .slice(0, maxTerms);
  const confidences = new Map(weights.map(({ word, weight }) => [word, weight / weights[0].weight]));
  return words.flatMap(({ word, start, end }) => {
    const confidence = confidences.get(word);
    return confidence === undefined ? [] : [{ text: text.slice(start, end), start, end, type: 'TERM', confidence }];
  });
}

/**
 * Words that may be names. In scripts without spaces these are whole clauses, since there is no word list to split
 * them.
 */
function wordsOf(text: string): { word: string; start: number; end: number }[] {
  return [...withoutLinks(text).matchAll(/[\p{L}\p{M}\p{N}]{2,}(?:[-'’][\p{L}\p{M}\p{N}]{2,})*/gu)]
    .filter(([word]) => !namesNothing(word))
    .map(({ 0: word, index }) => ({ word: word.toLowerCase(), start: index, end: index + word.length }));
}

/** Document frequencies in the claims of a threads file. Its identity is what was counted, not the path of the file. */
export async function loadTermCorpus(path: string): Promise<{ frequencies: DocumentFrequencies; sha256: string }> {
  const frequencies = documentFrequencies((await loadThreads(path)).map(({ posts }) => posts[0].text));
  const counted = [frequencies.documents, ...[...frequencies.of].sort(([one], [other]) => (one < other ? -1 : 1))];
  return { frequencies, sha256: createHash('sha256').update(JSON.stringify(counted)).digest('hex') };
}
