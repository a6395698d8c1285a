import type { Entity } from './entity.ts';

/**
 * Every place where a name stands in a text: as it is spelt and as a word of its own, else in other capitals, else within
 * other words, as scripts without blanks have it. None for a name that the text does not hold: a model made it up.
 */
export function mentionsOf(name: { text: string; type: string }, text: string): Entity[] {
  const spelling = name.text
    .trim()
    .replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
    .replace(/\s+/g, '\\s+');
  if (spelling === '') return [];
  const word = `(?<![\\p{L}\\p{N}])${spelling}(?![\\p{L}\\p{N}])`;
  const patterns = [new RegExp(word, 'gu'), new RegExp(word, 'giu'), new RegExp(spelling, 'giu')];
  for (const pattern of patterns) {
    const found = [...text.matchAll(pattern)];
    if (found.length > 0)
      return found.map(({ 0: own, index: start }) => ({
        text: own,
        start,
        end: start + own.length,
        type: name.type,
        confidence: 1,
      }));
  }
  return [];
}
