import { createHash } from 'node:crypto';
import { loadThreads } from '../../src/data/thread-file.ts';
import { namesNothing } from './pattern-entities.ts';
import { type Entity, withoutLinks } from './text-spans.ts';

/** How many of so many documents hold a word, in lower case. */
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
 * The words of highest tf · (1 + ln((1 + N) / (1 + df))), wherever they stand, in the order of the text; of equal ones those
 * that stand first. The confidence is the weight in units of the highest.
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

/** Words that may name something; in scripts without blanks whole clauses, since no word list here cuts them. */
function wordsOf(text: string): { word: string; start: number; end: number }[] {
  return [...withoutLinks(text).matchAll(/[\p{L}\p{M}\p{N}]{2,}(?:[-'’][\p{L}\p{M}\p{N}]{2,})*/gu)]
    .filter(([word]) => !namesNothing(word))
    .map(({ 0: word, index }) => ({ word: word.toLowerCase(), start: index, end: index + word.length }));
}

/** The claims of a threads file as documents. It is known by what it counts, not by where it lies. */
export async function loadTermCorpus(path: string): Promise<{ frequencies: DocumentFrequencies; sha256: string }> {
  const frequencies = documentFrequencies((await loadThreads(path)).map(({ posts }) => posts[0].text));
  const counted = [frequencies.documents, ...[...frequencies.of].sort(([one], [other]) => (one < other ? -1 : 1))];
  return { frequencies, sha256: createHash('sha256').update(JSON.stringify(counted)).digest('hex') };
}
