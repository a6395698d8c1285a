import { heaviest, type TellingWord } from './telling-words.ts';

/** A local model's reason: the words that weighed most, heaviest first. The selector embeds it. */
export function explanationOf(options: { words: readonly TellingWord[]; wordCount: number }): string {
  const { wordCount } = options;
  const margins = new Map<string, number>();
  for (const { word, margin } of options.words) margins.set(word, (margins.get(word) ?? 0) + margin);
  const words = heaviest({ words: Array.from(margins, ([word, margin]) => ({ word, margin })), wordCount });
  return words.length === 0 ? 'no telling word' : words.map(({ word }) => word).join(', ');
}
