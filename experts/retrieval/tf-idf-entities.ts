import { createHash } from 'node:crypto';
import { loadThreads } from '../../src/data/thread-file.ts';
import { type DocumentFrequencies, documentFrequencies, inverseDocumentFrequency } from '../../src/text/tf-idf.ts';
import { namesNothing } from './pattern-entities.ts';
import { type Entity, withoutLinks } from './text-spans.ts';

/** The number of texts that contain each word, in lower case. */
export function termFrequencies(texts: readonly string[]): DocumentFrequencies {
  return documentFrequencies(texts.map((text) => wordsOf(text).map(({ word }) => word)));
}

/**
 * The words with the highest tf · idf, at every place where they occur, in the order of the text. Among equal weights
 * the first word wins. The confidence is the weight relative to the highest.
 */
export function tfIdfEntities(options: { text: string; frequencies: DocumentFrequencies; maxTerms: number }): Entity[] {
  const { text, frequencies, maxTerms } = options;
  const words = wordsOf(text);
  const counts = new Map<string, number>();
  for (const { word } of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  const { documents, of } = frequencies;
  const weights = [...counts]
    .map(([word, count]) => ({ word, weight: count * inverseDocumentFrequency(documents, of.get(word) ?? 0) }))
    .sort((one, other) => other.weight - one.weight)
    .slice(0, maxTerms);
  const confidences = new Map(weights.map(({ word, weight }) => [word, weight / weights[0].weight]));
  return words.flatMap(({ word, start, end }) => {
    const confidence = confidences.get(word);
    return confidence === undefined ? [] : [{ text: text.slice(start, end), start, end, type: 'TERM', confidence }];
  });
}

/** Words that may be names. In scripts without spaces these are whole clauses, because there is no word list. */
function wordsOf(text: string): { word: string; start: number; end: number }[] {
  return [...withoutLinks(text).matchAll(/[\p{L}\p{M}\p{N}]{2,}(?:[-'’][\p{L}\p{M}\p{N}]{2,})*/gu)]
    .filter(([word]) => !namesNothing(word))
    .map(({ 0: word, index }) => ({ word: word.toLowerCase(), start: index, end: index + word.length }));
}

/** Document frequencies in the claims of a threads file. Its identity is its content, not its path. */
export async function loadTermCorpus(path: string): Promise<{ frequencies: DocumentFrequencies; sha256: string }> {
  const frequencies = termFrequencies((await loadThreads(path)).map(({ posts }) => posts[0].text));
  const counted = [frequencies.documents, ...[...frequencies.of].sort(([one], [other]) => (one < other ? -1 : 1))];
  return { frequencies, sha256: createHash('sha256').update(JSON.stringify(counted)).digest('hex') };
}
